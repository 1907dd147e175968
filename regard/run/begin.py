"""How a run begins: text is read and encoded, every setting decided; or what an earlier sitting decided is taken up."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from regard.config import RunConfig, Settings, choose_rate, differences, merge, nearest, resolve
from regard.errors import ConfigError, RunError
from regard.files import hash_file, write_whole
from regard.interop.tokenizers import read_tokenizer
from regard.run.beginning import START, Beginning
from regard.run.record import RECORD, TOKENS, clear, write_record
from regard.tasks.task import Check, Corpus, Encoded, Task
from regard.tasks.texts import named
from regard.text.corpus import LeftOut
from regard.text.tokenizer import Tokenizer

PATIENCE = 8  # validations in a row that may be no better, where nobody says when to stop
MAY_CHANGE = ("stop.", "workers:", "threads:", "shard:")  # in the middle of a run


@dataclass(frozen=True)
class Material:
    """What a run is made from, once its text is encoded."""

    examples: int
    valid: list[Any]
    left_out: list[LeftOut]
    fingerprints: dict[str, str]  # role -> SHA-256 of the file
    files: dict[str, str]  # role -> name of the file


@dataclass(frozen=True)
class Begun:
    """A run whose text is encoded and whose settings are known, but perhaps for who computes what."""

    config: RunConfig
    tokenizer: Tokenizer
    material: Material
    record: dict[str, Any]  # as run.json has it
    note: str | None = None  # what is not as it was in earlier sittings


def begin(
    family: Task,
    run: Path,
    record: dict[str, Any] | None,
    train_files: Any,
    valid_files: Any,
    wanted: Settings,
    check: Check,
    launched: int | None,
    start: Path | None = None,
) -> Begun:
    """What an earlier sitting decided (its record), if it is about the same text and settings; else decides it.

    start: a model whose weights, shape and tokenizer are gone on with.
    """
    beginning = Beginning.read(family, start) if start else None
    if record is None:
        return _begin_new(family, run, train_files, valid_files, wanted, check, beginning)
    if beginning and record.get("start", {}).get("weights") != beginning.weights_sha256:
        raise RunError(f"{run.parent} was not begun from the weights in {start}; add --fresh to start over, or train "
                       f"to another folder")  # fmt: skip
    before = _resolve_record(run, record)
    corpus = family.read(train_files, valid_files, before)
    kept = {name: value for name, value in record["config"].items() if name != "stop"}
    ends = {"stop": _defaults(family, corpus, merge(kept, wanted)).get("stop", {})}
    config = resolve(merge(merge(kept, ends), wanted | ({"workers": launched} if launched else {})))
    changed = [line for line in differences(before, config) if not line.startswith(MAY_CHANGE)]
    if changed:
        raise RunError(f"{run.parent} was begun with other settings ({'; '.join(changed)}); leave them as they were "
                       f"to go on, add --fresh to start over, or train to another folder")  # fmt: skip
    _refuse_other_text(run, record, corpus)
    tokenizer: Any = read_tokenizer(run)
    left_out = [*corpus.left_out, *_keep_tokens(family, run, record, corpus, tokenizer, config, check)]
    material = Material(len(corpus.train), corpus.valid, left_out, corpus.fingerprints, corpus.files)
    return Begun(config, tokenizer, material, record, _note(before, config))


def _resolve_record(run: Path, record: dict[str, Any]) -> RunConfig:
    try:
        return resolve(record["config"])
    except ConfigError as problem:
        raise RunError(f"{run / RECORD} was changed or damaged ({problem}); add --fresh to start over, or train to "
                       f"another folder") from None  # fmt: skip


def _begin_new(
    family: Task, run: Path, train_files: Any, valid_files: Any, wanted: Settings, check: Check,
    beginning: Beginning | None,
) -> Begun:  # fmt: skip
    corpus = family.read(train_files, valid_files, resolve(wanted))
    config = decide(family, corpus, beginning.shape(wanted) if beginning else wanted)
    check()
    tokenizer = beginning.tokenizer if beginning else family.learn(corpus, config, check)
    check()
    if not beginning:
        config = resolve(merge(config.model_dump(), {"model": {"vocab_size": tokenizer.vocab_size}}))
    with named(map(Path, corpus.files.values())):
        encoded = family.encode(corpus.train, tokenizer, config, check)
    clear(run)  # only now that a new run can begin
    for name, content in tokenizer.files().items():
        write_whole(run / name, content)
    record = {
        "config": config.model_dump(mode="json"),
        "fingerprints": corpus.fingerprints,
        "files": corpus.files,
        "tokens_sha256": _write_tokens(run, encoded),
    }
    if beginning:
        record["start"] = {"from": beginning.name, "weights": beginning.weights_sha256}
        beginning.keep(run / START)
    write_record(run, record)
    left_out = [*corpus.left_out, *encoded.left_out]
    material = Material(len(corpus.train), corpus.valid, left_out, corpus.fingerprints, corpus.files)
    return Begun(config, tokenizer, material, record)


def _keep_tokens(
    family: Task,
    run: Path,
    record: dict[str, Any],
    corpus: Corpus,
    tokenizer: Tokenizer,
    config: RunConfig,
    check: Check,
) -> list[LeftOut]:
    """What was left out when the text was encoded; it is encoded again if what was kept of it is gone or damaged."""
    from regard.data.store import open_tensors

    path = run / TOKENS
    if not path.exists() or hash_file(path) != record.get("tokens_sha256"):
        record["tokens_sha256"] = _write_tokens(run, family.encode(corpus.train, tokenizer, config, check))
    return [LeftOut(**entry) for entry in open_tensors(path)[1]["left_out"]]


def _write_tokens(run: Path, encoded: Encoded) -> str:
    from regard.data.store import write_tensors

    write_tensors(run / TOKENS, encoded.tensors, {"left_out": [asdict(entry) for entry in encoded.left_out]})
    return hash_file(run / TOKENS)


def _note(before: RunConfig, now: RunConfig) -> str | None:
    """Who computes may change in the middle of a run; what is computed then only differs by rounding."""
    if all(getattr(before, name) == getattr(now, name) for name in ("workers", "threads", "shard")):
        return None
    return (
        f"Begun with {before.layout}, going on with {now.layout}: the batches are the same, but from here on "
        f"the run is no longer bit for bit what it would have been"
    )


def decide(family: Task, corpus: Corpus, wanted: Settings) -> RunConfig:
    """Every setting, with nothing left to choose: as it was asked for, else as it suits corpus and machine."""
    from regard.device import choose_device

    config = resolve(merge(_defaults(family, corpus, wanted), wanted))
    device = choose_device(config.device).type
    decided: Settings = {
        "device": device,
        "precision": config.precision or ("bfloat16" if device == "cuda" else "float32"),
        "train": {"rate": config.train.rate or choose_rate(config.model.width)},
    }
    return resolve(merge(config.model_dump(), decided))


def _defaults(family: Task, corpus: Corpus, wanted: Settings) -> Settings:
    """What follows from the kind of model, the size and the text; whoever says when to stop says all of it."""
    from regard.device import choose_device

    kind = wanted.get("model", {}).get("kind", next(iter(family.kinds)))
    if kind not in family.kinds:
        raise ConfigError(f"model.kind={kind} is not a kind of {family.name}{nearest(str(kind), list(family.kinds))}")
    asked = resolve(wanted)
    minutes = asked.stop.minutes if choose_device(asked.device).type == "cpu" else None
    by_text = family.defaults(corpus, kind, minutes)
    size = str(wanted.get("size") or by_text["size"])
    found: Settings = {"model": {"kind": kind}}
    for settings in (family.kinds[kind], family.sizes[size], by_text):
        found = merge(found, settings)
    given = wanted.get("stop") or {}
    return found | {"stop": {} if given else found.get("stop", {"patience": PATIENCE})}


def _refuse_other_text(run: Path, record: dict[str, Any], corpus: Corpus) -> None:
    for role in sorted({*record["fingerprints"], *corpus.fingerprints}):
        before, now = record["fingerprints"].get(role), corpus.fingerprints.get(role)
        if before != now:
            name = corpus.files.get(role) or record["files"].get(role)
            what = "was not there" if before is None else "is gone" if now is None else "was different"
            raise RunError(f"{name} ({role}) {what} when {run.parent} was begun; give the same text to go on, "
                           f"add --fresh to start over, or train to another folder")  # fmt: skip
