"""A trained writer: text generation, and the perplexity of a text."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.decoding.settings import TEMPERATURE, TOKENS, Sampling, refuse_below_one
from regard.errors import ConfigError
from regard.families.pipeline import Pipeline
from regard.text.given import a_text, name_unknown, several_texts, unknown_parts
from regard.text.readers.rows import Choice

if TYPE_CHECKING:
    from regard.engines.ctranslate2 import FastWriter
    from regard.look.inspection import Inspection, TokenScore

CONTEXT = 8  # tokens before a piece that are decoded with it


@dataclass(frozen=True)
class Sample:
    """One generated continuation."""

    text: str
    tokens: list[str]
    reason: str  # why it ended: stop or length
    token_scores: list[TokenScore]  # on request
    unknown: list[str] = field(default_factory=list)  # parts of the prompt that the model has never seen
    notes: list[str] = field(default_factory=list)  # what of the prompt does not count


class Writer(Pipeline):
    """A trained model that continues a text."""

    auto_class, reads_source = "AutoModelForCausalLM", False

    network = "regard.families.write.network:read"
    fast_engine = "regard.engines.ctranslate2:FastWriter"
    fast_copy = "regard.engines.described:describe_writer"
    _fast: FastWriter | None

    def __call__(self, prompt: str = "", **options: Any) -> str:
        """The continuation of a text, without the prompt; options as of `stream`."""
        return "".join(self.stream(prompt, **options))

    def samples(self, prompt: str = "", *, count: int, seed: int | None = None, **options: Any) -> Iterator[str]:
        """Several continuations, each a function of the seed and its number; options as of `stream`."""
        refuse_below_one(samples=count)
        for number in range(count):
            yield self(prompt, seed=None if seed is None else seed + number, **options)

    def stream(
        self,
        prompt: str = "",
        *,
        tokens: int = TOKENS,
        temperature: float = TEMPERATURE,
        top_k: int | None = None,
        top_p: float | None = None,
        seed: int | None = None,
        stop: str | Sequence[str] = (),
    ) -> Iterator[str]:
        """Generates a continuation, token by token.

        The same seed gives the same text. It ends after `tokens` tokens, where the model ends the text, or before a
        stop string; a text longer than the model can see slides out of its sight.
        """
        refuse_below_one(tokens=tokens)
        stops = [stop] if isinstance(stop, str) else several_texts(stop, "stop strings")
        for note in self.notes(prompt):
            warnings.warn(note, RuntimeWarning, stacklevel=2)
        if not all(stops):
            raise ConfigError("a stop string is empty; it would stop before the first letter")
        sampling = Sampling(temperature, top_k, top_p)
        ids = islice(self._ids(prompt, sampling, seed), tokens)
        return _before_stop(self._pieces(prompt, ids), stops)

    def sample(
        self, prompt: str = "", *, tokens: int = TOKENS, temperature: float = TEMPERATURE, top_k: int | None = None,
        top_p: float | None = None, seed: int | None = None, stop: Sequence[str] = (), top_probabilities: int = 0,
        push: Callable[[str], bool] = lambda _: True,
    ) -> Sample:  # fmt: skip
        """One continuation: its text, its tokens, and why it ended; with `top_probabilities`, the probability of each
        token and of so many alternatives. `push` is called with each part of the text; False ends generation.
        """
        refuse_below_one(tokens=tokens)
        unknown, notes = self.unknown(prompt), self.notes(prompt)
        ids: list[int] = []

        def noted() -> Iterator[int]:
            for token in islice(self._ids(prompt, Sampling(temperature, top_k, top_p), seed), tokens):
                ids.append(token)
                yield token

        text = ""
        for piece in _before_stop(self._pieces(prompt, noted()), list(stop)):
            text += piece
            if not push(piece):
                break
        is_cut = len(ids) == tokens and not any(one in self.tokenizer.decode(ids) for one in stop)
        scores: list[TokenScore] = []
        if top_probabilities:
            from regard.families.write.network import score_text

            scores = score_text(
                self, [self.tokenizer.begin_id, *self.tokenizer.encode_part(prompt)], ids, top_probabilities
            )
        return Sample(text, self.tokenizer.tokens(ids), "length" if is_cut else "stop", scores, unknown, notes)

    def unknown(self, text: str) -> list[str]:
        """The parts of a text that the model has never seen: of a writer of characters, those characters."""
        return unknown_parts(self.tokenizer, [a_text(text)])

    def notes(self, prompt: str) -> list[str]:
        """What of a prompt the model does not know, or does not see."""
        unknown, read = self.unknown(prompt), len(self.encode_text(prompt))
        window = self.model.config.max_positions if self._fast is None else self._fast.room  # without torch
        notes = [name_unknown(unknown)] if unknown else []
        if read > window:
            notes.append(f"the prompt has {read} tokens, and the model sees {window} at a time; the last ones count")
        return notes

    def evaluate(
        self, *files: str | Path, stride: int | None = None, columns: Choice | str | None = None,
        keys: Choice | str | None = None,
    ) -> dict[str, float | str | int]:  # fmt: skip
        """Perplexity per token and bits per byte over the whole text, each token predicted once.

        The model's window moves on by `stride` tokens (half of it if not given), so that each token after the first
        window is predicted from at least window - stride tokens before it.
        """
        from regard.families.write import network

        return network.evaluate(self, files, stride, keys or columns)

    def look(self, text: str, *, why: bool = False) -> Inspection:
        """The attention and probability of each token of a text; of one longer than the context, its end, and a note.

        why: also what each word before and each head is worth, which takes a forward for each.
        """
        from regard.families.write.look import look_at_text

        unknown, ids, window = self.unknown(text), self.encode_text(text), self.model.config.max_positions
        notes = [name_unknown(unknown)] if unknown else []
        if len(ids) > window:
            notes.append(f"the text has {len(ids)} tokens, and the model sees {window} at a time; "
                         f"the last {window} are shown")  # fmt: skip
        return look_at_text(self, text, ids[-window:], why, notes)

    def encode_text(self, text: str) -> list[int]:
        """What it reads of a prompt: one of ours begins each text with a mark, others as their tokenizer says. An empty
        prompt is the begin alone.
        """
        ids: list[int] = self.tokenizer.encode(text)
        is_opened = self.info.foreign is not None or ids[:1] == [self.tokenizer.begin_id]
        return ids if ids and is_opened else [self.tokenizer.begin_id, *ids]

    def _ids(self, prompt: str, sampling: Sampling, seed: int | None) -> Iterator[int]:
        """Ids until the end of the text."""
        read = self.encode_text(prompt)
        if self._fast is not None:
            self.refuse_recording()
            yield from self._fast.ids(read, sampling, seed)
            return
        from regard.families.write.network import sample_ids

        yield from sample_ids(self, read, sampling, seed)

    def _pieces(self, prompt: str, ids: Iterator[int]) -> Iterator[str]:
        """Text as soon as it is whole: a character may be spread over several tokens, and what a token says may depend
        on those before it (some tokenizers leave out the first space of a text)."""
        before = self.tokenizer.encode_part(prompt)[-CONTEXT:]
        known, held = self.tokenizer.decode(before), list[int]()
        for token in ids:
            held.append(token)
            text = self.tokenizer.decode([*before, *held])
            if not text.endswith("\ufffd") or len(held) > 4:  # no character has more than four bytes
                yield text[len(known) :]
                before, held = [*before, *held][-CONTEXT:], []
                known = self.tokenizer.decode(before)
        if held:
            yield self.tokenizer.decode([*before, *held])[len(known) :]


def _before_stop(pieces: Iterator[str], stops: list[str]) -> Iterator[str]:
    """The text before the first stop string; what might be the beginning of one is held back."""
    held = ""
    for piece in pieces:
        held += piece
        found = [place for place in (held.find(stop) for stop in stops) if place >= 0]
        if found:
            yield held[: min(found)]
            return
        keep = max((_overlap(held, stop) for stop in stops), default=0)
        if len(held) > keep:
            yield held[: len(held) - keep]
            held = held[len(held) - keep :]
    if held:
        yield held


def _overlap(text: str, stop: str) -> int:
    """How many letters at the end of a text may be the beginning of a stop string."""
    return next((n for n in range(min(len(text), len(stop) - 1), 0, -1) if text.endswith(stop[:n])), 0)
