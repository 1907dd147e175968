"""Text is read and encoded, and every setting decided; a run that is resumed keeps what was decided before.

The text is read twice and never held: a survey counts it and takes a sample for the vocabulary, then it is encoded
chunk by chunk into a store on disk. The record of the run is written in between, so that encoding can be resumed.
"""

from __future__ import annotations

import json
from collections.abc import Generator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from regard.config import RunConfig, Settings, change, default_learning_rate, differences, merge, nearest, resolve
from regard.data.store import TokenStore
from regard.device import choose_device
from regard.errors import ConfigError, CorpusError, RunError
from regard.files import read_regular, write_whole
from regard.formats.tokenizers import read_tokenizer
from regard.machine import malloc_trim
from regard.text.corpus import LeftOut
from regard.text.running import named
from regard.text.tokenizer import Tokenizer
from regard.training.checkpoint import CheckpointStore
from regard.training.encode import LEARNING, Preparing, encode_corpus, survey, try_encoding
from regard.training.init_from import InitFrom
from regard.training.reading import (
    Reading,
    Stamps,
    describe_reading,
    other_facts,
    other_text,
    refuse_changed,
    stamp_files,
)
from regard.training.recipe import Check, Corpus, Recipe
from regard.training.record import RECORD, START, STATE, SURVEY, clear, write_record
from regard.training.settings import refuse_unused

PATIENCE = 8  # validations in a row without improvement before early stopping, where no stop is set
EVENING = 240.0  # minutes that a run takes at most, where neither a stop nor a size is set
MAY_CHANGE = ("stop.", "workers:", "threads:", "shard:")  # in the middle of a run
FORMAT = 3  # of run.json; earlier ones had other names of settings, and another order of the examples
MOST_SURVEY_BYTES = 2**30
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
    teacher: dict[str, Any] | None = None  # the model whose output it learns from

    @property
    def split_off(self) -> list[Any]:
        """The examples to validate on that are of the training files; none where they are of files of their own."""
        return [] if any(role.startswith("valid_") for role in self.files) else self.valid

    @classmethod
    def of(cls, corpus: Corpus, store: TokenStore, record: dict[str, Any]) -> DatasetInfo:
        """Of a corpus that is encoded. record: as run.json has it."""
        bases = record.get("start", {}).get("bases", [])
        later = [LeftOut(**entry) for entry in store.about["left_out"]]
        left_out = [*corpus.left_out, *corpus.examples.left_out, *later]
        return cls(corpus.examples.count, corpus.examples.valid, left_out, record["fingerprints"], corpus.files, bases)


@dataclass(frozen=True)
class PreparedRun:
    """A run whose text is encoded and whose settings are known, but perhaps for who computes what."""

    config: RunConfig
    tokenizer: Tokenizer
    dataset: DatasetInfo
    record: dict[str, Any]  # as run.json has it
    note: str | None = None  # what is not as it was before it was resumed
    advice: str | None = None  # what more time would buy


Preparation = Generator[Preparing, None, PreparedRun]


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
) -> Preparation:
    """A run as its record has it, if that is about the same text and settings; a new one if there is no record.

    init_from: a model whose weights, shape and tokenizer are taken over.
    """
    if record is None:
        return (yield from _prepare_new(recipe, run, train_files, valid_files, wanted, check, init_from))
    if init_from and record.get("start", {}).get("weights") != init_from.weights_sha256:
        raise RunError(f"{run.parent} was not begun from the weights in {init_from.where}; add --fresh to start over, "
                       f"or train to another folder")  # fmt: skip
    before = _resolve_record(recipe, run, record)
    corpus = recipe.read(train_files, valid_files, before)
    stamps = stamp_files(corpus)
    reading = describe_reading(corpus, record)
    kept = {name: value for name, value in record["config"].items() if name != "stop"}
    changed = other_text(record, reading)
    if not changed:
        yield from _restore_survey(run, corpus, check, record.get("survey"))
    kind = {"model": {"kind": before.model.kind}}
    ends = {} if changed else {"stop": _defaults(recipe, corpus, merge(kind, wanted))["stop"]}
    kept = merge(merge(kept, ends), other_facts(record, corpus))
    config = resolve(merge(kept, wanted | ({"workers": launched} if launched else {})), recipe.config)
    refuse_unused(recipe, wanted, config)
    _refuse_changes(run, differences(before, config), changed)
    note = _note(before, config)
    if note and CheckpointStore(run / STATE).newest() is None:  # no step was made: as if these workers had begun it
        record.pop("measured", None)
        free = {name: wanted.get(name) for name in ("threads", "shard")}
        asked = wanted.get("train", {}).get("grad_accumulation")
        config, note = change(config, free | {"train": {"grad_accumulation": asked}}), None
    tokenizer: Any = read_tokenizer(run, rows=before.model.vocab_size)
    record |= reading
    store = yield from _encode(recipe, run, corpus, tokenizer, config, check, stamps)
    return PreparedRun(config, tokenizer, DatasetInfo.of(corpus, store, record), record, note)


def _restore_survey(run: Path, corpus: Corpus, check: Check, digest: str | None) -> Generator[Preparing]:
    """What the survey found when the run began; if that is gone, damaged or edited, the text is read again."""
    try:
        content = read_regular(run / SURVEY, MOST_SURVEY_BYTES)
        if sha256(content).hexdigest() != (digest or sha256(content).hexdigest()):  # older runs have none
            raise ValueError
        corpus.examples.restore(json.loads(content))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        yield from survey(corpus, check)
        _write_survey(run, corpus)


def _write_survey(run: Path, corpus: Corpus) -> str:
    """Keeps what the survey found; its hash."""
    content = (json.dumps(corpus.examples.state()) + "\n").encode()
    write_whole(run / SURVEY, content)
    return sha256(content).hexdigest()


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
        Reading.model_validate(record)
        return resolve(record["config"], recipe.config)
    except (ConfigError, ValidationError, KeyError) as found:
        places = found.errors()[0]["loc"] if isinstance(found, ValidationError) else ()
        problem = f"{'.'.join(map(str, places))} is not as it was written" if places else str(found)
        raise RunError(f"{run / RECORD} was changed or damaged ({problem}); add --fresh to start over, or train to "
                       f"another folder") from None  # fmt: skip


def _prepare_new(
    recipe: Recipe, run: Path, train_files: Any, valid_files: Any, wanted: Settings, check: Check,
    init_from: InitFrom | None,
) -> Preparation:  # fmt: skip
    if init_from and recipe.compare_start:
        recipe.compare_start(train_files, wanted, init_from.where, init_from.settings)
    corpus = recipe.read(train_files, valid_files, resolve(wanted, recipe.config))
    stamps = stamp_files(corpus)
    with named(corpus.paths.values()):
        yield from survey(corpus, check)
    if init_from:
        with named(corpus.paths.values()):
            init_from = init_from.extended(recipe, corpus)
    config = decide(recipe, corpus, init_from.shape(wanted, recipe.tuned_rate) if init_from else wanted)
    refuse_unused(recipe, wanted, config)
    yield Preparing(LEARNING, 0)
    check()
    with named(corpus.paths.values()):
        tokenizer = init_from.tokenizer if init_from else recipe.learn(corpus, config, check)
    check()
    if not init_from:
        config = change(config, {"model": {"vocab_size": tokenizer.vocab_size}})
    with named(corpus.paths.values()):
        try_encoding(recipe, corpus.examples, tokenizer, config)
    record = {"format": FORMAT, "config": config.model_dump(mode="json"), **describe_reading(corpus)}
    refuse_changed(corpus, stamps)
    clear(run)  # only now that a new run can begin
    for name, content in tokenizer.files().items():
        write_whole(run / name, content)
    record["survey"] = _write_survey(run, corpus)
    corpus.examples.release()
    malloc_trim()
    if init_from:
        record["start"] = {
            "from": init_from.name, "weights": init_from.weights_sha256, "bases": init_from.bases
        }  # fmt: skip
        init_from.keep(run / START)
    write_record(run, record)
    store = yield from _encode(recipe, run, corpus, tokenizer, config, check, stamps)
    dataset = DatasetInfo.of(corpus, store, record)
    return PreparedRun(config, tokenizer, dataset, record, advice=_advise(recipe, corpus, wanted, config))


def _encode(
    recipe: Recipe, run: Path, corpus: Corpus, tokenizer: Tokenizer, config: RunConfig, check: Check, stamps: Stamps
) -> Generator[Preparing, None, TokenStore]:
    """The encoded text: as it was kept, else what is missing of it is encoded; all of it if it was damaged. stamps: of
    the files when they were first read.
    """
    store = TokenStore(run)
    if not store.is_whole():
        if store.is_finished:
            store.clear()
        yield from encode_corpus(recipe, corpus.examples, tokenizer, config, store, check)
        try:
            refuse_changed(corpus, stamps)
        except CorpusError:
            store.clear()
            raise
        malloc_trim()  # what was held meanwhile is not needed to train
    return store


def _note(before: RunConfig, now: RunConfig) -> str | None:
    """Who computes may change in the middle of a run; what is computed then only differs by rounding."""
    if all(getattr(before, name) == getattr(now, name) for name in ("workers", "threads", "shard")):
        return None
    parts, workers = now.train.grad_accumulation or 1, now.workers or 1
    idle = f". Only {parts} of {workers} workers has a part of a batch to compute" if parts < workers else ""
    return (
        f"Begun with {before.layout}, resumed with {now.layout}: the batches are the same, but from here on "
        f"the run is no longer bit for bit what it would have been{idle}"
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
    by_text = recipe.defaults(corpus, kind, _minutes(recipe, wanted))
    size = str(wanted.get("size") or by_text["size"])
    found: Settings = {"model": {"kind": kind}}
    for settings in (recipe.kinds[kind], recipe.sizes[size], by_text):
        found = merge(found, settings)
    if wanted.get("stop"):
        return found | {"stop": {}}
    stop = found.get("stop", {"patience": PATIENCE})
    return found | {"stop": stop if wanted.get("size") else {"minutes": EVENING} | stop}


def _minutes(recipe: Recipe, wanted: Settings) -> float | None:
    """That a CPU has for the run, if it has not all the time."""
    asked = resolve(wanted, recipe.config)
    if choose_device(asked.device).type != "cpu":
        return None
    return asked.stop.minutes if wanted.get("stop") or wanted.get("size") else EVENING


def _advise(recipe: Recipe, corpus: Corpus, wanted: Settings, config: RunConfig) -> str | None:
    """The size that was not taken because the time is too short for it."""
    size = str(recipe.defaults(corpus, config.model.kind, None)["size"])
    if wanted.get("size") or size == recipe.defaults(corpus, config.model.kind, _minutes(recipe, wanted))["size"]:
        return None
    return f"The text suffices for a larger model, which would need more time to be better: --size {size}"
