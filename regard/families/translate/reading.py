"""What a translator learns from: files of pairs, further corpora, text in the target language; and what is held out."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from regard.config import RunConfig, Settings
from regard.errors import ConfigError, CorpusError
from regard.families.table import count_words
from regard.folder import LANGUAGES
from regard.text.corpus import Pair, PairFiles, guess_languages, kind_of, read_pairs, refuse_unread, why_not
from regard.text.mixture import (
    Also,
    add_corpora,
    all_corpora,
    back_translated,
    each_of_all,
    headers_of,
    plain_languages,
    reading_of,
    refuse_swapped,
    roles_of,
    weights_of,
)
from regard.text.readers import find_kind
from regard.text.readers.rows import Choice
from regard.text.running import TextFiles
from regard.text.stream import StreamedExamples
from regard.training.recipe import Corpus

MOST_ROUNDS = 5


@dataclass(frozen=True)
class PairsAndText(PairFiles):
    """Pairs, and text in the target language to translate back."""

    text: TextFiles = field(default_factory=lambda: TextFiles(()))
    reverse: Path | None = None  # the model that does it; None: one is trained first
    rounds: int = 1

    @property
    def pairs(self) -> PairFiles:
        """The pairs alone."""
        return PairFiles(**{name: getattr(self, name) for name in PairFiles.__dataclass_fields__})


def gather(  # noqa: PLR0913  each is a file, or how files are read
    source: str | Path,
    target: str | Path | None = None,
    *,
    valid_source: str | Path | None = None,
    valid_target: str | Path | None = None,
    columns: Choice | None = None,
    keys: tuple[str, ...] | None = None,
    glob: Sequence[str] = (),
    also: Sequence[Also] = (),
    monolingual: str | Path | Sequence[str | Path] = (),
    reverse: str | Path | None = None,
    rounds: int | None = None,
) -> tuple[PairFiles, PairFiles | None]:
    """The files of pairs to learn from, and to validate on if they are given. also: further corpora, with weights.

    monolingual: text in the target language, translated back by the model `reverse`, or by one that is trained first;
    with several rounds, each trains a better one.
    """
    files = add_corpora(PairFiles.of(source, target, columns, keys, glob), also, columns, keys)
    if valid_target and not valid_source:
        raise ConfigError(f"--valid-target {valid_target} was given without --valid-source; give both files")
    valid = PairFiles.of(valid_source, valid_target, columns, keys) if valid_source else None
    if valid and not valid.target and not find_kind(valid.paths[0]):
        raise ConfigError(f"--valid-source {valid_source} is one file of lines; give its translation too, with "
                          f"--valid-target")  # fmt: skip
    alone = [one for one in (*all_corpora(files), valid) if one and not one.target]
    refuse_unread(columns, keys, *(kind_of(one) for one in alone))
    return add_text(files, monolingual, reverse, rounds), valid


def add_text(
    files: PairFiles, monolingual: str | Path | Sequence[str | Path], reverse: str | Path | None, rounds: int | None
) -> PairFiles:
    """The same with text in the target language, if there is any."""
    names = [monolingual] if isinstance(monolingual, str | Path) else list(monolingual)
    if not names:
        for option, value in (("reverse", reverse), ("rounds", rounds)):
            if value is not None:
                raise ConfigError(f"--{option} {value} is for text in the target language; give that with "
                                  f"--monolingual, or leave it out")  # fmt: skip
        return files
    if rounds is not None and not 1 <= rounds <= MOST_ROUNDS:
        raise ConfigError(f"--rounds {rounds}: a number from 1 to {MOST_ROUNDS} is wanted")
    missing = [name for name in names if not Path(name).exists()]
    if missing:
        raise CorpusError(f"{missing[0]} cannot be read: there is no such file")
    # Of rows, the column of the target language; a number counts the columns of the pairs.
    wanted = (files.wanted or (None, None))[1]
    text = TextFiles.of(names, wanted if isinstance(wanted, str) else None)
    model = None if reverse is None else Path(reverse)
    return PairsAndText(**vars(files), text=text, reverse=model, rounds=rounds or 1)


def read(files: PairFiles, valid_files: PairFiles | None, config: RunConfig) -> Corpus:
    """All pairs; without files to validate on, some are held out, the same ones every time."""
    roles, reading = roles_of(files), reading_of(files)
    found = guess_languages(files)
    source_language, target_language = config.source_language or found[0], config.target_language or found[1]
    for other in files.others:
        refuse_swapped("--also", other, "the model is for", source_language, target_language)
    if valid_files is not None:
        refuse_swapped("--valid-source", valid_files, "the model is for", source_language, target_language)
        reading |= {f"valid_{name}": value for name, value in valid_files.reading.items()}
        roles |= {f"valid_{role}": path for role, path in valid_files.roles.items()}
    valid, left_out = read_pairs(valid_files) if valid_files else (None, [])
    pairs = StreamedExamples(
        read=lambda: each_of_all(files),
        key=(lambda pair: pair.target)
        if files.is_reversed
        else (lambda pair: pair.source),  # the same either way round
        words=lambda pair: count_words(pair[:2]),
        held_out=lambda count: config.train.held_out or default_held_out(count),
        seed=config.seed,
        valid=valid,
        is_usable=lambda pair: pair.source.strip() and pair.target.strip(),
        why_not=lambda pair: why_not(all_corpora(files)[pair.corpus], pair),
        may_be_held_out=lambda pair: pair.corpus == 0,
        make=lambda kept: Pair(*kept),
    )
    facts: Settings = dict(zip(LANGUAGES, found, strict=True))
    facts |= {"corpus_weights": weights_of(files), "back_translated": back_translated(files)}
    return Corpus(pairs, roles, [*headers_of(files), *left_out], facts, reading)


def compare_languages(files: PairFiles, wanted: Settings, where: str, known: Settings) -> None:
    """Fine-tuning a model in the other direction is refused unless both languages were named; that, and another pair
    of languages, is noted. where, known: its folder and its settings.
    """
    mine, named = ([settings.get(name) for name in LANGUAGES] for settings in (known, wanted))
    if None in mine:
        return
    if None in named:
        or_else = "; to teach it this direction, give --source-language and --target-language"
        refuse_swapped("the text", files, f"{where} translates", *mine, named=named, or_else=or_else)
    found = [one or guess for one, guess in zip(named, guess_languages(files), strict=True)]
    if None not in found and plain_languages(found) != plain_languages(mine):
        warnings.warn(f"{where} translates {mine[0]} to {mine[1]}, and is fine-tuned to translate {found[0]} to "
                      f"{found[1]}, with its tokenizer", RuntimeWarning, stacklevel=2)  # fmt: skip


def default_held_out(pairs: int) -> int:
    """One in twenty, at most a thousand."""
    return min(1000, max(1, pairs // 20))
