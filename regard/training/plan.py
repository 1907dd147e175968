"""Before the first step: who computes what, how long it will take, and how much memory. By measurement."""

from __future__ import annotations

import statistics
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch

from regard.config import RunConfig, TrainConfig, change
from regard.machine import count_cores
from regard.text.corpus import LeftOut
from regard.text.tokenizer import Tokenizer
from regard.training.checkpoint import TrainState
from regard.training.distributed import World
from regard.training.forecast import FEWEST, ON_RECORD, Interval
from regard.training.forked import ForkedWorker
from regard.training.loop import is_milestone
from regard.training.recipe import Check, Recipe
from regard.training.workers import WorkerGroup

TRY_SECONDS = 2.0  # that each way to share the work is tried
SHORT_SECONDS = 90  # a run as short as this is over before more processes would have paid
LEAST_TOKENS = 512  # of a worker's part of a batch: smaller tensors cost more than they bring
AT_ONCE = 2048  # tokens of a part for each thread of a CPU: more take more memory and hardly less time (bench/train.py)
GAIN = 1.05  # by which several processes must be faster to be taken


@dataclass(frozen=True)
class Plan:
    """All that was decided before the first step; the first event of a run."""

    folder: Path
    config: RunConfig
    unit: str  # what examples are called
    shape: tuple[str, ...]  # settings of the network that are shown
    examples: int
    held_out: int
    left_out: list[LeftOut]
    weights: int
    batches_per_epoch: int
    step: int  # where it resumes; 0 for a new run
    seconds: float  # trained so far
    measured: dict[str, Any]  # tokens_per_second, seconds_per_step, memory (bytes)
    left: float | None  # seconds until the run is over, if that can be known
    note: str | None = None  # what differs from earlier sessions
    advice: str | None = None  # what more time would buy
    is_tuned: bool = False  # whether it begins from another model instead of fresh weights
    score: str | None = None  # the score that can be forecast

    @property
    def pace(self) -> float:
        """Seconds of an update, by measurement."""
        return float(self.measured["seconds_per_step"])

    @property
    def updates_per_epoch(self) -> float:
        """By the size of the text and of a batch."""
        return self.batches_per_epoch / (self.config.train.grad_accumulation or 1)

    @property
    def seconds_per_epoch(self) -> float:
        """By measurement."""
        return self.pace * self.updates_per_epoch

    @property
    def updates(self) -> float:
        """How many updates the run will have made at its end, earlier sessions included, as far as it is known."""
        if self.left is None:
            return float("inf")
        train, last = self.config.train, last_step(self.config, self.batches_per_epoch)
        share = 1 - train.cooldown * (1 - 1 / cooldown_cost(train))  # of as many as without a cool-down
        return min(self.step + share * self.left / self.pace, last or float("inf"))

    @property
    def is_cut(self) -> bool:
        """Whether it ends by a default time limit, unless early stopping comes first."""
        stop = self.config.stop
        last = last_step(self.config, self.batches_per_epoch) or float("inf")
        return bool(stop.minutes and stop.patience) and self.updates < last

    @property
    def least_updates(self) -> float:
        """Updates for one epoch, or for the warm-up and as many after it."""
        return max(self.updates_per_epoch, 2 * self.config.train.warmup_steps)

    @property
    def facts(self) -> dict[str, Any]:
        """All of it for machines, as `regard plan --json` prints it."""
        return {
            "examples": self.examples, "held_out": self.held_out, "weights": self.weights,
            "vocabulary": self.config.model.vocab_size, "device": self.config.device, "workers": self.config.workers,
            "threads": self.config.threads, "tokens_per_second": self.measured["tokens_per_second"],
            "memory_bytes": self.measured["memory"], "seconds_per_epoch": self.seconds_per_epoch,
            "seconds": self.left, "updates": self.updates if self.left is not None else None,
            "can_learn": not self.is_short, "score": self.score, "on_record": self.on_record,
            "left_out": [asdict(one) for one in self.left_out], "config": self.config.model_dump(mode="json"),
        }  # fmt: skip

    @property
    def on_record(self) -> Interval | None:
        """Between which scores runs on record were after as many updates, if there are any on as much text."""
        growth = ON_RECORD.get(self.score or "")
        is_known = self.examples >= FEWEST and self.updates < float("inf") and not self.is_tuned
        return growth.before(round(self.updates)) if growth and is_known else None

    @property
    def is_short(self) -> bool:
        """Whether a model with fresh weights can hardly learn anything in the time it has."""
        return self.updates < self.least_updates and not self.is_tuned


def assemble(
    run: Path, recipe: Recipe, config: RunConfig, tokenizer: Tokenizer, state: TrainState, check: Check,
    launched: World | None, forked: list[ForkedWorker],
) -> tuple[WorkerGroup, dict[str, Any]]:  # fmt: skip
    """The processes of a new run, by measurement unless they were asked for; and what was measured."""
    if launched is not None or config.workers or config.threads or config.device != "cpu" or count_cores() == 1:
        layout = lay_out(config, *_asked(config, launched))
        group = WorkerGroup(run, recipe, layout, tokenizer, state, check, launched, forked)
        return group, _measure(group)
    cores = count_cores()
    alone = WorkerGroup(run, recipe, lay_out(config, 1, cores), tokenizer, state, check)
    found = _measure(alone)
    workers = min(cores, max(1, config.train.tokens_per_batch // LEAST_TOKENS))
    if workers == 1 or _is_short(config, alone, found):
        return alone, found
    layout = lay_out(config, workers, cores // workers)
    together = WorkerGroup(run, recipe, layout, tokenizer, state, check, forked=forked)
    other = _measure(together)
    speeds = {f"1x{cores}": found["tokens_per_second"], f"{workers}x{cores // workers}": other["tokens_per_second"]}
    if other["tokens_per_second"] > GAIN * found["tokens_per_second"]:
        alone.close()
        return together, other | {"tried": speeds}
    together.close()
    torch.set_num_threads(cores)
    return alone, found | {"tried": speeds}


def validations(config: RunConfig, after: int, until: int) -> int:
    """How often a run is scored after one step and until another."""
    return sum(is_due(config, step) for step in range(after + 1, until + 1))


def is_due(config: RunConfig, step: int) -> bool:
    """Whether the model is to be scored at this step: by the clock of the steps, rarer as the run gets longer."""
    every = config.train.valid_every
    return step % every == 0 if every else is_milestone(step, per_doubling=2, first=128, widest=1024)


def cooldown_cost(train: TrainConfig) -> int:
    """How many times as long an update takes in the cool-down as before it: two passes with R-Drop."""
    return 2 if train.cooldown and train.r_drop else 1


def last_step(config: RunConfig, batches_per_epoch: int) -> int | None:
    """The step a run ends at, if its settings say so."""
    parts = config.train.grad_accumulation or 1
    ends = [config.stop.steps, config.stop.epochs and -(-config.stop.epochs * batches_per_epoch // parts)]
    return min((end for end in ends if end), default=None)


def _asked(config: RunConfig, launched: World | None) -> tuple[int, int]:
    """Workers and threads of each, where they are set or there is nothing to choose."""
    if launched is not None:
        return launched.size, config.threads or 1
    workers = config.workers or 1
    if config.device == "cuda" and config.workers is None:
        workers = torch.cuda.device_count()
    return workers, config.threads or max(1, count_cores() // workers)


def lay_out(config: RunConfig, workers: int, threads: int) -> RunConfig:
    """The settings with who computes what."""
    turns = -(-config.train.tokens_per_batch // (workers * threads * AT_ONCE)) if config.device == "cpu" else 1
    parts = config.train.grad_accumulation or workers * turns
    return change(config, {"workers": workers, "threads": threads, "train": {"grad_accumulation": parts}})


def _measure(group: WorkerGroup) -> dict[str, Any]:
    """Speed and memory, by a few steps that leave nothing behind. The first is to warm up."""
    trainer = group.trainer
    try:
        first = trainer.rehearse(1)[0]
        made = trainer.rehearse(min(20, max(2, int(TRY_SECONDS / first.seconds))))
    except BaseException:
        group.is_healthy = False  # the others may be in the middle of a step
        group.close()
        raise
    return {
        "tokens_per_second": round(sum(step.tokens for step in made) / sum(step.seconds for step in made), 1),
        "seconds_per_step": statistics.mean(step.seconds for step in made),
        "memory": trainer.memory,
    }


def _is_short(config: RunConfig, group: WorkerGroup, found: dict[str, Any]) -> bool:
    step = last_step(group.config, group.batches.batches_per_epoch)
    by_steps = step * found["seconds_per_step"] if step else float("inf")
    return min(by_steps, (config.stop.minutes or float("inf")) * 60) < SHORT_SECONDS
