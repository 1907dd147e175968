"""The progress of a training on a terminal: one reader of its events. Writes to stderr only."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from regard.cli.output import print_data, visible
from regard.text.corpus import counted
from regard.train import training
from regard.training.card import count_in_words, describe_shape
from regard.training.encode import Generating, Preparing
from regard.training.forecast import forecast
from regard.training.log import METRICS, read_entries
from regard.training.loop import Progress as Step
from regard.training.loop import Validated
from regard.training.plan import Plan
from regard.training.prepare import EVENING
from regard.training.session import Finished
from regard.training.stages import Stage
from regard.training.stop import Stopper

MANY_EPOCHS = 20  # within a time limit: more time would hardly help
STATUS_SECONDS = 30  # of training between two lines on how far it got, where no live one can be shown


def show_training(task: str, *, to: Path, is_quiet: bool = False, **options: Any) -> Finished:
    """Trains and shows it."""
    return show_events(lambda stopper: training(task, to=to, stopper=stopper, **options), is_quiet)


def show_events(begin: Callable[[Stopper], Iterator[Any]], is_quiet: bool = False) -> Finished:
    """Shows the events of a training; Ctrl-C and SIGTERM save first."""
    stopper = Stopper()
    report = Report(Console(stderr=True, highlight=False, quiet=is_quiet))
    with stopper.listening():
        try:
            for event in begin(stopper):
                report.show(event)
        except KeyboardInterrupt:
            report.close()
            report.print_status(f"Stopped at step {report.step}; all is saved. The same command resumes from there.")
            raise
        finally:
            report.close()
    assert report.finished is not None
    return report.finished


def show_plan(begin: Callable[[Stopper], Iterator[Any]], as_json: bool) -> None:
    """Shows how far preparing is, and prints the plan that comes of it."""
    stopper, report = Stopper(), Report(Console(stderr=True, highlight=False))
    with stopper.listening():
        try:
            for event in begin(stopper):
                if not isinstance(event, Plan):
                    report.show(event)
                    continue
                report.close()
                for line in [json.dumps(event.facts, ensure_ascii=False)] if as_json else describe_plan(event):
                    print_data(line)
        finally:
            report.close()


class Report:
    """Shows events as they come: a live line on a terminal, plain lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.finished: Finished | None = None
        self._printed = time.monotonic()
        self._begin()
        columns = (TextColumn("{task.fields[line]}"), BarColumn(), _TimeLeft())
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("training", total=None, line="", left=None)

    def _begin(self) -> None:
        """Nothing is known of this training yet."""
        self.step = 0
        self._plan: Plan | None = None
        self._micro_batches = 1
        self._seconds = self._reported = 0.0
        self._loss = self._speed = 0.0
        self._newest_score = ""
        self._curve: list[tuple[int, float]] = []
        self._is_forecast = False

    def print_status(self, message: str) -> None:
        """A line above the live one."""
        self._bar.console.print(visible(message, "\n"), markup=False, soft_wrap=True)

    def close(self) -> None:
        """Ends the live display."""
        self._bar.stop()

    def show(self, event: Stage | Generating | Preparing | Plan | Step | Validated | Finished) -> None:
        """Shows one event."""
        match event:
            case Stage():
                self._begin()
                limit = "" if event.minutes is None else f", at most {_duration(60 * event.minutes)}"
                self.print_status(event.note) if event.note else None
                self.print_status(f"Stage {event.number} of {event.count}: {event.name}{limit}")
            case Generating():
                self._show_generating(event)
            case Preparing():
                done = f"{event.stage}: {event.done:,}" if event.done else event.stage
                self._show_stage(done, event)
            case Plan():
                self._show_plan(event)
            case Step():
                self._show_step(event)
            case Validated():
                self._show_score(event)
            case Finished():
                self.finished = event
                self.close()
                best = ", ".join(f"{name} {value:.4g}" for name, value in event.scores.items())
                self.print_status(
                    f"Done: {event.reason}. {event.step} steps in {event.seconds / 60:.1f} minutes. Best: {best}"
                )
                self.print_status(f"The model is in {event.folder}")
                if event.note:
                    self.print_status(event.note)

    def _show_generating(self, event: Generating) -> None:
        """First how much there is, then how long it will take."""
        if event.speed is None:
            there = f", {event.done} of them are there already" if event.done else ""
            self.print_status(f"{event.teacher} generates {counted(event.total, 'lines')}{there}")
            return
        if not self._speed:
            self.print_status(f"{event.speed:.0f} lines/s, ~{_duration(event.left or 0)} for the rest")
        self._speed = event.speed
        self._show_stage(f"generating: {event.done:,} lines, {event.speed:.0f} lines/s", event)

    def _show_stage(self, done: str, event: Generating | Preparing) -> None:
        """On a terminal how far a stage is; elsewhere a line now and then, if it takes long."""
        self._bar.start()
        self._bar.update(self._task, line=done, completed=event.done, total=event.total, left=event.left)
        if not self.console.is_terminal and time.monotonic() - self._printed >= STATUS_SECONDS:
            self._printed = time.monotonic()
            self.print_status(done + ("" if event.left is None else f", ~{_duration(event.left)} left"))

    def _show_plan(self, plan: Plan) -> None:
        self._plan, self.step, self._speed = plan, plan.step, 0.0
        for line in describe_plan(plan):
            self.print_status(line)
        self.print_status(f"Metrics: {plan.folder / 'run' / METRICS}")
        if plan.step and plan.score and (log := plan.folder / "run" / METRICS).exists():
            scores = [(one["step"], one.get(plan.score)) for _, one in read_entries(log) if one["step"] <= plan.step]
            self._curve = [(step, score) for step, score in scores if score is not None]
        if plan.step:
            self.print_status(f"Resuming from step {plan.step}")
        if plan.note:
            self.print_status(plan.note)
        self._bar.start()

    def _show_step(self, event: Step) -> None:
        self.step = event.step
        self._seconds += event.seconds
        if event.micro_batches > self._micro_batches:
            self.print_status(
                f"step {event.step}: out of memory, each batch is now computed in {event.micro_batches} micro-batches"
            )
            self._micro_batches = event.micro_batches
        if event.is_skipped:
            self.print_status(f"step {event.step}: skipped, its loss is {event.loss:.4g}; the weights are as before")
            return
        share = 0.1 if self._loss else 1.0  # smoothed for the eye
        self._loss += share * (event.loss - self._loss)
        self._speed += share * (event.tokens / event.seconds - self._speed)
        line = f"step {event.step}  loss {self._loss:.3f}{self._newest_score}  {self._speed:.0f} tokens/s"
        if not self.console.is_terminal and self._seconds - self._reported >= STATUS_SECONDS:
            self._reported = self._seconds
            left = "" if event.left is None else f", ~{_duration(event.left)} left"
            self.print_status(f"{line}{left}")
        done, total = self._progress()
        self._bar.update(self._task, line=line, completed=done, total=total, left=event.left)

    def _show_score(self, event: Validated) -> None:
        self._seconds += event.seconds
        scores = ", ".join(f"{name} {value:.4g}" for name, value in event.scores.items())
        name, value = next(iter(event.scores.items()))
        self._newest_score = f"  {name} {value:.3g}"
        self.print_status(f"step {event.step}: {scores}; training loss {self._loss:.3f}, {self._speed:.0f} tokens/s")
        self._forecast(event.step, value)
        for given, generated, *_ in event.samples[:1]:
            shown = generated.replace("\n", "\n    ")
            self.print_status(f"    {given}\n    -> {shown}" if given else f"    {shown}")

    def _forecast(self, step: int, score: float) -> None:
        """Once, after a quarter of the run: the score to expect."""
        self._curve.append((step, score))
        plan = self._plan
        if plan is None or plan.is_tuned or plan.score is None or self._is_forecast:
            return
        if found := forecast(plan.score, self._curve, plan.updates):
            self._is_forecast = True
            names = {"half": "at half the time", "end": "at the end", "double": "in double the time"}
            intervals = ", ".join(f"{low:.1f} to {high:.1f} {names[when]}" for when, (low, high) in found.items())
            self.print_status(f"Expect a validation {plan.score} of {intervals} (80 % of runs)")

    def _progress(self) -> tuple[float, float | None]:
        """How much is done of how much: seconds or steps, whichever the run ends by; unknown if by neither."""
        assert self._plan is not None
        stop = self._plan.config.stop
        ends = [end for end in (stop.steps, stop.epochs and stop.epochs * self._plan.batches_per_epoch) if end]
        if stop.minutes and not ends:
            return self._plan.seconds + self._seconds, stop.minutes * 60
        return self.step, min(ends) if ends else None


def describe_plan(plan: Plan) -> Iterator[str]:
    """What was decided and measured before the first step, line by line."""
    config = plan.config
    shape = describe_shape(config.model.model_dump(), plan.shape)
    yield f"{count_in_words(plan.weights)} weights ({shape}); {config.device}, {config.layout}"
    yield f"{counted(plan.examples, plan.unit)} to learn from, {plan.held_out} held out"
    yield f"~{_duration(plan.seconds_per_epoch)} per epoch, {_end(plan)}, {plan.measured['memory'] / 1e9:.1f} GB"
    is_default = config.stop.minutes == EVENING  # not the share of one of several stages
    if plan.is_cut and is_default and plan.updates < MANY_EPOCHS * plan.updates_per_epoch:
        limit = config.stop.minutes or 0
        all_of_them = f", of {config.stop.epochs} that suit the text" if config.stop.epochs else ""
        yield (
            f"The default limit of {limit / 60:g} h allows {plan.updates / plan.updates_per_epoch:.2g} epochs"
            f"{all_of_them}; --minutes {2 * limit:g} allows twice as many"
        )
    if plan.advice:
        yield plan.advice
    if plan.is_short:
        yield (
            f"That is {plan.updates:.0f} updates, {plan.updates / plan.updates_per_epoch:.2g} "
            f"epochs: expect little below about {_duration(plan.least_updates * plan.pace)}"
        )
    if plan.on_record:
        low, high = plan.on_record
        yield (
            f"After {plan.updates:.0f} updates, runs on record (captions and short sentences, en-de) had a validation "
            f"{plan.score} of {low:.0f} to {high:.0f}; a quarter of the run will say more"
        )
    for left_out in plan.left_out:
        units = counted(left_out.count, left_out.unit or plan.unit)
        yield f"Left out {units}: {left_out.reason} (such as {left_out.example})"


class _TimeLeft(ProgressColumn):
    def render(self, task: Task) -> Text:
        """As the run estimates it."""
        seconds = task.fields["left"]
        return Text("" if seconds is None else f"{int(seconds // 60)}:{int(seconds % 60):02} left")


def _end(plan: Plan) -> str:
    """When the run will be over."""
    if plan.left is None:
        return "until early stopping"
    return (
        f"until early stopping, at most {_duration(plan.left)}" if plan.is_cut else f"~{_duration(plan.left)} to finish"
    )


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.0f} s"
        if seconds < 120
        else f"{seconds / 60:.0f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )
