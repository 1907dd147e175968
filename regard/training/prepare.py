"""Text is read and encoded, and every setting decided; a run that is resumed keeps what was decided before."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.config import RunConfig, Settings, change, default_learning_rate, differences, merge, nearest, resolve
from regard.data.store import open_tensors, write_tensors
from regard.device import choose_device
from regard.errors import ConfigError, RunError
from regard.files import has_hash, hash_file, write_whole
from regard.formats.tokenizers import read_tokenizer
from regard.text.corpus import LeftOut
from regard.text.running import named
from regard.text.tokenizer import Tokenizer
from regard.training.init_from import InitFrom
from regard.training.reading import describe_reading, other_facts, other_text
from regard.training.recipe import Check, Corpus, Encoded, Recipe
from regard.training.record import RECORD, START, TOKENS, clear, write_record
from regard.training.settings import refuse_unused

PATIENCE = 8  # validations in a row without improvement before early stopping, where no stop is set
MAY_CHANGE = ("stop.", "workers:", "threads:", "shard:")  # in the middle of a run
FORMAT = 3  # of run.json; 1 and 2 had other names of settings
MOST_NAMED = 6  # differences that a message lists


@dataclass(frozen=True)
class DatasetInfo:
    """What a run is made from, once its text is encoded."""

    examples: int
    valid: list[Any]
    left_out: list[LeftOut]
    fingerprints: dict[str, str]  # role -> SHA-256 of the file
    files: dict[str, str]  # role -> name of the file
    bases: list[dict[str, Any]]  # the models it began from, if not with fresh weights

    @classmethod
    def of(cls, corpus: Corpus, left_out: list[LeftOut], start: dict[str, Any] | None) -> DatasetInfo:
        """start: as run.json has it."""
        bases = start["bases"] if start else []
        every = [*corpus.left_out, *left_out]
        return cls(len(corpus.train), corpus.valid, every, corpus.fingerprints, corpus.files, bases)


@dataclass(frozen=True)
class PreparedRun:
    """A run whose text is encoded and whose settings are known, but perhaps for who computes what."""

    config: RunConfig
    tokenizer: Tokenizer
    dataset: DatasetInfo
    record: dict[str, Any]  # as run.json has it
    note: str | None = None  # what is not as it was before it was resumed


def prepare(
    recipe: Recipe,
    run: Path,
    record: dict[str, Any] | None,
    train_files: Any,
    valid_files: Any,
    wanted: Settings,
    check: Check,
    launched: int | None,
    init_from: InitFrom | None = None,
) -> PreparedRun:
    """A run as its record has it, if that is about the same text and settings; a new one if there is no record.

    init_from: a model whose weights, shape and tokenizer are taken over.
    """
    if record is None:
        return _prepare_new(recipe, run, train_files, valid_files, wanted, check, init_from)
    if init_from and record.get("start", {}).get("weights") != init_from.weights_sha256:
        raise RunError(f"{run.parent} was not begun from the weights in {init_from.where}; add --fresh to start over, "
                       f"or train to another folder")  # fmt: skip
    before = _resolve_record(recipe, run, record)
    corpus = recipe.read(train_files, valid_files, before)
    kept = {name: value for name, value in record["config"].items() if name != "stop"}
    ends = {"stop": _defaults(recipe, corpus, merge(kept, wanted)).get("stop", {})}
    kept = merge(merge(kept, ends), other_facts(record, corpus))
    config = resolve(merge(kept, wanted | ({"workers": launched} if launched else {})), recipe.config)
    refuse_unused(recipe, wanted, config)
    tokenizer: Any = read_tokenizer(run, rows=before.model.vocab_size)
    _refuse_changes(run, differences(before, config), other_text(record, describe_reading(corpus)))
    left_out = _keep_tokens(recipe, run, record, corpus, tokenizer, config, check)
    dataset = DatasetInfo.of(corpus, left_out, record.get("start"))
    return PreparedRun(config, tokenizer, dataset, record, _note(before, config))


def _refuse_changes(run: Path, settings: list[str], text: list[str]) -> None:
    settings = [line for line in settings if not line.startswith(MAY_CHANGE)]
    kinds = [name for name, lines in (("text", text), ("settings", settings)) if lines]
    if kinds:
        changed = [*text, *settings]
        more = f"; and {len(changed) - MOST_NAMED} more" if len(changed) > MOST_NAMED else ""
        raise RunError(f"{run.parent} was begun with other {' and '.join(kinds)} ({'; '.join(changed[:MOST_NAMED])}"
                       f"{more}); leave it as it was to resume, add --fresh to start over, or train to another "
                       f"folder")  # fmt: skip


def _resolve_record(recipe: Recipe, run: Path, record: dict[str, Any]) -> RunConfig:
    if record.get("format") != FORMAT:
        raise RunError(f"{run.parent} was begun by another version of regard, whose settings have other names; finish "
                       f"it with that version, add --fresh to start over, or train to another folder")  # fmt: skip
    try:
        return resolve(record["config"], recipe.config)
    except ConfigError as problem:
        raise RunError(f"{run / RECORD} was changed or damaged ({problem}); add --fresh to start over, or train to "
                       f"another folder") from None  # fmt: skip


def _prepare_new(
    recipe: Recipe, run: Path, train_files: Any, valid_files: Any, wanted: Settings, check: Check,
    init_from: InitFrom | None,
) -> PreparedRun:  # fmt: skip
    corpus = recipe.read(train_files, valid_files, resolve(wanted, recipe.config))
    config = decide(recipe, corpus, init_from.shape(wanted) if init_from else wanted)
    refuse_unused(recipe, wanted, config)
    check()
    tokenizer = init_from.tokenizer if init_from else recipe.learn(corpus, config, check)
    check()
    if not init_from:
        config = change(config, {"model": {"vocab_size": tokenizer.vocab_size}})
    with named(map(Path, corpus.files.values())):
        encoded = recipe.encode(corpus.train, tokenizer, config, check)
    clear(run)  # only now that a new run can begin
    for name, content in tokenizer.files().items():
        write_whole(run / name, content)
    record = {
        "format": FORMAT,
        "config": config.model_dump(mode="json"),
        **describe_reading(corpus),
        "tokens_sha256": _write_tokens(run, encoded),
    }
    if init_from:
        record["start"] = {
            "from": init_from.name, "weights": init_from.weights_sha256, "bases": init_from.bases
        }  # fmt: skip
        init_from.keep(run / START)
    write_record(run, record)
    dataset = DatasetInfo.of(corpus, encoded.left_out, record.get("start"))
    return PreparedRun(config, tokenizer, dataset, record)


def _keep_tokens(
    recipe: Recipe,
    run: Path,
    record: dict[str, Any],
    corpus: Corpus,
    tokenizer: Tokenizer,
    config: RunConfig,
    check: Check,
) -> list[LeftOut]:
    """What was left out when the text was encoded; it is encoded again if what was kept of it is gone or damaged."""
    path = run / TOKENS
    if not has_hash(path, record.get("tokens_sha256")):
        record["tokens_sha256"] = _write_tokens(run, recipe.encode(corpus.train, tokenizer, config, check))
    return [LeftOut(**entry) for entry in open_tensors(path)[1]["left_out"]]


def _write_tokens(run: Path, encoded: Encoded) -> str:
    write_tensors(run / TOKENS, encoded.tensors, {"left_out": [asdict(entry) for entry in encoded.left_out]})
    return hash_file(run / TOKENS)


def _note(before: RunConfig, now: RunConfig) -> str | None:
    """Who computes may change in the middle of a run; what is computed then only differs by rounding."""
    if all(getattr(before, name) == getattr(now, name) for name in ("workers", "threads", "shard")):
        return None
    return (
        f"Begun with {before.layout}, resumed with {now.layout}: the batches are the same, but from here on "
        f"the run is no longer bit for bit what it would have been"
    )


def decide(recipe: Recipe, corpus: Corpus, wanted: Settings) -> RunConfig:
    """Every setting, with nothing left to choose: as it was asked for, else as it suits corpus and machine."""
    config = resolve(merge(_defaults(recipe, corpus, wanted), wanted), recipe.config)
    device = choose_device(config.device).type
    decided: Settings = {
        "device": device,
        "precision": config.precision or ("bfloat16" if device == "cuda" else "float32"),
        "train": {"learning_rate": config.train.learning_rate or default_learning_rate(config.model.width)},
    }
    return change(config, decided)


def _defaults(recipe: Recipe, corpus: Corpus, wanted: Settings) -> Settings:
    """Defaults by kind of model, size and text; setting one stop replaces all default stops."""
    kind = wanted.get("model", {}).get("kind", next(iter(recipe.kinds)))
    if kind not in recipe.kinds:
        raise ConfigError(f"model.kind={kind} is not a kind of {recipe.name}{nearest(str(kind), list(recipe.kinds))}")
    asked = resolve(wanted, recipe.config)
    minutes = asked.stop.minutes if choose_device(asked.device).type == "cpu" else None
    by_text = recipe.defaults(corpus, kind, minutes)
    size = str(wanted.get("size") or by_text["size"])
    found: Settings = {"model": {"kind": kind}}
    for settings in (recipe.kinds[kind], recipe.sizes[size], by_text):
        found = merge(found, settings)
    given = wanted.get("stop") or {}
    return found | {"stop": {} if given else found.get("stop", {"patience": PATIENCE})}
