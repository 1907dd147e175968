"""Text in the target language: tagged back-translation (Sennrich et al. 2016, Caswell et al. 2019), in stages.

A translator of the pairs alone; one of the reverse direction, which translates the text back; one of the pairs and
these back-translations, whose sources begin with a token that marks them. It is kept if it is better on the held-out
pairs by a paired test. Each is an ordinary training in a folder of its own below that of the run.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from regard.config import RunConfig, merge, resolve
from regard.decoding.settings import BEAM
from regard.errors import ConfigError, RunError
from regard.families.bulk import PARTS, BulkFile
from regard.families.translate.distill import Lesson
from regard.families.translate.reading import PairsAndText
from regard.families.translate.target_text import TargetText, collect, collect_sources
from regard.files import hash_file
from regard.folder import ABOUT, LANGUAGES, ModelFolder
from regard.text.corpus import Pair, PairFiles, fingerprint, guess_languages
from regard.text.mixture import reverse_corpora
from regard.text.score import report_translations
from regard.text.stream import Examples
from regard.training.arguments import Request
from regard.training.card import model_card
from regard.training.distributed import Place
from regard.training.encode import READING, Preparing
from regard.training.init_from import Start
from regard.training.launch import Load, launch
from regard.training.lineage import describe_base, describe_verdict
from regard.training.reading import describe_reading, other_text
from regard.training.recipe import Corpus
from regard.training.record import OwnedRun, sole_owner
from regard.training.session import Finished
from regard.training.stages import Stage, StageRecord, minutes_of
from regard.training.stop import Stopped, Stopper

PAIRS, REVERSE, MIXED = "pairs", "reverse", "mixed"  # trainings, and names of their folders
BACK, FORWARD = "back-translations", "forward-translations"  # likewise
TEXT, SOURCES, TRANSLATED = "target.txt", "source.txt", "translated.txt"  # in the folder of the run, and below it
SHARES = {PAIRS: 1.0, REVERSE: 1.0, MIXED: 3.0}  # of the time
MOST_SYNTHETIC = 4.0  # back-translations that an epoch takes for each pair
SIGNIFICANT = 0.05  # p-value of the paired test below which back-translations are kept
WORDS = {
    PAIRS: "the pairs alone",
    REVERSE: "the reverse model",
    BACK: "back-translation",
    MIXED: "the pairs and the back-translations",
}


def launch_stages(
    request: Request, to: Path, start: Start | None, fresh: bool, stopper: Stopper, load: Load
) -> Iterator[Any]:
    """All events of a training; with text in the target language, of several, which the same call resumes."""
    if not isinstance(request.train_files, PairsAndText):
        yield from launch(request, to, start, fresh, stopper, load)
        return
    _refuse(request, to, start)
    with sole_owner(to, fresh) as run:
        try:
            yield from _Stages(request, request.train_files, to, run, fresh, stopper, load).events()
        except Stopped:
            raise KeyboardInterrupt from None


def _refuse(request: Request, to: Path, start: Start | None) -> None:
    """What cannot be done, before any work."""
    files = request.train_files
    if start is not None:
        raise ConfigError("--monolingual trains with a token of its own that marks back-translations, and a model that "
                          "is fine-tuned or made of two keeps its tokenizer; leave --from, --encoder and --decoder "
                          "out, or give the model as --reverse if it is one")  # fmt: skip
    if Place.launched() is not None:
        raise ConfigError("--monolingual trains several models one after another, each with workers of its own; start "
                          "it without torchrun, with --workers")  # fmt: skip
    if files.reverse is None:
        return
    reverse = ModelFolder(files.reverse)
    if reverse.info.task != request.recipe.name:
        raise ConfigError(f"--reverse {files.reverse} is a model to {reverse.info.task}; a model to "
                          f"{request.recipe.name} is wanted")  # fmt: skip
    reverse.weights()  # damage is reported at once
    if to.resolve() == files.reverse.resolve():
        raise ConfigError(f"{to} is the reverse model's own folder; choose another one with --to")
    guessed = dict(zip(LANGUAGES, guess_languages(files), strict=True))
    ours = [request.wanted.get(name) or guessed[name] for name in LANGUAGES]
    theirs = [reverse.info.settings.get(name) for name in reversed(LANGUAGES)]
    if any(mine and other and mine != other for mine, other in zip(ours, theirs, strict=True)):
        raise ConfigError(f"--reverse {files.reverse} translates {theirs[1]} to {theirs[0]}, and the pairs are "
                          f"{ours[0]} to {ours[1]}; a model of the reverse direction is wanted")  # fmt: skip


@dataclass
class _Stages:
    request: Request
    files: PairsAndText
    to: Path
    run: OwnedRun
    fresh: bool
    stopper: Stopper
    load: Load

    def __post_init__(self) -> None:
        self.record = StageRecord(self.run, "--monolingual", self.fresh)
        steps = [(REVERSE, 1)] * (self.files.reverse is None)
        for number in range(1, self.files.rounds + 1):
            steps += [(REVERSE, number)] * (number > 1) + [(BACK, number), (MIXED, number)]
        self.steps = [(PAIRS, 1), *steps]

    def check(self) -> None:
        """Raises to stop."""
        self.run.check()
        self.stopper.check()

    def events(self) -> Iterator[Any]:
        """All stages, and which of the models is kept."""
        compared = max((int(one["round"]) for one in self.record.verdicts.values()), default=0)
        if compared > self.files.rounds:
            raise RunError(f"{self.to} was compared after round {compared}, and an earlier model would replace that of "
                           f"it; give --rounds {compared}, add --fresh to start over, or train to another "
                           f"folder")  # fmt: skip
        text, pairs = yield from self._read()
        best = yield from self._train(PAIRS, 1, self.files.pairs, f"{text}\n{self._costs()}")
        if not self.record.verdicts:  # from now on there is something to use
            self._publish(best.folder, {})
        for number in range(1, self.files.rounds + 1):
            reverse = self.files.reverse if number == 1 else None
            if reverse is None:
                reverse = (yield from self._train_reverse(number, best.folder, pairs)).folder
            made = yield from self._translate(reverse, self.run.path / TEXT, BACK, number)
            mixed = yield from self._train(MIXED, number, self._mix(self.files.pairs, made, TEXT, text.lines))
            verdict = self._compare(mixed.folder, best.folder, pairs.valid)
            self.record.keep_verdict(_named(MIXED, number), verdict | {"round": number})
            best = mixed if verdict["is_kept"] else best
            about = self._describe(text, reverse, number)
            if not verdict["is_kept"]:
                break
        self._publish(best.folder, about)
        reason = "; ".join(map(describe_verdict, self.record.verdicts.values()))
        yield Finished(self.to, best.step, self.record.all_seconds, best.scores, reason)

    def _read(self) -> Generator[Any, None, tuple[TargetText, Examples]]:
        """The text to translate back, and the pairs, of which the same ones are held out in all stages."""
        request, files = self.request, self.files
        config = resolve(request.wanted, request.recipe.config)
        corpus = request.recipe.read(files.pairs, request.valid_files, config)
        for done in corpus.examples.survey():
            self.check()
            yield Preparing(READING, done)
        before = self.record.text
        about = describe_reading(self._with_text(corpus, config), before and before["about"])
        if before is not None and (changed := other_text(before["about"], about)):
            raise RunError(f"{self.to} was begun with other text ({'; '.join(changed)}); leave it as it was to resume, "
                           f"add --fresh to start over, or train to another folder")  # fmt: skip
        path = self.run.path / TEXT
        if before is None or not (path.is_file() and hash_file(path) == before["sha256"]):
            text = yield from collect(files.text, corpus.examples, config.text.max_length, path, self.check)
            (self.run.path / SOURCES).unlink(missing_ok=True)  # of earlier pairs
            found = {"found": vars(text), "pairs": corpus.examples.count}
            self.record.keep_text({"about": about, "sha256": hash_file(path)} | found)
        corpus.examples.release()
        return TargetText(**self.record.text["found"]), corpus.examples  # type: ignore[index]

    def _with_text(self, corpus: Corpus, config: RunConfig) -> Corpus:
        """The pairs with all else that decides which lines are translated back, and to what."""
        files = self.files
        paths = {f"monolingual_{number}": path for number, path in enumerate(files.text.paths, start=1)}
        reading = {f"monolingual_{name}": value for name, value in files.text.reading.items()}
        reading |= {"seed": str(config.seed), "text.max_length": str(config.text.max_length)}
        reading |= {"train.held_out": str(config.train.held_out), "reverse": "trained here"}
        if files.reverse is not None:
            hashes = [hash_file(path)[:16] for path in ModelFolder(files.reverse).weights()]
            reading["reverse"] = f"{files.reverse.name} ({', '.join(hashes)})"
        return replace(corpus, paths=corpus.paths | paths, reading=corpus.reading | reading)

    def _costs(self) -> str:
        """What each stage may take, in words."""
        total, shares = minutes_of(self.request.wanted), self._shares(PAIRS, 1)
        unit = (total or 0) / sum(weight for _, weight in shares)
        limits = {stage: f" at most {unit * weight:.3g} min" * bool(total) for stage, weight in SHARES.items()}
        names = [f"{self._words(*step)}{limits.get(step[0], '')}" for step in self.steps]
        return f"{len(names)} stages: {', '.join(names)}" + "; what one leaves is for the next" * bool(total)

    def _train(
        self, stage: str, number: int, files: PairFiles, note: str | None = None
    ) -> Generator[Any, None, Finished]:
        """An ordinary training in a folder of its own."""
        name, request, valid = _named(stage, number), self.request, self.request.valid_files
        wanted = dict(request.wanted)
        if files.is_reversed:
            valid = valid and reverse_corpora(valid)
            wanted |= {one: wanted.get(other) for one, other in zip(LANGUAGES, reversed(LANGUAGES), strict=True)}
            wanted = {name: value for name, value in wanted.items() if value is not None}
        stop = self.record.stop(name, request.wanted, self._shares(stage, number))
        yield Stage(self._words(stage, number), self.steps.index((stage, number)) + 1, len(self.steps),
                    stop.get("minutes"), note)  # fmt: skip
        wanted = merge({key: value for key, value in wanted.items() if key != "stop"}, {"stop": stop} if stop else {})
        folder, is_last = self.run.path / name, (stage, number) == self.steps[-1]
        if not is_last and self.record.is_over(name, wanted) and (folder / ABOUT).is_file():
            info = ModelFolder(folder).info  # its text is what it was, or this would have been refused
            ended = Finished(folder, int(info.training["steps"]), self.record.seconds(name), info.scores, "it was over")
            yield ended
            return ended
        asked = replace(request, wanted=wanted, config=resolve(wanted, request.recipe.config), train_files=files,
                        valid_files=valid)  # fmt: skip
        ended = yield from _until_finished(launch(asked, folder, None, self.fresh, self.stopper, self.load))
        self.record.note_end(name, wanted, ended.seconds)
        return ended

    def _train_reverse(self, number: int, best: Path, pairs: Examples) -> Generator[Any, None, Finished]:
        """The reverse model: of the pairs; from the second round on also of their sources, translated by the best."""
        files = reverse_corpora(self.files.pairs)
        if number > 1:
            if not (self.run.path / SOURCES).exists():
                collect_sources(pairs, self.run.path / SOURCES, self.check)
            made = yield from self._translate(best, self.run.path / SOURCES, FORWARD, number)
            files = self._mix(files, made, SOURCES, (self.record.text or {})["pairs"])
        return (yield from self._train(REVERSE, number, files))

    def _translate(self, model: Path, text: Path, stage: str, number: int) -> Generator[Any, None, Path]:
        """Translates a text, part by part; what is there is not done again."""
        name = _named(stage, number)
        if stage == BACK:
            yield Stage(self._words(stage, number), self.steps.index((stage, number)) + 1, len(self.steps))
        to = self.run.path / name
        file = BulkFile(text, to / TRANSLATED, to / PARTS / TRANSLATED, "", None)
        options = {"beam": BEAM, "max_length": None, "fast": False, "prefix": "", "terms": None, "scores": False}
        lesson = Lesson([file], options, lambda: self.load(model), self.fresh, "The model")
        before, began = self.record.seconds(name), time.monotonic()
        try:
            yield from lesson.translate_into(to, self.check)
        except (Stopped, GeneratorExit):
            self.record.add_seconds(name, before + time.monotonic() - began)
            raise
        self.record.add_seconds(name, before + time.monotonic() - began)
        return file.to

    def _mix(self, files: PairFiles, made: Path, text: str, lines: int) -> PairFiles:
        """The pairs, and the back-translations: at most so many for each pair in an epoch."""
        pairs = (self.record.text or {})["pairs"]
        weight = min(1.0, round(MOST_SYNTHETIC * pairs / lines, 4) or 0.0001)
        synthetic = PairFiles(made, self.run.path / text, weight=weight, is_synthetic=True)
        return replace(files, others=(*files.others, synthetic))

    def _compare(self, mixed: Path, best: Path, valid: list[Pair]) -> dict[str, Any]:
        """Whether a model is better than the best before it on the held-out pairs, by more than chance."""
        sources, references = [pair.source for pair in valid], [pair.target for pair in valid]
        texts, others = (self.load(folder)(sources, beam=BEAM) for folder in (mixed, best))
        report = report_translations(texts, references, "13a", others)
        found: dict[str, Any] = {name: report[name] for name in ("bleu", "against_bleu", "p_value", "comparison")}
        return found | {"held_out": len(valid), "is_kept": is_better(**found)}

    def _describe(self, text: TargetText, reverse: Path, rounds: int) -> dict[str, Any]:
        """For regard.json."""
        folder = ModelFolder(reverse)
        hashes = [hash_file(path) for path in folder.weights()]
        given = str(reverse) if reverse == self.files.reverse else _named(REVERSE, rounds)
        return {
            "files": {path.name: fingerprint(path) for path in self.files.text.paths},
            "lines": text.lines, "left_out": text.left_out, "rounds": rounds,
            "reverse": describe_base(folder, given, hashes), "comparisons": self.record.verdicts,
        }  # fmt: skip

    def _publish(self, folder: Path, about: dict[str, Any]) -> None:
        """Makes this the model of the run."""
        self.check()
        best = ModelFolder(folder)
        info = best.info.model_copy(update={"monolingual": about} if about else {})
        card = model_card(info, self.request.recipe.shape)
        best.write_to(self.to, info, {"README.md": card})
        self.load(self.to)  # converts it for the fast engine

    def _shares(self, stage: str, number: int) -> list[tuple[str, float]]:
        """Of the time that is left: this stage and the trainings after it."""
        later = self.steps[self.steps.index((stage, number)) :]
        return [(name, SHARES[name]) for name, _ in later if name in SHARES]

    def _words(self, stage: str, number: int) -> str:
        return WORDS[stage] + (f", round {number} of {self.files.rounds}" if self.files.rounds > 1 else "")


def is_better(bleu: float, against_bleu: float, p_value: float, **more: Any) -> bool:
    """Whether a model is to be kept instead of another."""
    return bleu > against_bleu and p_value < SIGNIFICANT


def _named(stage: str, number: int) -> str:
    return stage if number == 1 else f"{stage}-{number}"


def _until_finished(events: Any) -> Generator[Any, None, Finished]:
    """All events; the last is returned."""
    last = None
    try:
        for last in events:
            yield last
    finally:
        events.close()
    assert isinstance(last, Finished)
    return last
