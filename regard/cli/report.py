"""How a training looks on a terminal: one reader of its events. Writes to stderr only."""

from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn
from rich.text import Text

from regard.run import training
from regard.session import Finished, Plan
from regard.trainer.loop import Progress as Step
from regard.trainer.loop import Scored
from regard.trainer.stop import Stopper


def watch(task: str, *, to: Path, **options: Any) -> Finished:
    """Trains and shows it; Ctrl-C and SIGTERM save first."""
    stopper = Stopper()
    report = Report(Console(stderr=True, highlight=False))
    with stopper.listening():
        try:
            for event in training(task, to=to, stopper=stopper, **options):
                report.show(event)
        except KeyboardInterrupt:
            report.close()
            report.say(f"Stopped at step {report.step}; all is saved. The same command goes on from there.")
            raise
        finally:
            report.close()
    assert report.finished is not None
    return report.finished


class Report:
    """Shows events as they come: a live line on a terminal, plain lines elsewhere."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.step = 0
        self.finished: Finished | None = None
        self._plan: Plan | None = None
        self._seconds = 0.0
        self._loss = self._speed = 0.0
        self._newest_score = ""
        columns = (TextColumn("{task.fields[line]}"), BarColumn(), _TimeLeft())
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._bar.add_task("training", total=None, line="")

    def say(self, message: str) -> None:
        """A line above the live one."""
        self._bar.console.print(message, markup=False, soft_wrap=True)

    def close(self) -> None:
        """Ends the live display."""
        self._bar.stop()

    def show(self, event: Plan | Step | Scored | Finished) -> None:
        """Shows one event."""
        match event:
            case Plan():
                self._show_plan(event)
            case Step():
                self._show_step(event)
            case Scored():
                self._show_score(event)
            case Finished():
                self.finished = event
                self.close()
                best = ", ".join(f"{name} {value:.4g}" for name, value in event.scores.items())
                self.say(f"Done: {event.reason}. {event.step} steps in {event.seconds / 60:.1f} minutes. Best: {best}")
                self.say(f"The model is in {event.folder}")

    def _show_plan(self, plan: Plan) -> None:
        self._plan = plan
        self.step = plan.step
        config = plan.config
        shape = f"{config.model.layers} layers, width {config.model.width}, vocabulary {config.model.vocab_size}"
        self.say(f"{plan.weights / 1e6:.1f} M weights ({shape}); {config.device}, {config.threads} threads")
        self.say(f"{plan.examples} to learn from, {plan.held_out} held out; {plan.batches_per_epoch} batches per epoch")
        for left_out in plan.left_out:
            self.say(f"Left out {left_out.count} pairs: {left_out.reason} (such as {left_out.example})")
        if plan.step:
            self.say(f"Going on from step {plan.step}")
        self._bar.start()

    def _show_step(self, event: Step) -> None:
        self.step = event.step
        self._seconds += event.seconds
        share = 0.1 if self._loss else 1.0  # smoothed for the eye
        self._loss += share * (event.loss - self._loss)
        self._speed += share * (event.tokens / event.seconds - self._speed)
        line = f"step {event.step}  loss {self._loss:.3f}{self._newest_score}  {self._speed:.0f} tokens/s"
        done, total = self._progress()
        self._bar.update(self._task, line=line, completed=done, total=total)

    def _show_score(self, event: Scored) -> None:
        self._seconds += event.seconds
        scores = ", ".join(f"{name} {value:.4g}" for name, value in event.scores.items())
        name, value = next(iter(event.scores.items()))
        self._newest_score = f"  {name} {value:.1f}"
        self.say(f"step {event.step}: {scores}; training loss {self._loss:.3f}, {self._speed:.0f} tokens/s")
        for source, text, *_ in event.samples[:1]:
            self.say(f"    {source}\n    -> {text}")

    def _progress(self) -> tuple[float, float | None]:
        """How much is done of how much: seconds or steps, whichever the run ends by; unknown if by neither."""
        assert self._plan is not None
        stop = self._plan.config.stop
        ends = [end for end in (stop.steps, stop.epochs and stop.epochs * self._plan.batches_per_epoch) if end]
        if stop.minutes and not ends:
            return self._plan.seconds + self._seconds, stop.minutes * 60
        return self.step, min(ends) if ends else None


class _TimeLeft(ProgressColumn):
    def render(self, task: Task) -> Text:
        """At the pace of this sitting so far."""
        seconds = task.time_remaining
        return Text("" if seconds is None else f"{int(seconds // 60)}:{int(seconds % 60):02} left")


def describe(about: dict[str, Any], size: int) -> str:
    """What regard.json tells, for a person."""
    settings, data, past = about["settings"], about["data"], about["training"]
    shape = settings["model"]
    languages = f"{settings['source_language'] or '?'} to {settings['target_language'] or '?'}"
    rows = {
        "task": f"{about['task']}, {languages}",
        "shape": f"{shape['layers']} layers, width {shape['width']}, {shape['heads']} heads, {shape['norm']}-norm, "
        f"vocabulary {shape['vocab_size']}",
        "weights": f"{size / 4e6:.1f} M, {size / 1e6:.1f} MB, SHA-256 {about['weights_sha256'][:16]}…",
        "data": f"{data['pairs']} pairs, {data['tokens']} tokens, {data['held_out_pairs']} held out",
        "files": ", ".join(data["files"].values()),
        "training": f"{past['steps']} steps, {past['seconds'] / 60:.1f} minutes, seed {settings['seed']}",
        "scores": ", ".join(f"{name} {value:.4g}" for name, value in about["scores"].items()),
        "made with": f"regard {about['regard']}",
    }
    return "\n".join(f"{name:10} {value}" for name, value in rows.items())
