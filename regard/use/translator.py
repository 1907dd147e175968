"""Using a trained translator: text in, text out, nothing cut silently, order and number of lines kept."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from regard.folder import ModelFolder
from regard.generate.runaway import without_runaway
from regard.generate.settings import Search
from regard.text.corpus import PairFiles, read_pairs
from regard.text.score import compare_translations, score_translations
from regard.text.segments import split_to_fit
from regard.text.tokenizer import Tokenizer
from regard.use.trained import Trained, read_network, refuse_below_one

if TYPE_CHECKING:
    from regard.config import ModelConfig
    from regard.generate.search import Hypothesis
    from regard.look.seen import Seen

WINDOW = 512  # lines that are sorted and batched together
SHORTEST_LIMIT = 32  # tokens; lines up to this long are never split, however short the training text was
WITHOUT_SPACES = {"zh", "ja", "th", "lo", "km", "my"}  # languages whose sentences are joined without a space


@dataclass(frozen=True)
class Translation:
    """A translation and how sure the model was of it."""

    text: str
    score: float  # sum of log-probabilities, the end included
    tokens: list[str]
    source_tokens: list[str]
    notes: list[str] = field(default_factory=list)  # what had to be done to it: split, stopped
    alternatives: list[Translation] = field(default_factory=list)  # the next best, best first


class Translator(Trained):
    """A trained model that translates."""

    BEAM = 4

    @classmethod
    def open(cls, folder: ModelFolder) -> Translator:
        """The translator in a folder."""
        from regard.interop import marian
        from regard.model.transformer import EncoderDecoder

        def build(config: ModelConfig, tokenizer: Tokenizer) -> EncoderDecoder:
            return EncoderDecoder(config, tokenizer.pad_id)

        return cls(*read_network(folder, marian, build), folder)

    @property
    def source_language(self) -> str | None:
        """The code of the language it reads, if the training told."""
        return self._setting("source_language")

    @property
    def target_language(self) -> str | None:
        """The code of the language it writes, if the training told."""
        return self._setting("target_language")

    @overload
    def __call__(self, texts: str, **search: Any) -> str: ...
    @overload
    def __call__(self, texts: Sequence[str], **search: Any) -> list[str]: ...
    def __call__(self, texts: str | Sequence[str], **search: Any) -> str | list[str]:
        """The translation of a text, or of each of several in the same order; options as of `translate_all`."""
        if isinstance(texts, str):
            return self.translate(texts, **search).text
        return [translation.text for translation in self.translate_all(texts, **search)]

    def translate(self, text: str, **search: Any) -> Translation:
        """The translation of one text, with its score, tokens and alternatives; options as of `translate_all`."""
        return next(self.translate_all([text], **search))

    def translate_all(
        self,
        texts: Iterable[str],
        *,
        beam: int = BEAM,
        length_penalty: float = 1.0,
        max_length: int | None = None,
        n_best: int = 1,
        window: int = WINDOW,
    ) -> Iterator[Translation]:
        """A translation for each text, in order; `window` texts are taken in at a time."""
        refuse_below_one(beam=beam, n_best=n_best, window=window)
        search = Search(max(beam, n_best), length_penalty, n_best)
        lines = iter(texts)
        while batch := list(islice(lines, window)):
            yield from self._translate_window(batch, search, max_length)

    def evaluate(
        self,
        source: str | Path,
        target: str | Path | None = None,
        *,
        columns: tuple[int, int] = (1, 2),
        keys: tuple[str, str] | None = None,
        against: Translator | None = None,
        tokenize: str = "13a",
        beam: int = BEAM,
    ) -> dict[str, float | str | int]:
        """BLEU and chrF on pairs from files; and whether another translator differs by chance."""
        pairs, left_out = read_pairs(PairFiles.of(source, target, columns, keys))
        sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
        texts = self(sources, beam=beam)
        report: dict[str, float | str | int] = dict(vars(score_translations(texts, references, tokenize)))
        report["left_out"] = sum(one.count for one in left_out)  # empty on one side
        if against is not None:
            comparison = compare_translations(texts, against(sources, beam=beam), references, tokenize)
            report |= {
                "against_bleu": comparison.other_bleu,
                "p_value": comparison.p_value,
                "comparison": comparison.signature,
            }
        return report

    def look(self, text: str, target: str | None = None) -> Seen:
        """What the model looks at while it translates a text, or while it is made to say `target`."""
        from regard.look.record import look_at_pair

        return look_at_pair(self.model, self.tokenizer, text, self(text) if target is None else target)

    def _translate_window(self, lines: list[str], search: Search, max_length: int | None) -> Iterator[Translation]:
        from regard.engine.native import default_limit, translate_ids

        parts = [self._split(line) for line in lines]
        sources = self.tokenizer.encode_all([part for line_parts in parts for part in line_parts])
        limits = [max_length or default_limit(len(source)) for source in sources]
        found = translate_ids(self.model, sources, limits, self.tokenizer.end_id, search)
        answers = iter(zip(sources, found, strict=True))
        for line_parts in parts:
            yield self._join([self._finish(*answer, len(line_parts)) for answer in islice(answers, len(line_parts))])

    def _split(self, line: str) -> list[str]:
        """Parts of a line that are no longer than what the model has seen in training; none if it is blank."""
        text = line.strip()
        longest = max(SHORTEST_LIMIT, int(self.about.get("data", {}).get("longest_source", 0)))
        return split_to_fit(text, lambda part: len(self.tokenizer.encode(part)) <= longest) if text else []

    def _finish(self, source: list[int], hypotheses: list[Hypothesis], parts: int) -> Translation:
        """Ids back to text, with a note where it was stopped."""
        answers = []
        for hypothesis in hypotheses:
            ids, notes = hypothesis.ids, []
            if not hypothesis.is_finished:
                ids = without_runaway(hypothesis.ids)
                notes.append("a runaway repetition was stopped" if len(ids) < len(hypothesis.ids)
                             else f"the translation found no end and was cut at {len(ids)} tokens")  # fmt: skip
            texts = (
                self.tokenizer.decode(ids),
                hypothesis.score,
                self.tokenizer.tokens(ids),
                self.tokenizer.tokens(source[:-1]),
            )
            answers.append(Translation(*texts, notes))
        best, *others = answers
        return Translation(
            best.text, best.score, best.tokens, best.source_tokens, best.notes, others if parts == 1 else []
        )

    def _join(self, parts: list[Translation]) -> Translation:
        """One translation of a line from those of its parts."""
        if len(parts) == 1:
            return parts[0]
        blank = "" if (self.target_language or "")[:2] in WITHOUT_SPACES else " "
        notes = (
            [f"the line is longer than any the model has seen; it was translated in {len(parts)} parts"]
            if parts
            else []
        )
        return Translation(
            text=blank.join(part.text for part in parts),
            score=sum(part.score for part in parts),
            tokens=[token for part in parts for token in part.tokens],
            source_tokens=[token for part in parts for token in part.source_tokens],
            notes=notes + [note for part in parts for note in part.notes],
        )

    def _setting(self, name: str) -> str | None:
        value = self.about.get("settings", {}).get(name)
        return value if isinstance(value, str) else None
