"""The processes of a run: how each sets itself up, how others are started on this machine, and how they follow.

What a process needs is in the run's folder (settings, tokenizer, encoded text, saved state); the first process only
sends the others the settings and the step. So it makes no difference who started them, or where.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import torch

from regard.config import RunConfig, change, resolve
from regard.data.store import TokenStore, open_tensors
from regard.device import choose_device, derive_seed, deterministic, memory_of
from regard.errors import ConfigError, RunError
from regard.folder import RUN
from regard.formats.tokenizers import read_tokenizer
from regard.machine import child_environment
from regard.model.products import onednn_is_better
from regard.text.tokenizer import Tokenizer
from regard.training.checkpoint import CheckpointStore, TrainState, restore_optimizer, restore_weights
from regard.training.diagnose import Diverged
from regard.training.distributed import Command, Place, World, joined
from regard.training.forked import ForkedWorker
from regard.training.loop import Trainer
from regard.training.recipe import Check, Recipe, TrainBatches
from regard.training.record import START, STATE

LEAST_TOKENS = 1024  # of a part of a batch, for products by oneDNN
BYTES_PER_WEIGHT = 16  # the weight, its gradient, and Adam's two numbers
READY_SECONDS = 300  # that starting a process may take
AUTOCAST = {"float32": None, "bfloat16": torch.bfloat16, None: None}


def set_up(
    run: Path, task: Recipe, config: RunConfig, tokenizer: Tokenizer, state: TrainState, world: World
) -> tuple[Trainer[Any], TrainBatches]:
    """A trainer at the run's current step, and its batches."""
    begin = open_tensors(run / START)[0] if (run / START).exists() else {}
    known = {f"start.{name}": begin[name].numpy() for name in task.kept_by_batches if name in begin}
    batches = task.batches(TokenStore(run).arrays() | known, tokenizer, config)
    store = CheckpointStore(run / STATE)
    torch.manual_seed(derive_seed(config.seed, "weights"))
    model = task.build(config.model, tokenizer)
    if state.step:
        restore_weights(model, store.get("weights", state.step))
    elif begin:
        restore_weights(model, model.state_dict() | begin)  # what is not there is fresh
    if world.size > 1 and config.shard and (config.train.grad_accumulation or world.size) % world.size:
        raise ConfigError(f"train.grad_accumulation={config.train.grad_accumulation} cannot be shared equally by "
                          f"{world.size} workers, as a sharded run must; set train.grad_accumulation="
                          f"{world.size}")  # fmt: skip
    is_sharded = world.size > 1 and _decide_shard(config, sum(p.numel() for p in model.parameters()))
    first = change(config, {"train": {"r_drop": 0.0}}) if config.train.cooldown else config
    trainer: Trainer[Any] = Trainer(
        model if is_sharded else model.to(world.device), task.loss(first), batches.batch, config.train, config.seed,
        cooled=task.loss(config), make_optimizer=task.optimizer, world=world, is_sharded=is_sharded,
        autocast=AUTOCAST[config.precision],
    )  # fmt: skip
    if state.step:
        restore_optimizer(trainer.optimizer, store.get("optimizer", state.step))
    trainer.step, trainer.micro_batches, trainer.first_loss = state.step, state.micro_batches, state.first_loss
    trainer.cooldown, trainer.by_onednn = state.cooldown, wants_onednn(task, config, world)
    return trainer, batches


def follow(folder: Path, place: Place, device: str) -> dict[str, Any]:
    """Trains along with the first process until it ends the run; returns its summary.

    Only the first process handles signals.
    """
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    with joined(place, choose_device(device)) as world:
        while message := json.loads(world.broadcast_text("")):
            if "config" not in message:
                return dict(message)
            recipe: Recipe = resolve_name(message["recipe"])
            config, state = resolve(message["config"], recipe.config), TrainState.model_validate(message["state"])
            tokenizer: Any = read_tokenizer(folder / RUN, rows=config.model.vocab_size)
            with deterministic(config.threads or 1):
                trainer, _ = set_up(folder / RUN, recipe, config, tokenizer, state, world)
                try:
                    trainer.follow()
                except Diverged:
                    continue  # the first process says so, once
        return {}


def wants_onednn(task: Recipe, config: RunConfig, world: World) -> bool:
    """Whether products are large enough for what oneDNN costs each, and it is better here."""
    is_large = (
        "train.tokens_per_batch" in task.uses[config.model.kind]
        and config.train.share(config.train.tokens_per_batch) >= LEAST_TOKENS
    )
    return is_large and world.device.type == "cpu" and onednn_is_better()


def _decide_shard(config: RunConfig, weights: int) -> bool:
    """As it was asked for; else whether a model of this many weights is too large for one device."""
    if config.shard is not None:
        return config.shard
    return BYTES_PER_WEIGHT * weights > memory_of(choose_device(config.device))


class LocalWorkers:
    """Processes on this machine that help this one; it is the first of them."""

    def __init__(self, folder: Path, size: int, device: torch.device, forked: list[ForkedWorker]) -> None:
        """forked: workers to take; missing ones are started anew."""
        self._device, self._size, self._forked = device, size, forked
        self._stack = ExitStack()
        place = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="regard-")))
        self._logs = [place / f"{rank}.log" for rank in range(1, size)]
        self._processes = [self._start(folder, rank, place) for rank in range(1, size)]
        try:
            self._await(place)
            self.world = self._stack.enter_context(joined(Place(0, size, str(place / "rendezvous")), device))
        except BaseException:
            self.close(is_healthy=False)
            raise

    def close(self, *, is_healthy: bool) -> None:
        """Waits until the others have exited; if one of them failed, ends them at once."""
        for process in self._processes:
            try:
                process.wait(timeout=30 if is_healthy else 0.1)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes = []
        with suppress(RuntimeError):  # the others may be gone already, and the group with them
            self._stack.close()

    def failed(self) -> str | None:
        """What became of the first process that is no longer there, if one is not."""
        for rank, process in enumerate(self._processes, start=1):
            try:
                code = process.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                continue
            words = self._logs[rank - 1].read_text(errors="replace").strip().splitlines()
            how = f"signal {-code}" if code < 0 else f"exit {code}"
            return f"worker {rank} ended ({how}){': ' + words[-1] if words else ''}"
        return None

    def _start(self, folder: Path, rank: int, place: Path) -> subprocess.Popen[bytes] | ForkedWorker:
        words = [str(folder), str(rank), str(self._size), str(place), self._device.type]
        while self._forked:
            taken = self._forked.pop()
            if taken.poll() is None:
                taken.start(words, self._logs[rank - 1])
                return taken
            taken.dismiss()  # it was killed meanwhile
        with self._logs[rank - 1].open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "regard.training.workers", *words],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=child_environment(),
            )  # fmt: skip

    def _await(self, place: Path) -> None:
        """Waits until every process has started, so that none waits for one that never will."""
        began = time.monotonic()
        while not all((place / f"{rank}.ready").exists() for rank in range(1, self._size)):
            if (
                any(process.poll() is not None for process in self._processes)
                or time.monotonic() - began > READY_SECONDS
            ):
                raise RunError(f"the workers could not be started: {self.failed() or 'they are not ready'}; "
                               f"train with --workers 1")  # fmt: skip
            time.sleep(0.02)


class WorkerGroup:
    """A trainer, and those who train along with it, if there are any."""

    def __init__(
        self, run: Path, task: Recipe, config: RunConfig, tokenizer: Tokenizer, state: TrainState,
        check: Check, launched: World | None = None, forked: list[ForkedWorker] | None = None,
    ) -> None:  # fmt: skip
        """check: raises Stopped if a stop was requested; launched: the world, if a launcher started its processes;
        forked: workers to use if one thread is enough for each: torch's threads do not outlive a fork.
        """
        assert config.workers is not None and config.threads is not None, "decided before"
        self.is_followed, self.is_healthy = (
            True,
            True,
        )  # whether the others wait for a command, and can receive one
        self.summary: dict[str, Any] = {}
        device = choose_device(config.device)
        self._local = None
        if launched is None and config.workers > 1:
            self._local = LocalWorkers(
                run.parent, config.workers, device, (forked or []) if config.threads == 1 else []
            )
        self.world = self._local.world if self._local else launched or World(device=device)
        torch.set_num_threads(config.threads)
        message = {
            "recipe": task.where,
            "config": config.model_dump(mode="json"),
            "state": state.model_dump(mode="json"),
        }
        try:
            self.world.broadcast_text(json.dumps(message))
            self.trainer, self.batches = set_up(run, task, config, tokenizer, state, self.world)
            if launched is None and not self.trainer.is_sharded:  # others cannot be stopped in the middle of a step
                self.trainer.check_within_steps(check)
        except BaseException:
            self.is_healthy = False
            self.close()
            raise
        self.config = change(config, {"shard": self.trainer.is_sharded})

    def close(self) -> None:
        """The run is over: the other processes are notified, and exit."""
        if self.is_healthy:
            if self.is_followed:
                self.world.broadcast(Command.END)
            self.world.broadcast_text(json.dumps(self.summary))
        if self._local:
            self._local.close(is_healthy=self.is_healthy)

    def failed(self) -> str | None:
        """What became of a process that is no longer there, if one is not."""
        return self._local.failed() if self._local else None


def load_all() -> None:
    """Loads what every process of a run needs and torch loads only when it is first used: 70 MB that those who are
    forked afterwards share.
    """
    with deterministic(1):
        torch.optim.AdamW([torch.nn.Parameter(torch.zeros(1))], fused=True)


def work(words: list[str]) -> None:
    """One process of several, started by its first."""
    folder, rank, size, rendezvous, device = words
    place = Path(rendezvous)
    (place / f"{rank}.ready").touch()
    follow(Path(folder), Place(int(rank), int(size), str(place / "rendezvous")), device)


if __name__ == "__main__":
    work(sys.argv[1:])
