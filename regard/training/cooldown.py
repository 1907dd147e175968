"""The end of a run, in which the learning rate falls to 0: when it begins, and how long it takes."""

from __future__ import annotations

from typing import NamedTuple

from regard.config import RunConfig
from regard.training.checkpoint import TrainState
from regard.training.plan import cooldown_cost, last_step


class Cooldown(NamedTuple):
    """The updates between which the learning rate falls to 0: after `first`, until `last`."""

    first: int
    last: int


def begin_cooldown(
    config: RunConfig, state: TrainState, batches_per_epoch: int, *, is_stalled: bool = False
) -> Cooldown | None:
    """The cool-down, if it is time for it: the share `train.cooldown` of the run is left, or validation no longer gets
    better (is_stalled). A limit of time is taken for as many updates as fit in, at the pace of the run so far.
    """
    share, step, stop = config.train.cooldown, state.step, config.stop
    if not share or not step or state.cooldown:
        return None
    length = max(1, round(step * share / (1 - share))) if is_stalled else None
    left = [] if length is None else [length]
    is_time = is_stalled
    if end := last_step(config, batches_per_epoch):
        is_time |= step >= round((1 - share) * end)
        left.append(end - step)
    if stop.minutes:
        seconds = stop.minutes * 60
        is_time |= state.seconds >= (1 - share) * seconds
        left.append(int((seconds - state.seconds) / (cooldown_cost(config.train) * state.seconds / step)))
    return Cooldown(step, step + max(1, min(left))) if is_time and left else None


def updates_left(config: RunConfig, state: TrainState, end: int) -> float:
    """Updates until the end of the run, each counted by what it costs beside those of now."""
    cost, left = 1 if state.cooldown else cooldown_cost(config.train), end - state.step
    return left + (cost - 1) * min(left, config.train.cooldown * end)
