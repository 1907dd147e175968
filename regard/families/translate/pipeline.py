"""Using a trained translator: text in, text out, nothing cut silently, order and number of lines kept."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from regard.alignment.links import Links
from regard.decoding.found import hold
from regard.decoding.settings import BEAM, Search, refuse_below_one
from regard.engines.layout import default_limit
from regard.engines.options import EngineOptions
from regard.engines.stored import alignment_of, longest_source, sentences_per_line
from regard.errors import ConfigError
from regard.families.pipeline import Pipeline
from regard.families.translate.aligner import Aligner, align_pairs, score_alignment
from regard.families.translate.asked import TranslateOptions
from regard.families.translate.parts import Part, Sentences, share_prefix, split_lines
from regard.families.translate.translation import (
    Translation,
    in_chunks,
    join,
    note_unaligned,
    notes_on,
    put_in_words,
)
from regard.folder import LANGUAGES, ModelFolder
from regard.text.consensus import closest_to_all
from regard.text.corpus import PairFiles, kind_of, read_pairs, refuse_unread
from regard.text.given import a_text, several_texts
from regard.text.mixture import refuse_swapped
from regard.text.readers.rows import Choice
from regard.text.score import report_translations
from regard.text.sentences import sentences
from regard.text.terms import Terms, terms_in

if TYPE_CHECKING:
    from regard.decoding.found import Finding, Hypothesis
    from regard.engines.ctranslate2 import FastTranslator
    from regard.engines.torch import NativeTranslator
    from regard.look.inspection import Inspection

    Pending = tuple[list[str], list[list[Part]], Finding]  # lines, the parts of each, and what is being found

WINDOW = 2048  # lines that are sorted and batched together
AHEAD = 1  # windows that are being translated while one is waited for
ONE_OR_SEVERAL = "a text (translate takes one, translate_all takes several)"


class Translator(Pipeline):
    """A trained model that translates."""

    auto_class, reads_source = "AutoModelForSeq2SeqLM", True

    network = "regard.families.translate.network:read"
    fast_engine = "regard.engines.ctranslate2:FastTranslator"
    fast_copy = "regard.engines.described:describe_translator"
    _fast: FastTranslator | None

    def __init__(self, folder: ModelFolder, running: EngineOptions) -> None:
        super().__init__(folder, running)
        self.aligner = Aligner(folder, self.tokenizer)
        self._sentences_per_line = sentences_per_line(self.info)  # problems are reported at once
        if self._fast is None:
            alignment_of(self.info, self.model.config)
        else:
            self._fast.needs_first_step = not self.aligner.is_after

    @property
    def source_language(self) -> str | None:
        """The code of the language it reads, if it was set in training."""
        return self.info.settings.get("source_language")

    @property
    def target_language(self) -> str | None:
        """The code of the language it writes, if it was set in training."""
        return self.info.settings.get("target_language")

    @overload
    def __call__(self, texts: str, **search: Any) -> str: ...
    @overload
    def __call__(self, texts: Sequence[str], **search: Any) -> list[str]: ...
    def __call__(self, texts: str | Sequence[str], **search: Any) -> str | list[str]:
        """The translation of a text, or of each of several in the same order; options as of `translate_all`."""
        found = [
            one.text for one in self.translate_all([texts] if isinstance(texts, str) else texts, scores=False, **search)
        ]
        return found[0] if isinstance(texts, str) else found

    def translate(self, text: str, **search: Any) -> Translation:
        """The translation of one text, with its score, tokens and alternatives; options as of `translate_all`."""
        return next(self.translate_all([text], **search))

    def translate_all(self, texts: Iterable[str], *, window: int = WINDOW, **options: Any) -> Iterator[Translation]:
        """A translation for each text, in order; `window` texts are taken in at a time. Options are the fields of
        `TranslateOptions`.
        """
        refuse_below_one(window=window)
        if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):  # a text would be taken for its letters
            raise ConfigError("translate_all is for several texts and got a single one; use translate, or give a list")
        lines = iter(texts)
        return self.translate_windows(iter(lambda: list(islice(lines, window)), []), **options)

    def translate_windows(self, windows: Iterable[list[str]], **options: Any) -> Iterator[Translation]:
        """A translation for each text of each window, in order; options are the fields of `TranslateOptions`.

        While one window is waited for, the next is already being translated; an empty window asks for all that was
        begun.
        """
        asked = TranslateOptions(**options)
        if asked.fast and (self._fast is None or not self._fast.has_shortlist):
            why = "this one has none" if self._fast else "this one is run by torch"
            raise ConfigError(f"fast is for a model with a shortlist that is run by ctranslate2, and {why}")
        if asked.prefix and self._fast is None:
            self.refuse_long("prefix", self.tokenizer.encode_part(asked.prefix))
        begun: deque[Pending] = deque()
        for window in windows:
            if window:
                parts = self.split(window, asked.split_sentences, asked.terms)
                begun.append((window, parts, self._begin(parts, asked)))
            while begun and (len(begun) > AHEAD or not window):
                yield from self._end(begun.popleft())
        for last in begun:
            yield from self._end(last)

    def evaluate(
        self,
        source: str | Path,
        target: str | Path | None = None,
        *,
        columns: Choice | None = None,
        keys: tuple[str, ...] | None = None,
        against: Translator | None = None,
        tokenize: str = "13a",
        beam: int = BEAM,
        gold: str | Path | None = None,
        reverse: Translator | None = None,
    ) -> dict[str, float | str | int]:
        """BLEU and chrF on pairs from files; and whether another translator differs by chance.

        gold: a file of links, one line a pair; then AER, precision and recall too, of alignments that are made with
        those of a translator the other way round if `reverse` is given.
        """
        if reverse is not None and gold is None:
            raise ConfigError("reverse is for alignments; give gold links with it")
        files = PairFiles.of(source, target, columns, keys)
        refuse_unread(columns, keys, *([] if files.target else [kind_of(files)]))
        codes = [self.info.settings.get(name) for name in LANGUAGES]
        refuse_swapped("the text", files, "the model is for", *codes)
        if against is not None and all(codes) and len(against.info.languages) == 2 and against.info.languages != codes:
            raise ConfigError(f"{against.name} translates {' to '.join(against.info.languages)}, and {self.name} "
                              f"{' to '.join(map(str, codes))}; two models of one direction are compared")  # fmt: skip
        pairs, left_out = read_pairs(files)
        sources, references = [pair.source for pair in pairs], [pair.target for pair in pairs]
        others = None if against is None else against(sources, beam=beam)
        report = report_translations(self(sources, beam=beam), references, tokenize, others)
        report["left_out"] = sum(one.count for one in left_out if one.unit != "lines")  # all but headers
        return report | (score_alignment(self, files, gold, reverse) if gold is not None else {})

    def align(self, sources: Sequence[str], targets: Sequence[str]) -> list[Links]:
        """Which words of given translations belong together: (word of the source, word of the target), from 0."""
        return align_pairs(self, several_texts(sources), several_texts(targets, "translations"))

    def look(self, text: str, target: str | None = None, *, why: bool = False, beam: int = BEAM) -> Inspection:
        """The attention of the model while it translates a text, or over a forced `target`.

        why: also what each source word and each head is worth, which takes a forward for each.
        """
        from regard.families.translate.look import look_at_pair

        refuse_below_one(beam=beam)
        return look_at_pair(self, text, target, Search(beam), why)

    def share(self, workers: int | None = None, patience: int = 0) -> int:
        """From now on several threads may translate at the same time, each with a worker of its own: so many, or as
        many as were measured to be best. A higher patience lowers their priority. Returns how many there are.
        """
        return 1 if self._fast is None else self._fast.share(workers, patience)

    def run(self, sources: Sequence[list[int]], limits: Sequence[int], search: Search) -> list[list[Hypothesis]]:
        """What the engine finds for sources as ids, in their order."""
        found = dict(self._begin_ids(sources, limits, search, [self._first] * len(sources))())
        return [found[row] for row in range(len(sources))]

    def _begin(self, lines: list[list[Part]], asked: TranslateOptions) -> Finding:
        sources, search, terms = [part.ids for parts in lines for part in parts], asked.search, asked.terms
        shares = [share for parts in lines for share in self._share_prefix(asked.prefix, parts)]
        # An end that is forced has the last place.
        spare = [len(share) - self.generation.is_end_forced for share, _ in shares]
        limits = [max(1, (asked.max_length or default_limit(len(source))) + more)
                  for source, more in zip(sources, spare, strict=True)]  # fmt: skip
        if terms:
            phrases = [
                [self.tokenizer.encode_part(translation) for _, translation in terms_in(part.text, terms)]
                for parts in lines
                for part in parts
            ]
            return self.native.begin_with(self._runner, sources, limits, search, phrases)
        wait = self._begin_ids(sources, limits, search, [self._first + share for share, _ in shares])
        whole = {row: share for row, (share, is_whole) in enumerate(shares) if is_whole}
        return hold(wait, whole) if whole else wait

    def _share_prefix(self, prefix: str, parts: list[Part]) -> list[tuple[list[int], bool]]:
        """The ids that each part of a line begins with, and whether these are all there is to its translation."""
        if not prefix or not parts:
            return [([], False)] * len(parts)
        counts = [len(sentences(part.text, self.source_language)) for part in parts]
        shares = share_prefix(prefix, self.target_language, counts) if len(parts) > 1 else [prefix]
        ids = [self.tokenizer.encode_part(share) if share else [] for share in shares]
        return [(share, bool(after)) for share, after in zip(ids, [*ids[1:], []], strict=True)]

    def _begin_ids(
        self, sources: Sequence[list[int]], limits: Sequence[int], search: Search, prefixes: list[list[int]]
    ) -> Finding:
        if search.samples:  # CTranslate2 has one seed for all of its threads: what a line gets would depend on others
            return self.native.begin(sources, limits, search, prefixes, self._closest)
        if not any(prefixes):
            return self._runner.begin(sources, limits, search)
        # With several beams, CTranslate2 never ends right after a prefix, though that may be all there is to say.
        return (self._runner if search.beams == 1 else self.native).begin(sources, limits, search, prefixes)

    def _closest(self, samples: list[Hypothesis]) -> list[Hypothesis]:
        """The one whose text is closest to the texts of all."""
        return [samples[closest_to_all([self.tokenizer.decode(one.ids) for one in samples])]]

    @property
    def _first(self) -> list[int]:
        """What every translation begins with, if the model's own folder wants that."""
        return [] if self.generation.first is None else [self.generation.first]

    def _end(self, begun: Pending) -> Iterator[Translation]:
        lines, parts_of_lines, wait = begun
        sources = [part.ids for parts in parts_of_lines for part in parts]
        # Each is put into words as soon as it is found: the engine is then still busy with others.
        made: dict[int, Translation] = {}
        suspects: dict[int, Hypothesis] = {}
        for chunk in in_chunks(wait()):
            pairs = [(sources[row], found) for row, found in chunk]
            made |= zip((row for row, _ in chunk), put_in_words(self.tokenizer, self.aligner, pairs), strict=True)
            suspects |= {row: found[0] for row, found in chunk if self.aligner.is_suspect(sources[row], found[0].ids)}
        for row, lost in self._lost_words(sources, suspects):
            made[row] = note_unaligned(made[row], lost)
        row = 0
        for line, parts in zip(lines, parts_of_lines, strict=True):
            rows = range(row, row + len(parts))
            whole = join([made[number] for number in rows], parts, self.target_language)
            notes = notes_on(self.tokenizer, line, [part.ids for part in parts])
            yield replace(whole, notes=[*notes, *whole.notes]) if notes else whole
            row += len(parts)

    def _lost_words(self, sources: list[list[int]], suspects: dict[int, Hypothesis]) -> Iterator[tuple[int, list[int]]]:
        """The rows whose source is translated in part only, and the words that are missing. suspects: by row."""
        read = [sources[row] for row in suspects]
        traced = self._runner.trace(read, [[one] for one in suspects.values()]) if suspects else []
        for row, source, (found,) in zip(suspects, read, traced, strict=True):
            if lost := self.aligner.lost_words(source, found):
                yield row, lost

    @property
    def _runner(self) -> FastTranslator | NativeTranslator:
        """The engine that runs it."""
        if self._fast is None:
            return self.native
        self.refuse_recording()
        return self._fast

    @cached_property
    def native(self) -> NativeTranslator:
        """The torch engine, whichever runs by default."""
        from regard.engines.torch import NativeTranslator

        return NativeTranslator(self.model, self.generation.ends, self.alignment_heads, self._places)

    @property
    def _places(self) -> int:
        """Most tokens of a translation, whatever is asked for."""
        return max(self.model.config.max_positions, default_limit(self._longest))

    @property
    def alignment_heads(self) -> dict[str, Any]:
        """The layer and the heads whose attention aligns tokens; by default all heads of the middle layer."""
        return alignment_of(self.info, self.model.config)

    @property
    def most_tokens(self) -> dict[str, int]:
        """Of a source that is translated in one, and of a translation."""
        return {"longest": self._longest, "places": self._places}

    @property
    def _longest(self) -> int:
        """Most tokens of a source that is translated in one."""
        return min(longest_source(self.info), self._readable)

    @property
    def _readable(self) -> int:
        """Most tokens of a source that the engine can read at all."""
        return self._fast.places if self._fast else (self.model.config.encoder or self.model.config).longest

    def refuse_long(self, what: str, target: Sequence[int], source: Sequence[int] = ()) -> None:
        """Positions that were learned have an end; nothing that is given may lie beyond it."""
        config = self.model.config
        for ids, most in ((target, self.model.longest), (source, (config.encoder or config).longest)):
            if len(ids) > most:
                raise ConfigError(f"the {what} has {len(ids)} tokens, and the model has positions for at most {most}; "
                                  f"shorten it")  # fmt: skip

    def split(
        self, lines: list[str], split_sentences: bool | None = None, terms: Terms | None = None
    ) -> list[list[Part]]:
        """The parts of each line that are translated in one; options as of `TranslateOptions`. Sentences that a term
        lies across stay together.
        """
        most = self._sentences_per_line if split_sentences is None else 1 if split_sentences else None
        texts = [a_text(line, ONE_OR_SEVERAL).strip() for line in lines]
        found = split_lines(self.tokenizer, texts, self._longest, Sentences(most, self.source_language, terms))
        for text, parts in zip(texts, found, strict=True):
            if (longest := max((len(part.ids) for part in parts), default=0)) > self._readable:
                raise ConfigError(f"the tokenizer makes {longest} tokens of one character of {text!r:.60}, and the "
                                  f"model has positions for at most {self._readable}; take it out")  # fmt: skip
        return found
