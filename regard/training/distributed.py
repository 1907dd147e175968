"""The processes that train together. torch.distributed is used here and nowhere else.

Numbers, bytes and tensors go between them, never pickled objects. A process that joins gets a World; otherwise its
World has size 1. The first process (rank 0) decides, and broadcasts the next command to the others.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum

import torch
import torch.distributed as dist
from torch import Tensor, nn

from regard.model.blocks import Block

CPU = torch.device("cpu")
PATIENCE = timedelta(hours=2)  # that a process waits for another: reading and scoring may take long


class Command(IntEnum):
    """What rank 0 broadcasts to the others to do next."""

    END = 0
    STEP = 1
    REHEARSE = 2
    COOLDOWN = 4  # the learning rate falls to 0 from here on
    GATHER = 3  # put sharded weights and the optimizer's memory together, for the first to save


@dataclass(frozen=True)
class World:
    """The processes of a run, as one of them sees it."""

    rank: int = 0
    size: int = 1
    device: torch.device = CPU

    def sum(self, tensor: Tensor) -> Tensor:
        """The tensor becomes the sum of everybody's; and is given back."""
        if self.size > 1:
            dist.all_reduce(tensor)
        return tensor

    def broadcast(self, word: Command) -> None:
        """Called by rank 0."""
        if self.size > 1:
            dist.broadcast(torch.tensor([word], device=self.device), src=0)

    def receive(self) -> Command:
        """Waits for what the first process says."""
        received = torch.zeros(1, dtype=torch.int64, device=self.device)
        dist.broadcast(received, src=0)
        return Command(int(received))

    def broadcast_text(self, text: str) -> str:
        """What the first process has to say at length; the others give anything."""
        if self.size == 1:
            return text
        length = torch.tensor([len(text.encode())], device=self.device)
        dist.broadcast(length, src=0)
        content = torch.zeros(int(length), dtype=torch.uint8, device=self.device)
        if self.rank == 0 and len(content):
            content.copy_(torch.frombuffer(bytearray(text.encode()), dtype=torch.uint8))
        dist.broadcast(content, src=0)
        return bytes(content.tolist()).decode()


@dataclass(frozen=True)
class Place:
    """Which of how many processes this one is, and the file through which those of one machine find each other.

    Without a file they were started by torchrun (or anything else that sets RANK, WORLD_SIZE, MASTER_ADDR and
    MASTER_PORT), on one machine or many.
    """

    rank: int
    size: int
    rendezvous: str | None = None

    @classmethod
    def launched(cls) -> Place | None:
        """The rank and size in the environment, if they are of several processes."""
        size = int(os.environ.get("WORLD_SIZE", "1"))
        return cls(int(os.environ.get("RANK", "0")), size) if size > 1 else None


@contextmanager
def joined(place: Place, device: torch.device) -> Iterator[World]:
    """The world of all processes, once every one has come."""
    if device.type == "cuda":
        device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", place.rank)))
        torch.cuda.set_device(device)
    backend = "nccl" if device.type == "cuda" else "gloo"
    if place.rendezvous is None:
        dist.init_process_group(backend, timeout=PATIENCE)
    else:
        with _on_loopback():
            store = dist.FileStore(place.rendezvous, place.size)  # type: ignore[attr-defined]
            dist.init_process_group(backend, store=store, rank=place.rank, world_size=place.size, timeout=PATIENCE)
    try:
        yield World(place.rank, place.size, device)
    finally:
        dist.destroy_process_group()


@contextmanager
def _on_loopback() -> Iterator[None]:
    """Processes of one machine do not open a port to others."""
    name, before = "GLOO_SOCKET_IFNAME", os.environ.get("GLOO_SOCKET_IFNAME")
    loopback = [card for _, card in socket.if_nameindex() if card in ("lo", "lo0")]
    if loopback and before is None:
        os.environ[name] = loopback[0]
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)


def is_disconnected(world: World, problem: RuntimeError) -> bool:
    """Whether it failed because another process is gone."""
    message = str(problem).lower()
    is_network = isinstance(problem, dist.DistError) or any(word in message for word in ("gloo", "nccl", "connection"))
    return world.size > 1 and is_network


class Replicas:
    """Every process holds all weights. Gradients lie one after another in one tensor, so that one message sums them."""

    def __init__(self, model: nn.Module, world: World, numbers: int) -> None:
        """numbers: how many plain numbers are summed together with the gradients."""
        self._world, self._numbers = world, numbers
        self._parameters = [p for p in model.parameters() if p.requires_grad]
        first = self._parameters[0]
        total = sum(p.numel() for p in self._parameters)
        self._flat = torch.zeros(total + numbers, dtype=first.dtype, device=first.device)
        self._grads = self._flat[:total]

    def clear(self) -> None:
        """No gradient yet; what backward finds is added to it."""
        self._flat.zero_()
        start = 0
        for p in self._parameters:
            p.grad = self._flat[start : start + p.numel()].view_as(p)
            start += p.numel()

    def sum(self, numbers: list[float]) -> list[float]:
        """Everybody's gradients become the sum of all, and so do the numbers."""
        tail = self._flat[len(self._grads) :]
        tail.copy_(torch.tensor(numbers, dtype=self._flat.dtype))
        self._world.sum(self._flat)
        return [float(number) for number in tail.tolist()]

    def norm(self) -> float:
        """Of all gradients together."""
        return float(self._grads.norm())

    def scale(self, factor: float) -> None:
        """Makes all gradients larger or smaller."""
        self._grads.mul_(factor)


class Shards:
    """Every process holds a part of each weight (FSDP): for models that do not fit one device."""

    def __init__(self, loss_module: nn.Module, world: World) -> None:
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import FSDPModule, fully_shard

        self._world = world
        self._module = loss_module
        mesh = init_device_mesh(world.device.type, (world.size,))
        for module in loss_module.modules():
            if isinstance(module, Block):
                fully_shard(module, mesh=mesh)
        fully_shard(loss_module, mesh=mesh)
        for module in loss_module.modules():
            if isinstance(module, FSDPModule):
                module.set_gradient_divide_factor(1.0)  # sums, as everywhere here
                module.set_force_sum_reduction_for_comms(True)

    def clear(self) -> None:
        """No gradient yet."""
        for p in self._module.parameters():
            p.grad = None

    def sum(self, numbers: list[float]) -> list[float]:
        """Gradients were summed as they came; the numbers are now."""
        return self._world.sum(torch.tensor(numbers, dtype=torch.float64, device=self._world.device)).tolist()

    def norm(self) -> float:
        """Of all gradients together."""
        grads = [p.grad for p in self._module.parameters() if p.grad is not None]
        return float(whole(nn.utils.get_total_norm(grads)))

    def scale(self, factor: float) -> None:
        """Makes all gradients larger or smaller."""
        torch._foreach_mul_([p.grad for p in self._module.parameters() if p.grad is not None], factor)


def whole(tensor: Tensor) -> Tensor:
    """All of a tensor, if each process holds a part of it; every process must ask."""
    return tensor.full_tensor() if _is_part(tensor) else tensor  # type: ignore[attr-defined]


def part_like(tensor: Tensor, like: Tensor) -> Tensor:
    """Of a whole tensor, the part that this process holds of `like`; every process must ask."""
    if not _is_part(like) or tensor.ndim != like.ndim:
        return tensor
    from torch.distributed.tensor import distribute_tensor

    mesh, placements = like.device_mesh, like.placements  # type: ignore[attr-defined]
    return distribute_tensor(tensor.to(like.device), mesh, placements)


def _is_part(tensor: Tensor) -> bool:
    """Without importing the class, which takes a second: where there are parts it is imported already."""
    return type(tensor.data).__name__ == "DTensor"


def wholes(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """All of each tensor."""
    return {name: whole(tensor) for name, tensor in tensors.items()}
