"""The fast engine on a CPU: CTranslate2. Imports no torch; knows ids, not text."""

from __future__ import annotations

import math
import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import ctranslate2

from regard.decoding.found import Finding, Hypothesis
from regard.decoding.settings import Sampling, Search
from regard.engines.kept import KeptFiles
from regard.engines.layout import Layout, candidates, fastest, group
from regard.engines.opened import Here, open_here
from regard.errors import RunError
from regard.machine import lower_priority

# Source tokens times beams, padding included: at least, at most.
TOKENS_PER_BATCH = {"float32": (1024, 2048), "int8": (900, 900)}
TOKENS_TOGETHER = (768, 2048)  # of those who share candidates: with one beam, with several
BATCHES_PER_WORKER = 3  # at least, of many lines: so that none waits long for another at the end
TRIAL_ROWS, TRIAL_LENGTH = 32, 12  # of the sentences a layout is tried with; rows for each worker

# What a search of ours does; CTranslate2's own defaults forbid the empty translation and cut at 1,024 and 256 tokens.
AS_OURS: dict[str, Any] = {
    "max_input_length": 0, "min_decoding_length": 0, "patience": 1, "coverage_penalty": 0, "repetition_penalty": 1,
    "no_repeat_ngram_size": 0, "prefix_bias_beta": 0, "disable_unk": False, "replace_unknowns": False,
    "sampling_topk": 1, "sampling_temperature": 1,
}  # fmt: skip

Layouts = dict[str, Layout]  # "bulk": of many sentences at a time; "single": of one


class FastTranslator:
    """A converted translator. Its own threads begin a request at once; the result is awaited."""

    name = "ctranslate2"

    def __init__(self, path: Path, pieces: list[str], ends: Sequence[int], precision: str, places: int) -> None:
        """pieces: the vocabulary, by id; ends: any of them ends a text; places: how many positions it knows."""
        self._path, self.pieces, self._ends, self._precision = path, pieces, list(ends), precision
        self._ids = {piece: number for number, piece in enumerate(pieces)}
        self.places = places
        self.layouts: Layouts = {"bulk": Layout(), "single": Layout()}
        self.has_shortlist = False
        self.needs_first_step = True  # whether the attention of the first step is used
        self._opened: dict[tuple[int, Layout], Any] = {}  # by the process, and by how it works

    def begin(
        self, sources: Sequence[list[int]], limits: Sequence[int], search: Search, prefixes: Sequence[list[int]] = ()
    ) -> Finding:
        """Begins to translate; the result yields the best translations of each source as they finish.

        limits: most tokens of each translation, the end included. prefixes: what each must begin with.
        """
        limits = [min(limit, self.places) for limit in limits]
        greedy = replace(search, beams=1, n_best=1)
        process = Here.forks
        jobs = [
            (
                rows,
                self._ask(rows, sources, limits, search, prefixes),
                self._ask(rows, sources, [1] * len(sources), greedy, ())
                if search.return_attention and search.beams > 1 and self.needs_first_step
                else (),
            )
            for rows in self._group(sources, limits, search)
        ]

        def wait() -> Iterator[tuple[int, list[Hypothesis]]]:
            for rows, asked, firsts in jobs:
                for row, result, first in zip_longest(rows, asked, firsts):
                    if Here.forks != process:  # the workers are in another process
                        mine = [prefixes[row]] if prefixes else ()
                        yield row, dict(self.begin([sources[row]], [limits[row]], search, mine)())[0]
                        continue
                    found = self._read(result, search)
                    if first is not None:
                        # With several beams the attention of the first step is wrong; greedy search has it right.
                        step = self._read(first, greedy)[0].attention[:1]
                        found = [replace(one, attention=[*step, *one.attention[1:]]) for one in found]
                    yield row, found

        return wait

    def trace(self, sources: Sequence[list[int]], found: Sequence[list[Hypothesis]]) -> list[list[Hypothesis]]:
        """The same hypotheses, one of each source, with their attention, by decoding them again."""
        forced = [one.ids for (one,) in found]
        limit = max(map(len, forced), default=0) + 1
        again = dict(self.begin(sources, [limit] * len(sources), Search(return_attention=True), forced)())
        return [[replace(one, attention=again[row][0].attention[: len(one.ids) + one.is_finished])]
                for row, (one,) in enumerate(found)]  # fmt: skip

    def _group(self, sources: Sequence[list[int]], limits: Sequence[int], search: Search) -> Iterator[list[int]]:
        """Rows of like length that share a batch. A batch has one length limit, which changes what a beam finds."""
        budget = self._budget(sources, search) // search.beams
        for limit in sorted(set(limits), reverse=True):
            rows = [row for row, mine in enumerate(limits) if mine == limit]
            yield from ([rows[i] for i in some] for some in group([len(sources[row]) for row in rows], budget))

    def _budget(self, sources: Sequence[list[int]], search: Search) -> int:
        """Tokens of a batch: larger ones are faster, as long as every worker has some and no candidates are shared.

        Where they are shared, more sentences make a longer list. Several beams need that: what is not on it makes a
        weak one look better than it is.
        """
        if search.is_fast:
            return TOKENS_TOGETHER[search.beams > 1]
        least, most = TOKENS_PER_BATCH[self._precision]
        workers = self.layouts["bulk"].workers
        shares = BATCHES_PER_WORKER * workers if workers > 1 else 1  # a single worker never waits
        return min(most, max(least, search.beams * sum(map(len, sources)) // shares))

    def share(self, workers: int | None = None, patience: int = 0) -> int:
        """Opens one worker for each of several callers, by default as many as were measured to be best, each with its
        best number of threads. A higher patience lowers their priority. Returns how many there are.
        """
        layout = Layout(workers or self.layouts["bulk"].workers, self.layouts["bulk"].threads)
        self.layouts = {"bulk": layout, "single": layout}

        def open_workers() -> None:
            lower_priority(patience)  # what begins in this thread inherits it
            self._open(self.layouts["bulk"])

        thread = threading.Thread(target=open_workers)
        thread.start()
        thread.join()
        return layout.workers

    def measure(self) -> Layouts:
        """The fastest layouts for this model on this machine, by trial."""

        def try_rows(rows: int) -> Callable[[Layout], None]:
            sources = [[(7 * row + place) % (len(self.pieces) - 1) for place in range(TRIAL_LENGTH)]
                       for row in range(rows)]  # fmt: skip

            def work(layout: Layout) -> None:
                parts = [sources[start :: layout.workers] for start in range(layout.workers)]
                asked = [
                    self._open(layout).translate_batch(
                        [[self.pieces[i] for i in row] for row in part], asynchronous=True, beam_size=1,
                        min_decoding_length=TRIAL_LENGTH, max_decoding_length=TRIAL_LENGTH,
                    )
                    for part in parts if part
                ]  # fmt: skip
                for results in asked:
                    for result in results:
                        result.result()

            return work

        many = candidates()
        bulk = fastest(many, try_rows(TRIAL_ROWS * many[0].workers)) if len(many) > 1 else many[0]
        singles = [Layout(1, layout.threads) for layout in many]
        single = fastest(singles, try_rows(1)) if len(singles) > 1 else singles[0]
        self._opened.clear()  # each holds the weights
        return {"bulk": bulk, "single": single}

    def _ask(
        self, rows: list[int], sources: Sequence[list[int]], limits: Sequence[int], search: Search,
        prefixes: Sequence[list[int]],
    ) -> Any:  # fmt: skip
        layout = self.layouts["single"] if len(sources) == 1 else self.layouts["bulk"]
        if layout.threads == self.layouts["bulk"].threads:
            layout = self.layouts["bulk"]  # one of its workers does as well, and the weights are held once
        prefix = [[self.pieces[i] for i in prefixes[row]] for row in rows] if prefixes else None
        Here.wait_for_fork()
        return self._open(layout).translate_batch(
            [[self.pieces[i] for i in sources[row]] for row in rows],
            prefix,
            asynchronous=len(sources) > 1,  # one alone is waited for here: that is a little sooner
            beam_size=search.beams,
            num_hypotheses=search.n_best,
            length_penalty=search.length_penalty,
            max_decoding_length=limits[rows[0]],
            return_scores=search.with_scores or search.beams > 1,
            end_token=self._ends,
            return_end_token=True,
            return_attention=search.return_attention,
            use_vmap=search.is_fast,
            **AS_OURS,
        )

    def opened(self) -> Any:
        """The engine of CTranslate2 itself."""
        return self._open(self.layouts["single"])

    def _open(self, layout: Layout) -> Any:
        if (Here.forks, layout) not in self._opened:
            self._opened[Here.forks, layout] = open_here(lambda: ctranslate2.Translator(
                str(self._path), "cpu", compute_type=self._precision, inter_threads=layout.workers,
                intra_threads=layout.threads, max_queued_batches=-1,
            ))  # fmt: skip
        return self._opened[Here.forks, layout]

    def _read(self, asked: Any, search: Search) -> list[Hypothesis]:
        result = asked.result() if hasattr(asked, "result") else asked
        found = []
        # Each is copied when it is read.
        scores, attention = result.scores, result.attention if search.return_attention else []
        for number, pieces in enumerate(result.hypotheses):
            ids = list(map(self._ids.__getitem__, pieces))
            is_finished = bool(ids) and ids[-1] in self._ends
            # Its scores are divided by the length penalty.
            score = scores[number] * len(ids) ** search.length_penalty if scores else math.nan
            if is_finished:
                ids.pop()
            found.append(Hypothesis(ids, score, is_finished, attention[number] if attention else []))
        return found


class FastWriter:
    """A converted writer."""

    name = "ctranslate2"

    def __init__(self, path: Path, pieces: list[str], ends: Sequence[int], precision: str, room: int) -> None:
        """ends: any of them ends a text; room: its context length in tokens."""
        self._path, self.pieces, self._ends, self._precision, self.room = path, pieces, list(ends), precision, room
        self._files = KeptFiles(path)
        self.layouts: Layouts = {"single": Layout()}
        self._idle: dict[tuple[int, Layout, bool], list[Any]] = {}  # engines to use again, by whether they have drawn

    def ids(self, read: list[int], sampling: Sampling, seed: int | None) -> Iterator[int]:
        """Ids that follow what was read, until the end of the text; without a seed, others each time.

        When the text is as long as the context window, its older half is dropped and the newer half read again.
        """
        text = read[-self.room :]
        idle = self._idle.setdefault((Here.forks, self.layouts["single"], sampling.temperature > 0), [])
        engine, steps = self._begin(text, sampling, seed, idle)
        try:
            yield from self._generate(engine, steps, text, sampling)
        finally:
            if seed is None or sampling.temperature == 0:
                idle.append(engine)

    def _generate(self, engine: Any, steps: Iterator[Any], text: list[int], sampling: Sampling) -> Iterator[int]:
        process = Here.forks
        while True:
            for step in steps:
                if step.token_id in self._ends:
                    return
                text.append(step.token_id)
                yield step.token_id
                if Here.forks != process:
                    raise RunError("this text was begun before a fork, and is written by a thread that the new process "
                                   "does not have; begin it again there")  # fmt: skip
            text = text[-(self.room - self.room // 2 + 1) :]
            steps = self._continue(engine, text, sampling)

    def measure(self) -> Layouts:
        """The fastest layout for this model on this machine, by trial."""
        singles = [Layout(1, layout.threads) for layout in candidates()]
        engines = {layout: self._start(layout) for layout in singles}
        length = min(TRIAL_LENGTH, self.room)

        def work(layout: Layout) -> None:
            engines[layout].generate_batch([[self.pieces[self._ends[0]]]], min_length=length, max_length=length)

        return {"single": fastest(singles, work) if len(singles) > 1 else singles[0]}

    def opened(self) -> Any:
        """The engine of CTranslate2 itself."""
        return self._start(self.layouts["single"])

    def _begin(
        self, text: list[int], sampling: Sampling, seed: int | None, idle: list[Any]
    ) -> tuple[Any, Iterator[Any]]:
        """An engine, and what it writes after the text.

        CTranslate2 has one seed for the whole process, and a thread reads it once, when it first draws. So a text with
        a seed needs an engine of its own, and until that has drawn, no other may set a seed; texts without one take any
        engine that is idle.
        """
        if seed is None or sampling.temperature == 0:
            with suppress(IndexError):  # another thread may take the last
                engine = idle.pop()
                return engine, self._continue(engine, text, sampling)
        with Here.seeding:
            ctranslate2.set_random_seed(secrets.randbits(31) if seed is None else seed)
            engine = self._start(self.layouts["single"])
            steps = self._continue(engine, text, sampling)
            first = list(islice(steps, 1))
        return engine, chain(first, steps)

    def _continue(self, engine: Any, text: list[int], sampling: Sampling) -> Iterator[Any]:
        left = self.room + 1 - len(text)  # the last token is generated but not read
        Here.wait_for_fork()
        found: Iterator[Any] = engine.generate_tokens(
            [self.pieces[i] for i in text], max_length=left, end_token=self._ends, **_options(sampling)
        )
        return found

    def _start(self, layout: Layout) -> Any:
        files = self._files.read()
        return open_here(lambda: ctranslate2.Generator(
            str(self._path), "cpu", compute_type=self._precision, inter_threads=1, intra_threads=layout.threads,
            files=files,
        ))  # fmt: skip


def _options(sampling: Sampling) -> dict[str, Any]:
    ours = {"min_length": 0, "repetition_penalty": 1, "no_repeat_ngram_size": 0, "disable_unk": False}
    if sampling.temperature == 0:
        return ours | {"sampling_topk": 1}
    return ours | {
        "sampling_topk": sampling.top_k or 0,
        "sampling_topp": 1 if sampling.top_p is None else sampling.top_p,
        "sampling_temperature": sampling.temperature,
    }
