"""The end of a run: the learning rate falls to 0, and a run that is extended is the run that was asked for at once."""

import itertools

import pytest
from conftest import SHORT

import regard
from regard.config import RunConfig, TrainConfig, change, merge, resolve
from regard.files import hash_file
from regard.training.checkpoint import TrainState
from regard.training.cooldown import begin_cooldown, updates_left
from regard.training.loop import Progress
from regard.training.optim import learning_rate

STEPS = 24


def run_config(**stop: float) -> RunConfig:
    return resolve({"train": {"cooldown": 0.25}, "stop": stop})


def test_the_rate_falls_in_a_straight_line_and_the_schedule_before_it_stays():
    config = TrainConfig(learning_rate=0.01, warmup_steps=10)
    rates = [learning_rate(step, config, (60, 99)) for step in range(1, 101)]
    assert rates[:60] == [learning_rate(step, config) for step in range(1, 61)]
    falls = {round(before - after, 9) for before, after in itertools.pairwise(rates[59:])}
    assert len(falls) == 1
    assert rates[98] > 0 == rates[99]


@pytest.mark.parametrize(
    ("stop", "seconds", "expected"),
    [
        ({"steps": 136}, 50.0, None),
        ({"steps": 133}, 50.0, (100, 133)),
        ({"epochs": 13}, 50.0, (100, 130)),
        ({"minutes": 2}, 89.9, None),
        ({"minutes": 2}, 90.0, (100, 133)),
        ({"minutes": 2, "steps": 120}, 50.0, (100, 120)),
    ],
)
def test_it_begins_when_its_share_of_the_run_is_left(stop, seconds, expected):
    state = TrainState(step=100, seconds=seconds)
    assert begin_cooldown(run_config(**stop), state, batches_per_epoch=10) == expected


def test_updates_that_take_twice_as_long_are_counted_twice_in_the_time_that_is_left():
    config, state = change(run_config(minutes=2), {"train": {"r_drop": 5}}), TrainState(step=100, seconds=90.0)
    assert begin_cooldown(config, state, batches_per_epoch=10) == (100, 116)
    assert updates_left(config, TrainState(step=60), 100) == 40 + 25
    assert updates_left(config, TrainState(step=90, cooldown=(75, 100)), 100) == 10


def test_it_begins_where_validation_no_longer_gets_better_and_only_once():
    config, state = run_config(epochs=100, patience=3), TrainState(step=90, seconds=9.0)
    assert begin_cooldown(config, state, 10) is None
    assert begin_cooldown(config, state, 10, is_stalled=True) == (90, 120)
    cooling = state.model_copy(update={"cooldown": (90, 120), "step": 119})
    assert begin_cooldown(config, cooling, 10, is_stalled=True) is None


def settings(steps: int = STEPS, r_drop: float = 5.0) -> dict:
    own = {"model": {"dropout": 0.1}, "train": {"cooldown": 0.5, "r_drop": r_drop}, "stop": {"steps": steps}}
    return merge(SHORT, own)


def trained(to, pairs, **given) -> tuple[list[Progress], str]:
    events = list(regard.training("translate", to=to, settings=settings(**given), **pairs))
    return [event for event in events if isinstance(event, Progress)], hash_file(to / "model.safetensors")


@pytest.fixture(scope="module")
def whole(tmp_path_factory, pairs):
    return trained(tmp_path_factory.mktemp("cooled") / "m", pairs)


def test_a_run_ends_at_a_rate_of_almost_nothing(whole):
    rates = [event.learning_rate for event in whole[0]]
    assert len(rates) == STEPS
    assert rates[-1] == pytest.approx(rates[STEPS // 2 - 1] / (STEPS // 2 + 1))


def test_r_drop_is_of_the_cooldown_alone(whole, tmp_path, pairs):
    plain, _ = trained(tmp_path / "m", pairs, r_drop=0.0)
    same = [one.loss == other.loss for one, other in zip(plain, whole[0], strict=True)]
    assert same == [True] * (STEPS // 2) + [False] * (STEPS // 2)


@pytest.mark.parametrize("stop_after", [12, 20])
def test_a_run_stopped_in_its_cooldown_resumes_bit_for_bit(whole, tmp_path, pairs, stop_after):
    for event in regard.training("translate", to=tmp_path / "m", settings=settings(), **pairs):
        if isinstance(event, Progress) and event.step >= stop_after:
            break
    assert trained(tmp_path / "m", pairs)[1] == whole[1]


def test_more_steps_go_back_to_where_the_cooldown_began(whole, tmp_path, pairs):
    trained(tmp_path / "m", pairs, steps=10)
    events, weights = trained(tmp_path / "m", pairs)
    assert events[0].step == 6
    assert weights == whole[1]
    assert trained(tmp_path / "m", pairs) == ([], weights)  # with the same limits there is nothing left to do
