"""The training loop: a generator of events. Prints nothing, saves nothing, knows no task.

Between two events the model and the optimizer are exactly those of `step`, so the reader may save them. Random
numbers are a function of (seed, step) and of nothing before, so a run can go on from any step.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypeVar

import torch
from torch import Tensor, nn

from regard.config import TrainConfig
from regard.device import derive_seed
from regard.trainer.optim import learning_rate, set_rate


class Batch(Protocol):
    """What one forward is computed on."""

    @property
    def tokens(self) -> int:
        """Tokens that are not padding."""
        ...

    def to(self, device: torch.device) -> Self:
        """The same batch on a device."""
        ...


B = TypeVar("B", bound=Batch)
Loss = Callable[[nn.Module, B], tuple[Tensor, int]]  # -> (sum, count)


@dataclass(frozen=True)
class Progress:
    """One step was made."""

    step: int
    loss: float  # per label, in nats, label smoothing included
    rate: float
    tokens: int
    seconds: float  # that this step took


@dataclass(frozen=True)
class Scored:
    """The model was tried on held-out text."""

    step: int
    scores: dict[str, float]  # the first is the one to go by
    samples: list[tuple[str, ...]] = field(default_factory=list)
    seconds: float = 0.0


@dataclass
class Trainer(Generic[B]):
    """What is trained, on what, and how far it got."""

    model: nn.Module
    optimizer: torch.optim.Optimizer
    loss: Loss[B]
    config: TrainConfig
    seed: int
    step: int = 0

    def train(
        self, batches: Iterable[B], due: Callable[[int], bool], score: Callable[[], Scored]
    ) -> Iterator[Progress | Scored]:
        """Steps for as long as there are batches and somebody asks; scores whenever it is due, before the next step."""
        source = iter(batches)
        while True:
            if due(self.step):
                yield score()
            group = [batch for _, batch in zip(range(self.config.accumulate), source, strict=False)]
            if not group:
                return
            yield self._make_step(group)

    def _make_step(self, batches: list[B]) -> Progress:
        began = time.perf_counter()
        self.model.train()
        self.step += 1
        torch.manual_seed(derive_seed(self.seed, "step", self.step))
        device = next(self.model.parameters()).device
        total, count = 0.0, 0
        for batch in batches:
            summed, labels = self.loss(self.model, batch.to(device))
            summed.backward()
            total, count = total + summed.item(), count + labels
        rate = learning_rate(self.step, self.config)
        self._update(rate, count)
        return Progress(self.step, total / count, rate, sum(b.tokens for b in batches), time.perf_counter() - began)

    def _update(self, rate: float, count: int) -> None:
        """One step down the gradient of the mean: sums were collected, so one division by all labels is enough."""
        parameters = [p for p in self.model.parameters() if p.grad is not None]
        torch._foreach_div_([p.grad for p in parameters if p.grad is not None], count)
        nn.utils.clip_grad_norm_(parameters, self.config.clip)
        set_rate(self.optimizer, rate)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)


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
