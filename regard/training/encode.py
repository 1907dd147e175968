"""A corpus is encoded into the token store of its run, chunk by chunk; if it is stopped, it resumes after its last."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from typing import Any

from regard.config import RunConfig
from regard.data.store import TokenStore
from regard.data.tokens import Array, find_anchors
from regard.machine import count_bytes_read
from regard.text.corpus import LeftOut
from regard.text.stream import Examples
from regard.text.tokenizer import Tokenizer
from regard.training.recipe import Check, Corpus, Encoded, Recipe

TRIED = 2000  # examples that are encoded before anything is written
READING, LEARNING, ENCODING = "reading the text", "learning the vocabulary", "encoding the text"


@dataclass(frozen=True)
class Preparing:
    """The text is being prepared: an event of the time before the plan."""

    stage: str
    done: int  # examples, or lines of running text
    total: int | None = None  # if it is known
    left: float | None = None  # seconds until the stage is over, if that can be known


@dataclass(frozen=True)
class Generating:
    """A model generates what another will learn from: an event of the time before the text is prepared."""

    teacher: str  # which one, and how it generates
    done: int  # lines, those of earlier sessions among them
    total: int
    speed: float | None = None  # lines a second, once it is measured
    left: float | None = None  # seconds until all are there


def survey(corpus: Corpus, check: Check) -> Iterator[Preparing]:
    """Reads the text for the first time."""
    total = sum(path.stat().st_size for path in corpus.paths.values() if path.exists())
    began, before = time.monotonic(), count_bytes_read()
    for done in corpus.examples.survey():
        check()
        read = count_bytes_read() - before
        left = (time.monotonic() - began) * max(0, total - read) / read if read else None
        yield Preparing(READING, done, left=left)


def try_encoding(recipe: Recipe, examples: Examples, tokenizer: Tokenizer, config: RunConfig) -> None:
    """Raises what encoding would, as far as a few examples show it, while an earlier run is still there."""
    arrays = encode_listed(recipe, examples.sample[:TRIED], tokenizer, config)
    if len(examples.sample) <= TRIED:
        recipe.batches(arrays, tokenizer, config)


def encode_listed(recipe: Recipe, examples: list[Any], tokenizer: Tokenizer, config: RunConfig) -> dict[str, Array]:
    """Few examples, encoded as a store has them."""
    arrays = recipe.encode(examples, tokenizer, config).arrays
    sizes = {name: array for name, array in arrays.items() if name.endswith(".sizes")}
    return arrays | {name.replace(".sizes", ".anchors"): find_anchors(array) for name, array in sizes.items()}


def encode_corpus(
    recipe: Recipe, examples: Examples, tokenizer: Tokenizer, config: RunConfig, store: TokenStore, check: Check
) -> Iterator[Preparing]:
    """Encodes what is not in the store yet: one chunk on all cores while the next is read."""
    began, before = time.monotonic(), store.about.get("items", 0)
    with ThreadPoolExecutor(1) as pool:
        for encoded, count in _ahead(pool, recipe, examples, tokenizer, config, store.parts):
            check()
            done = store.about.get("items", 0) + count
            store.append(encoded.arrays, {"items": done, "left_out": _add_up(store.about, encoded.left_out)})
            left = (time.monotonic() - began) * max(0, examples.items - done) / max(1, done - before)
            yield Preparing(ENCODING, done, examples.items, left)
    store.finish()


def _ahead(
    pool: ThreadPoolExecutor, recipe: Recipe, examples: Examples, tokenizer: Tokenizer, config: RunConfig, first: int
) -> Iterator[tuple[Encoded, int]]:
    """Chunks as they are encoded, and how many examples each has."""
    pending: tuple[Future[Encoded], int] | None = None
    for chunk in examples.chunks(first):
        following = pool.submit(recipe.encode, chunk, tokenizer, config), len(chunk)
        if pending:
            yield pending[0].result(), pending[1]
        pending = following
    if pending:
        yield pending[0].result(), pending[1]


def _add_up(about: dict[str, Any], left_out: list[LeftOut]) -> list[dict[str, Any]]:
    """What was left out up to now, once for each reason."""
    found = {entry["reason"]: LeftOut(**entry) for entry in about.get("left_out", [])}
    for entry in left_out:
        known = found.get(entry.reason)
        found[entry.reason] = replace(known, count=known.count + entry.count) if known else entry
    return [asdict(entry) for entry in found.values()]
