"""One sitting of a training: takes steps, scores, keeps the best, saves, and says what happens as events."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard import __version__
from regard.config import RunConfig
from regard.device import choose_device, derive_seed
from regard.files import write_whole
from regard.folder import write_model
from regard.tasks.card import model_card
from regard.tasks.task import Check, Corpus, Task
from regard.text.corpus import LeftOut
from regard.text.tokenizer import Tokenizer
from regard.trainer.loop import Progress, Scored, Trainer, average, is_milestone
from regard.trainer.optim import make_optimizer
from regard.trainer.state import Standing, StateStore, flatten_optimizer, restore_optimizer, restore_weights
from regard.trainer.stop import Stopped

SAVE_SECONDS = 60  # at most this much work is lost to a crash
LOG_STEPS = 10  # steps per line of metrics.jsonl


@dataclass(frozen=True)
class Plan:
    """All that was decided before the first step; the first event of a run."""

    folder: Path
    config: RunConfig
    unit: str  # what examples are called
    examples: int
    held_out: int
    left_out: list[LeftOut]
    weights: int
    batches_per_epoch: int
    step: int  # where it goes on; 0 for a new run
    seconds: float  # trained so far


@dataclass(frozen=True)
class Finished:
    """The run is over, and the best model is in its folder."""

    folder: Path
    step: int
    seconds: float
    scores: dict[str, float]
    reason: str


Event = Progress | Scored | Finished


class Session:
    """A run, from wherever it is to where it should end."""

    def __init__(
        self, task: Task, folder: Path, run: Path, corpus: Corpus, config: RunConfig, tokenizer: Tokenizer, check: Check
    ) -> None:
        self.task, self.folder, self.config, self.tokenizer, self.check = task, folder, config, tokenizer, check
        self.corpus = corpus
        self.data = task.prepare(corpus, tokenizer, config, check)
        self.store = StateStore(run / "state")
        self.store.folder.mkdir(exist_ok=True)
        self.metrics = run / "metrics.jsonl"
        self.standing = self.store.newest() or Standing()
        torch.manual_seed(derive_seed(config.seed, "weights"))
        device = choose_device(config.device)
        model = task.build(config.model, tokenizer).to(device)
        self.judge = task.build(config.model, tokenizer).to(device)  # holds averaged weights while they are scored
        optimizer = make_optimizer(model, config.train)
        if self.standing.step:
            restore_weights(model, self.store.get("weights", self.standing.step))
            restore_optimizer(optimizer, self.store.get("optimizer", self.standing.step))
        self.trainer: Trainer[Any] = Trainer(
            model, optimizer, task.loss(config), config.train, config.seed, self.standing.step
        )
        self.last_score_seconds = 0.0
        self.saved_at = time.monotonic()
        self.recent: list[Progress] = []

    def plan(self) -> Plan:
        """What the run is about to do."""
        return Plan(
            self.folder,
            self.config,
            self.task.unit,
            len(self.corpus.train),
            len(self.corpus.valid),
            self.data.left_out,
            sum(parameter.numel() for parameter in self.trainer.model.parameters()),
            self.data.batches_per_epoch,
            self.standing.step,
            self.standing.seconds,
        )

    def events(self) -> Iterator[Event]:
        """Trains until the end, or until somebody stops: then everything is saved first."""
        self._cut_metrics()
        try:
            while not (reason := self._reason_to_end()):
                yield from self._train_on()
            yield self._finish(reason)
        except (Stopped, GeneratorExit):
            self._save()
            raise

    def _train_on(self) -> Iterator[Event]:
        """Steps and scores until there is a reason to end."""
        position = self.trainer.step * self.config.train.accumulate
        events = self.trainer.train(self.data.batches(position), self._is_due, self._score)
        for event in events:
            if isinstance(event, Progress):
                self._note_step(event)
            else:
                self._note_score(event)
            yield event
            self.check()
            if self._reason_to_end():
                return

    def _is_due(self, step: int) -> bool:
        if step == self.standing.scored_step:
            return False
        every = self.config.train.valid_every
        return step % every == 0 if every else is_milestone(step, per_doubling=2, first=128, widest=1024)

    def _score(self) -> Scored:
        """Scores the average of the last checkpoints, not the weights of the moment: it is what will be kept."""
        began = time.perf_counter()
        restore_weights(self.judge, self._candidate())
        scores, samples = self.data.score(self.judge, self.check)
        self.last_score_seconds = time.perf_counter() - began
        return Scored(self.trainer.step, scores, samples, self.last_score_seconds)

    def _candidate(self) -> dict[str, Tensor]:
        """The average of the last checkpoints, the present one included."""
        steps = [step for step in self.standing.averaged if step != self.trainer.step]
        earlier = steps[-(self.config.train.average - 1) :] if self.config.train.average > 1 else []
        present = {name: tensor.cpu() for name, tensor in self.trainer.model.state_dict().items()}
        return average([*(self.store.get("weights", step) for step in earlier), present])

    def _note_step(self, event: Progress) -> None:
        standing = self.standing
        averaged = standing.averaged
        if is_milestone(event.step, per_doubling=16, first=64, widest=None):
            self.store.put("weights", event.step, self.trainer.model.state_dict())
            averaged = (*averaged, event.step)[-self.config.train.average :]
        self.standing = standing.model_copy(update={
            "step": event.step, "averaged": averaged, "tokens": standing.tokens + event.tokens,
            "seconds": standing.seconds + event.seconds,
        })  # fmt: skip
        self.recent.append(event)
        if event.step % LOG_STEPS == 0:
            self._log_steps()
        if time.monotonic() - self.saved_at > SAVE_SECONDS:
            self._save()

    def _note_score(self, event: Scored) -> None:
        standing = self.standing
        is_better = self._is_better(event.scores, standing.best_scores)
        update: dict[str, Any] = {
            "seconds": standing.seconds + event.seconds, "scored_step": event.step,
            "misses": 0 if is_better else standing.misses + 1,
        }  # fmt: skip
        if is_better:
            update |= {"best_step": event.step, "best_scores": event.scores}
            self.store.put("best", event.step, self.judge.state_dict())
        self.standing = standing.model_copy(update=update)
        if is_better:
            self._write_model(self.judge.state_dict(), event.step, event.scores)
        self._log({"step": event.step, "seconds": round(self.standing.seconds, 3), **event.scores})
        self._save()

    def _reason_to_end(self) -> str | None:
        stop, standing, step = self.config.stop, self.standing, self.trainer.step
        if stop.steps and step >= stop.steps:
            return f"{stop.steps} steps were asked for"
        if stop.epochs and step * self.config.train.accumulate >= stop.epochs * self.data.batches_per_epoch:
            return f"{stop.epochs} epochs were asked for"
        if stop.minutes and standing.seconds + self.last_score_seconds >= stop.minutes * 60:
            return f"{stop.minutes:g} minutes were asked for"
        is_free = not (stop.steps or stop.epochs or stop.minutes)
        if is_free and standing.misses >= self.config.train.patience:
            return f"{standing.misses} validations in a row were no better"
        return None

    def _finish(self, reason: str) -> Finished:
        """Scores the last weights too, unless they just were; the run itself does not count that score, so that it
        goes on from here as if it had never ended."""
        self._save()
        scores, step = self.standing.best_scores, self.standing.best_step
        if self.standing.scored_step != self.trainer.step:
            last = self._score()
            if self._is_better(last.scores, scores):
                scores, step = last.scores, last.step
                self._write_model(self.judge.state_dict(), step, scores)
                step = None
        if step is not None:  # an earlier one was best; put it there again, should the folder have been touched
            self._write_model(self.store.get("best", step), step, scores)
        return Finished(self.folder, self.trainer.step, self.standing.seconds, scores, reason)

    def _is_better(self, scores: dict[str, float], best: dict[str, float]) -> bool:
        """By the first score."""
        if not best:
            return True
        name = next(iter(scores))
        return scores[name] < best[name] if self.data.lower_is_better else scores[name] > best[name]

    def _write_model(self, weights: dict[str, Tensor], step: int, scores: dict[str, float]) -> None:
        about = {
            "format": 1,
            "regard": __version__,
            "task": self.task.name,
            "settings": self.config.model_dump(mode="json"),
            "data": self.data.facts | {"files": self.corpus.files, "sha256": self.corpus.fingerprints},
            "scores": scores,
            "scores_signature": self.data.signature,
            "step": step,
            "training": {"steps": self.standing.step, "tokens": self.standing.tokens, "seconds": self.standing.seconds},
        }
        contents = self.task.pack(self.config.model, weights, self.tokenizer)
        write_model(self.folder, about, contents | {"README.md": model_card(about, self.task.shape)})

    def _save(self) -> None:
        weights, memory = self.trainer.model.state_dict(), flatten_optimizer(self.trainer.optimizer)
        if self.trainer.step:
            self.store.save(self.standing, weights, memory)
        self.saved_at = time.monotonic()

    def _log_steps(self) -> None:
        tokens, seconds = (sum(getattr(event, name) for event in self.recent) for name in ("tokens", "seconds"))
        mean = sum(event.loss for event in self.recent) / len(self.recent)
        last = self.recent[-1]
        self.recent = []
        self._log({"step": last.step, "seconds": round(self.standing.seconds, 3), "loss": mean, "rate": last.rate,
                   "tokens_per_second": round(tokens / seconds, 1)})  # fmt: skip

    def _log(self, entry: dict[str, Any]) -> None:
        with self.metrics.open("a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    def _cut_metrics(self) -> None:
        """Forgets what was logged after the state we go on from: it will be logged again."""
        if not self.metrics.exists():
            return
        kept = []
        for line in self.metrics.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                step = json.loads(line)["step"]
            except (ValueError, KeyError, TypeError):
                continue  # a line cut short by a crash
            if step <= self.standing.step:
                kept.append(line + "\n")
        write_whole(self.metrics, "".join(kept))
