"""One session of a training run: steps, validation, best checkpoint, saving; reported as events."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from regard import __version__
from regard.data.store import TokenStore
from regard.errors import RunError
from regard.folder import FORMAT, Content, ModelInfo, write_model
from regard.model.size import count_parameters
from regard.text.tokenizer import Tokenizer
from regard.training.card import model_card
from regard.training.checkpoint import CheckpointStore, TrainState, restore_weights
from regard.training.claims import Claim, compare_claim, is_claimed, recall_claim
from regard.training.cooldown import begin_cooldown, updates_left
from regard.training.diagnose import Diverged
from regard.training.distributed import is_disconnected
from regard.training.log import MetricsLog
from regard.training.loop import MOST_SKIPPED, Progress, Validated, average, is_milestone
from regard.training.plan import Plan, is_due, last_step, validations
from regard.training.prepare import DatasetInfo
from regard.training.recipe import Artifacts, Check, Recipe, Sample, Validator
from regard.training.record import STATE, OwnedRun
from regard.training.stop import Stopped
from regard.training.workers import WorkerGroup

SAVE_SECONDS = 60  # at most this much work is lost to a crash
SNAPSHOT_SHARE = 0.01  # of the time of a run that snapshots between validations may take
EARLY = 8  # powers of two up to the first validation
LOG_STEPS = 10  # steps per line of metrics.jsonl


@dataclass(frozen=True)
class Finished:
    """The run is over, and the best model is in its folder."""

    folder: Path
    step: int
    seconds: float
    scores: dict[str, float]
    reason: str
    note: str | None = None  # what a person should know


Event = Progress | Validated | Finished


class Session:
    """A run, from wherever it is to where it should end."""

    def __init__(
        self, recipe: Recipe, folder: Path, run: OwnedRun, dataset: DatasetInfo, group: WorkerGroup,
        tokenizer: Tokenizer, state: TrainState, validator: Validator, check: Check, load: Callable[[Path], Any],
    ) -> None:  # fmt: skip
        """load: opens a finished model, as `regard.load` does."""
        self.recipe, self.folder, self.check, self.load, self.tokenizer = recipe, folder, check, load, tokenizer
        self.dataset, self.group, self.trainer, self.config = dataset, group, group.trainer, group.config
        self.owned, self.store, self.state, self.validator = run, CheckpointStore(run.path / STATE), state, validator
        self.store.make()
        self.metrics_log = MetricsLog(run.path)
        device = torch.device("cpu") if self.trainer.is_sharded else group.world.device  # of averages that are scored
        self.validation_model = recipe.build(self.config.model, tokenizer).to(device)
        self.last_score_seconds = self.snapshot_seconds = 0.0
        self.saved_at = time.monotonic()
        self.pace = 0.0  # seconds per step, of late
        ends = [last_step(self.config, group.batches.batches_per_epoch), state.cooldown and state.cooldown[1]]
        self.end = min((end for end in ends if end), default=None)
        self.scores_left = validations(self.config, state.step, self.end) if self.end else 0

    def plan(self, measured: dict[str, Any], note: str | None, advice: str | None = None) -> Plan:
        """What the run is about to do."""
        self.pace = float(measured["seconds_per_step"])
        return Plan(
            self.folder, self.config, self.recipe.unit, self.recipe.shape, self.dataset.examples,
            len(self.dataset.valid), [*self.dataset.left_out, *self.validator.left_out],
            count_parameters(self.validation_model), self.group.batches.batches_per_epoch, self.state.step,
            self.state.seconds, measured, self._left(), note, advice, bool(self.dataset.bases), self.recipe.score,
        )  # fmt: skip

    def events(self) -> Iterator[Event]:
        """Trains until the end, or until stopped: then a checkpoint is saved first."""
        self.metrics_log.resume_from(self.state.step or -1)  # of a run that has not begun, nothing is kept
        try:
            if not self.state.step:
                self._take_snapshot(0)
            while not (reason := self._reason_to_end()):
                yield from self._train_on()
            finished = self._finish(reason)
            summary = {"step": finished.step, "seconds": finished.seconds, "scores": finished.scores, "reason": reason}
            self.group.summary = summary
            yield finished
        except (Stopped, GeneratorExit):
            self.group.is_healthy = not self.trainer.is_stepping  # else the others are in the middle of it
            self._save()
            raise
        except Diverged as problem:
            self.group.is_followed = False
            raise RunError(self._explain(problem)) from None
        except RuntimeError as problem:
            self.group.is_healthy = False
            if not is_disconnected(self.group.world, problem):
                raise
            self._save()
            what = self.group.failed() or f"another process of this run is gone ({problem})"
            raise RunError(f"{what}; all is saved up to step {self.trainer.step}, the same command resumes") from None
        except BaseException:
            self.group.is_healthy = False  # the others may be in the middle of a step
            raise

    def _train_on(self) -> Iterator[Event]:
        """Steps and scores until there is a reason to end."""
        self._cool_if_due()
        for event in self.trainer.train(self._is_due, self._score):
            if isinstance(event, Progress):
                self._note_step(event)
                yield replace(event, left=self._left())
            else:
                self._note_score(event)
                yield event
            self.check()
            self._cool_if_due()
            if self._reason_to_end():
                return

    def _cool_if_due(self) -> None:
        """The learning rate begins to fall, at the end of a run or where validation no longer gets better."""
        stop, per_epoch = self.config.stop, self.group.batches.batches_per_epoch
        is_stalled = bool(stop.patience) and self.state.misses >= (stop.patience or 0)
        if steps := begin_cooldown(self.config, self.state, per_epoch, is_stalled=is_stalled):
            self._save()  # what more steps begin from, if they are asked for later
            self.trainer.cool(*steps)
            self.end = min(self.end or steps.last, steps.last)
            update = {"cooldown": tuple(steps), "cooldown_for": stop.model_dump(), "misses": 0}
            self.state = self.state.model_copy(update=update)

    def _is_due(self, step: int) -> bool:
        return step != self.state.scored_step and is_due(self.config, step)

    def _left(self) -> float | None:
        """Seconds until the run is over: the steps at the pace of late, and the scores at the price of the last."""
        ends = []
        if self.end:
            scoring = self.scores_left * self.last_score_seconds
            ends.append(updates_left(self.config, self.state, self.end) * self.pace + scoring)
        if self.config.stop.minutes:
            ends.append(self.config.stop.minutes * 60 - self.state.seconds)
        return max(0.0, min(ends)) if ends else None

    def _score(self) -> Validated:
        """Scores the average of the last checkpoints, not the weights of the moment: it is what will be kept."""
        began = time.perf_counter()
        restore_weights(self.validation_model, self._candidate())
        found = self.validator.score(self.validation_model, self.check)
        self.validation_model.load_state_dict(found.chosen, strict=False)
        samples = self.validator.samples(self.validation_model)
        self.last_score_seconds = time.perf_counter() - began
        return Validated(self.trainer.step, found.scores, samples, self.last_score_seconds)

    def _take_snapshot(self, step: int) -> None:
        """Outputs and attention of a few held-out examples, between validations: a young model changes fast."""
        left = self._left()
        most = math.inf if left is None else SNAPSHOT_SHARE * (self.state.seconds + left)
        if step and self.snapshot_seconds > most * min(1, step.bit_length() / EARLY):  # some is left for later steps
            return
        began = time.perf_counter()
        restore_weights(self.validation_model, self._candidate())
        self.validation_model.load_state_dict(self.validator.fixed, strict=False)
        self._log_snapshot(step, self.validator.samples(self.validation_model))
        seconds = time.perf_counter() - began
        self.snapshot_seconds += seconds
        self.state = self.state.model_copy(update={"seconds": self.state.seconds + seconds})

    def _log_snapshot(self, step: int, samples: list[Sample]) -> None:
        probes = self.recipe.snapshot(self.validation_model, self.dataset.valid, self.tokenizer)
        self.metrics_log.note_snapshot(step, samples, probes)

    def _candidate(self) -> dict[str, Tensor]:
        """The average of the last checkpoints, the present one included."""
        steps = [step for step in self.state.averaged if step != self.trainer.step]
        count = self.config.train.average_checkpoints - 1
        earlier = steps[-count:] if count else []
        present = {name: tensor.cpu() for name, tensor in self.trainer.state()[0].items()}
        return average([*(self.store.get("weights", step) for step in earlier), present])

    def _note_step(self, event: Progress) -> None:
        self.owned.check()
        state = self.state
        averaged, doubled_at = state.averaged, state.doubled_at
        if is_milestone(event.step, per_doubling=16, first=64, widest=None):
            self.store.put("weights", event.step, self.trainer.state()[0])
            averaged = (*averaged, event.step)[-self.config.train.average_checkpoints :]
        if event.micro_batches > state.micro_batches:
            doubled_at = (*doubled_at, event.step)
            seconds, parts = round(state.seconds, 3), event.micro_batches
            self.metrics_log.note({"step": event.step, "seconds": seconds, "micro_batches": parts})
        self.state = state.model_copy(update={
            "step": event.step, "averaged": averaged, "tokens": state.tokens + event.tokens,
            "seconds": state.seconds + event.seconds, "first_loss": self.trainer.first_loss,
            "skipped": state.skipped + event.is_skipped, "micro_batches": event.micro_batches, "doubled_at": doubled_at,
        })  # fmt: skip
        self.pace += 0.02 * (event.seconds - self.pace)  # over the last fifty or so
        self.metrics_log.note_step(event, self.state.seconds, LOG_STEPS)
        if is_milestone(event.step, per_doubling=1, first=1, widest=None) and not self._is_due(event.step):
            self._take_snapshot(event.step)
        if time.monotonic() - self.saved_at > SAVE_SECONDS and not event.is_skipped:
            self._save()

    def _note_score(self, event: Validated) -> None:
        self.owned.check()
        state = self.state
        is_better = self.validator.is_better(event.scores, state.best_scores)
        update: dict[str, Any] = {
            "seconds": state.seconds + event.seconds, "scored_step": event.step,
            "misses": 0 if is_better else state.misses + 1,
        }  # fmt: skip
        self.scores_left -= 1
        if is_better:
            update |= {"best_step": event.step, "best_scores": event.scores}
            self.store.put("best", event.step, self.validation_model.state_dict())
        self.state = state.model_copy(update=update)
        if is_better:
            self._write_model(self.validation_model.state_dict(), event.step, event.scores)
        self.metrics_log.note({"step": event.step, "seconds": round(self.state.seconds, 3), **event.scores})
        self._log_snapshot(event.step, event.samples)
        if not self.trainer.skipped:  # else the last update may have been the ruin of it
            self._save()

    def _reason_to_end(self) -> str | None:
        stop, state, step = self.config.stop, self.state, self.trainer.step
        if stop.steps and step >= stop.steps:
            return f"{stop.steps} steps were asked for"
        if self.end and step >= self.end:
            is_all = step >= (last_step(self.config, self.group.batches.batches_per_epoch) or math.inf)
            return f"{stop.epochs} epochs were asked for" if is_all else "the learning rate has come down to 0"
        if stop.minutes and state.seconds + self.last_score_seconds >= stop.minutes * 60:
            return f"the limit of {stop.minutes:g} minutes is reached"
        if stop.patience and state.misses >= stop.patience and not self.config.train.cooldown:
            return f"{state.misses} validations in a row were no better"
        return None

    def _explain(self, problem: Diverged) -> str:
        """What went wrong and what to do, for a person; a state that was saved after the fatal step is forgotten."""
        self.metrics_log.note({"step": problem.step, "seconds": round(self.state.seconds, 3), "skipped": MOST_SKIPPED})
        self.store.forget(problem.step - MOST_SKIPPED)
        good = self.store.newest()
        text = self.tokenizer.decode(problem.batch.sample.tolist()) if problem.batch is not None else "unknown"
        peak, first = self.config.train.learning_rate or 0.0, self.trainer.first_loss or math.nan
        return problem.explain(MOST_SKIPPED, first, peak, text, good.step if good else 0)

    def _finish(self, reason: str) -> Finished:
        """Scores the last weights too, unless they just were; a run that is resumed does not count that score."""
        self._save()
        scores, step = self.state.best_scores, self.state.best_step
        is_last_best = False
        if self.state.scored_step != self.trainer.step:
            last = self._score()
            if is_last_best := self.validator.is_better(last.scores, scores):
                scores, step = last.scores, last.step
        if not is_last_best and step is not None:
            restore_weights(self.validation_model, self.store.get("best", step))
        if (learn := self.recipe.learn_held_out) and (more := self.dataset.split_off):
            learn(self.validation_model, self.trainer.optimizer, self.group.batches, more, self.config, self.check)
        problem = self._write_finished(step or 0, scores)
        self._make_copy()
        note = f"It opens here only: in transformers {problem}. Please report it with regard.json" if problem else None
        return Finished(self.folder, self.trainer.step, self.state.seconds, scores, reason, note)

    def _write_finished(self, step: int, scores: dict[str, float]) -> str | None:
        """Writes the finished model, which claims a class of transformers only if it is the same there; else why."""
        artifacts, weights = self._extras(), self.validation_model.state_dict()
        claim = recall_claim(self.config, self.tokenizer)
        contents = self._write_model(weights, step, scores, artifacts, claim)
        if claim is None and is_claimed(contents):
            validator = self.validation_model.cpu().eval()
            claim = compare_claim(self.folder, self.config, validator, self.tokenizer, self._is_asked)
            self._write_model(weights, step, scores, artifacts, claim)
        return claim.problem if claim else None

    def _is_asked(self) -> bool:
        """Whether a stop was requested."""
        try:
            self.check()
        except Stopped:
            return True
        return False

    def _extras(self) -> Artifacts:
        arrays = TokenStore(self.owned.path).arrays()
        return self.recipe.artifacts(self.validation_model.cpu().eval(), arrays, self.dataset.valid, self.tokenizer)

    def _make_copy(self) -> None:
        """Converts the model for the fast engine; if that fails, opening the model tries again and reports it."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            self.load(self.folder)

    def _write_model(
        self, weights: dict[str, Tensor], step: int, scores: dict[str, float], artifacts: Artifacts | None = None,
        claim: Claim | None = None,
    ) -> dict[str, Content]:  # fmt: skip
        self.owned.check()
        artifacts = artifacts or Artifacts()
        contents = self.recipe.pack(self.config.model, weights, self.tokenizer)
        files = {"files": self.dataset.files, "sha256": self.dataset.fingerprints}
        info = ModelInfo(
            format=FORMAT,
            regard=__version__,
            task=self.recipe.name,
            settings=self.config.model_dump(mode="json"),
            parameters=count_parameters(self.validation_model),
            data=self.group.batches.facts | self.validator.facts | files,
            scores=scores,
            scores_signature=self.validator.signature,
            step=step,
            training={"steps": self.state.step, "tokens": self.state.tokens, "seconds": self.state.seconds},
            **({"base_models": self.dataset.bases} if self.dataset.bases else {}),
            **({"teacher": self.dataset.teacher} if self.dataset.teacher else {}),
            **({"transformers": claim.about} if claim and is_claimed(contents) else {}),
            **artifacts.about,
        )
        contents |= claim.pack(self.config, weights) if claim else {}
        card = {"README.md": model_card(info, self.recipe.shape)}
        write_model(self.folder, info.to_dict(), contents | artifacts.contents | card)
        return contents

    def _save(self) -> None:
        self.owned.check()
        if self.trainer.step:
            self.store.save(self.state, *self.trainer.state())
        self.saved_at = time.monotonic()
