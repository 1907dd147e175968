"""The training loop: a generator of events. Prints nothing, saves nothing, knows no task.

Between two events the model and the optimizer are exactly those of `step`, so the reader may save them. Random
numbers are a function of (seed, step, part) and of nothing before, so a run can resume from any step, and who computes
a part does not change what is drawn for it.
"""

import math
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from regard.config import TrainConfig
from regard.data.batch import Batch
from regard.data.prefetch import Prefetcher
from regard.device import derive_seed, is_out_of_memory
from regard.errors import RunError
from regard.machine import held_memory, malloc_trim
from regard.model.blocks import Block
from regard.model.products import products_by_onednn
from regard.training.checkpoint import flatten_optimizer
from regard.training.diagnose import Diverged, first_bad_layer
from regard.training.distributed import Command, Replicas, Shards, World, wholes
from regard.training.lbfgs import LBFGS
from regard.training.optim import learning_rate, make_optimizer, set_learning_rate

RISE = 2.0  # a loss this many times that of the first step is worse than knowing nothing
MOST_SKIPPED = 5  # steps in a row
TRIM_EVERY = 50  # steps: oneDNN's buffers are of many sizes, and what lies free between them grows to hundreds of MB
MOST_MICRO_BATCHES = 256  # of a batch that does not fit into memory


B = TypeVar("B", bound=Batch)
Loss = Callable[[Any, B], tuple[Tensor, int]]  # -> (sum, count)


@dataclass(frozen=True)
class Progress:
    """One step was made."""

    step: int
    loss: float  # per label, in nats, label smoothing included
    learning_rate: float
    tokens: int
    seconds: float  # that this step took
    is_skipped: bool = False  # whether it was of no use, and left the weights alone
    micro_batches: int = 1  # of each batch; more after running out of memory
    left: float | None = None  # seconds until the run is over, if that can be known


@dataclass(frozen=True)
class Validated:
    """The model was tried on held-out text."""

    step: int
    scores: dict[str, float]  # the first is the one to go by
    samples: list[tuple[str, ...]] = field(default_factory=list)
    seconds: float = 0.0


class LossModule(nn.Module, Generic[B]):
    """A model with its loss as one module, so that FSDP has all weights gathered while the loss is computed."""

    def __init__(self, model: nn.Module, loss: Loss[B], autocast: torch.dtype | None) -> None:
        super().__init__()
        self.model, self.loss, self._autocast = model, loss, autocast

    def forward(self, batch: B) -> tuple[Tensor, int]:
        """batch -> the loss summed over all labels, and how many there are."""
        kind = next(self.model.parameters()).device.type
        with torch.autocast(kind, dtype=self._autocast, enabled=self._autocast is not None):
            return self.loss(self.model, batch)


class Trainer(Generic[B]):
    """What is trained, on what, and how far it got. Every process of a run has one, and all take the same steps."""

    def __init__(
        self,
        model: nn.Module,
        loss: Loss[B],
        batches: Callable[[int], B],
        config: TrainConfig,
        seed: int,
        *,
        cooled: Loss[B] | None = None,
        make_optimizer: Callable[[nn.Module, TrainConfig], torch.optim.Optimizer] = make_optimizer,
        world: World | None = None,
        is_sharded: bool = False,
        autocast: torch.dtype | None = None,
    ) -> None:
        """batches: the batch at a position. cooled: the loss in the cool-down, if it is another. The model has the
        weights to start from.
        """
        self.model, self.config, self.seed, self.world = model, config, seed, world or World()
        self.batches, self.parts, self.is_sharded = batches, config.grad_accumulation or self.world.size, is_sharded
        self.step = 0
        self.micro_batches = 1
        self.first_loss: float | None = None
        self.skipped = 0  # in a row
        self.cooldown: tuple[int, int] | None = None  # after and until which step the learning rate falls to 0
        self.memory = 0  # bytes that all processes together hold, as far as it was asked
        self.by_onednn = False  # which library multiplies matrices
        self._losses = (loss, cooled or loss)  # before the cool-down, and in it
        self._loss = LossModule(model, loss, autocast)
        self._gradients = Shards(self._loss, self.world) if is_sharded else Replicas(model, self.world, numbers=4)
        self.optimizer = make_optimizer(model, config)
        self._batches: Iterator[B] | None = None
        self.is_stepping = False  # the processes of a run are then in the middle of a step

    def check_within_steps(self, check: Callable[[], None]) -> None:
        """Calls it before and after every block, forward and backward: what it raises ends the step, whose update is
        not made. A step of a large model takes minutes.
        """

        def check_backward(_: nn.Module, __: Any, output: Tensor) -> None:
            check()
            if output.requires_grad:
                output.register_hook(lambda _: check())

        for module in self.model.modules():
            if isinstance(module, Block):
                module.register_forward_hook(check_backward)

    def train(self, due: Callable[[int], bool], score: Callable[[], Validated]) -> Iterator[Progress | Validated]:
        """Yields a step at a time; validates whenever it is due, before the next step."""
        while True:
            if due(self.step):
                yield score()
            self.world.broadcast(Command.STEP)
            yield self.make_step()

    def follow(self) -> None:
        """Does what the first process says, until it says that this was all."""
        while (word := self.world.receive()) != Command.END:
            match word:
                case Command.STEP:
                    self.make_step()
                case Command.REHEARSE:
                    self._rehearse(int(self.world.broadcast_text("")))
                case Command.COOLDOWN:
                    self._cool(self.world.broadcast_text(""))
                case Command.GATHER:
                    self._gather()

    def make_step(self, *, is_rehearsal: bool = False) -> Progress:
        """One update from the next `parts` batches; this process computes its share of them."""
        began = time.perf_counter()
        self.model.train()
        group, self.is_stepping = self._take(), True
        self._loss.loss = self._losses[self.cooldown is not None]
        while True:
            loss, labels, tokens, failed = self._gradients.sum(self._collect(group))
            if not failed:
                break
            self._split_further()
        self.step += 1
        loss, norm = (loss / labels, self._gradients.norm() / labels) if labels else (math.nan, 0.0)
        rate = 0.0 if is_rehearsal else learning_rate(self.step, self.config, self.cooldown)
        may_rise = isinstance(self.optimizer, LBFGS)  # which goes back by itself where a step went too far
        is_low = may_rise or loss <= RISE * (self.first_loss or loss)
        is_good = math.isfinite(loss) and math.isfinite(norm) and is_low
        if is_good:
            self.first_loss = self.first_loss or loss
            self._gradients.scale(min(1.0, self.config.max_grad_norm / (norm + 1e-6)) / labels)
            set_learning_rate(self.optimizer, rate)
            self.optimizer.step()
        self.skipped = 0 if is_good else self.skipped + bool(labels)  # without any label there is nothing to learn
        if self.skipped >= MOST_SKIPPED and not is_rehearsal:  # at a learning rate of 0, nothing diverges
            raise self._diagnose(group, loss, norm, rate)
        self.is_stepping = False
        if self.by_onednn and self.step % TRIM_EVERY == 0:
            malloc_trim()
        seconds = time.perf_counter() - began
        return Progress(self.step, loss, rate, round(tokens), seconds, not is_good, self.micro_batches)

    def rehearse(self, steps: int) -> list[Progress]:
        """Takes steps from here to see how long they take; nothing is left of them. Called by rank 0."""
        self.world.broadcast(Command.REHEARSE)
        self.world.broadcast_text(str(steps))
        return self._rehearse(steps)

    def cool(self, first: int, last: int) -> None:
        """From now on the learning rate falls, and is 0 after the last step. Called by rank 0."""
        self.world.broadcast(Command.COOLDOWN)
        self._cool(self.world.broadcast_text(f"{first} {last}"))

    def _cool(self, steps: str) -> None:
        first, last = map(int, steps.split())
        self.cooldown = (first, last)

    def state(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        """All weights, and the optimizer's memory, whole. Asked by the first process."""
        if self.is_sharded:
            self.world.broadcast(Command.GATHER)
        return self._gather()

    def _gather(self) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
        weights, memory = self.model.state_dict(), flatten_optimizer(self.optimizer)
        return (wholes(weights), wholes(memory)) if self.is_sharded else (weights, memory)

    def _take(self) -> list[B]:
        """This process's share of the next batches."""
        mine = range(self.world.rank, self.parts, self.world.size)
        if mine and self._batches is None:  # a run that was begun by fewer processes may have no part for this one
            self._batches = Prefetcher(self._make, (s * self.parts + part for s in count(self.step) for part in mine))
        return [next(self._batches) for _ in mine] if self._batches else []

    def _make(self, position: int) -> B:
        batch = self.batches(position)
        return batch.pinned() if self.world.device.type == "cuda" else batch

    def _collect(self, group: list[B]) -> list[float]:
        """Adds up gradients; what else is to be summed over all processes: loss, labels, tokens, failures."""
        self._gradients.clear()
        total, labels = 0.0, 0
        try:
            for number, batch in enumerate(group):
                part = self.world.rank + number * self.world.size
                torch.manual_seed(derive_seed(self.seed, "step", self.step + 1, part))
                for micro_batch in batch.split(self.micro_batches) if self.micro_batches > 1 else [batch]:
                    # Where memory did not suffice, it is not for oneDNN's buffers, nor are products large any more.
                    with products_by_onednn(self.by_onednn and self.micro_batches == 1):
                        summed, count_ = self._loss(micro_batch.to(self.world.device))
                        summed.backward()
                    total, labels = total + summed.item(), labels + count_
        except (RuntimeError, MemoryError) as problem:
            if self.is_sharded or not is_out_of_memory(problem):
                raise  # others wait in the middle of a sharded step; only a smaller batch from the start helps them
            return [0.0, 0.0, 0.0, 1.0]
        return [total, labels, sum(batch.tokens for batch in group), 0.0]

    def _split_further(self) -> None:
        """Computes each batch in twice as many micro-batches from now on; what is learned from it stays the same."""
        self.micro_batches *= 2
        if self.micro_batches > MOST_MICRO_BATCHES:
            raise RunError(
                "memory does not suffice for a batch of one row; begin again (--fresh) with a smaller --size, "
                "text.max_length or, of a writer, model.max_positions"
            )

    def _rehearse(self, steps: int) -> list[Progress]:
        made = [self.make_step(is_rehearsal=True) for _ in range(steps)]
        self.optimizer.state.clear()  # at a learning rate of 0, the weights are as they were
        self.step, self.first_loss, self.skipped, self._batches = 0, None, 0, None
        self.memory = int(self.world.sum(torch.tensor([held_memory()], device=self.world.device)))
        return made

    def _diagnose(self, group: list[B], loss: float, norm: float, rate: float) -> Diverged:
        layer = "not looked for" if self.is_sharded else "none here: this process computed no part"
        if group and not self.is_sharded:
            batch = group[0].to(self.world.device)
            layer = first_bad_layer(self.model, lambda: self._loss(batch)[0])
        return Diverged(self.step, loss, norm, rate, layer, group[0] if group else None)


def average(models: Iterable[dict[str, Tensor]]) -> dict[str, Tensor]:
    """The mean of several sets of weights, added up in double precision so that the order does not show."""
    total: dict[str, Tensor] = {}
    count = 0
    for weights in models:
        count += 1
        for name, tensor in weights.items():
            total[name] = total[name] + tensor.double() if name in total else tensor.double()
    return {name: (tensor / count).float() for name, tensor in total.items()}


def is_milestone(step: int, *, per_doubling: int, first: int, widest: int | None) -> bool:
    """True this many times (a power of two) each time a run doubles in length: often at first, rarer later.

    Not before step `first`, and at least every `widest` steps.
    """
    spacing = max(1, 2 ** (step.bit_length() - 1) // per_doubling)
    return step >= first and step % min(spacing, widest or spacing) == 0
