"""Which library multiplies matrices in training: on some processors oneDNN is twice as fast as torch's choice.

On processors of AMD, MKL does without AVX-512. oneDNN uses it, but torch asks it for products of float32 only where
less precision is allowed (`fp32_precision`). It is computed as float32 all the same where the processor has no units
for less (tested once), so nothing is lost.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

import torch
from torch import Tensor

from regard.machine import name_processor

CAPACITY = "ONEDNN_PRIMITIVE_CACHE_CAPACITY"
EXACT = 1e-6  # relative difference from a product in double precision


class _Chosen:
    """The library of the moment, in this process: torch's own choice, or oneDNN."""

    is_onednn = False
    before = "none"  # fp32_precision as it was found


@cache
def onednn_is_better() -> bool:
    """Whether oneDNN multiplies float32 faster here, and as exactly. Follows from the processor alone."""
    has_width = getattr(torch.backends.cpu, "get_cpu_capability", str)() == "AVX512"
    if "AMD" not in name_processor() or not has_width or not hasattr(_matmul(), "fp32_precision"):
        return False
    generator = torch.Generator().manual_seed(0)
    a, b = (torch.randn(256, 256, generator=generator) for _ in range(2))
    with products_by_onednn(True), _few_kept():
        found = (a @ b).double()
    true = a.double() @ b.double()
    return bool((found - true).norm() < EXACT * true.norm())


@contextmanager
def products_by_onednn(wanted: bool) -> Iterator[None]:
    """While inside, oneDNN multiplies matrices, if wanted. A product of a shape it has not seen costs half a
    millisecond, so this is for steps of training, not for decoding.
    """
    before = _Chosen.is_onednn
    _choose(wanted)
    try:
        yield
    finally:
        _choose(before)


def apart(kernel: Any, *tensors: Tensor) -> Tensor:
    """kernel(*tensors), whose many small products oneDNN would slow down, computed and differentiated without it."""
    return _Apart.apply(kernel, *tensors) if _Chosen.is_onednn else kernel(*tensors)  # type: ignore[no-untyped-call]


class _Apart(torch.autograd.Function):
    """Its own little graph, so that going back through it is without oneDNN too."""

    @staticmethod
    def forward(ctx: Any, kernel: Any, *tensors: Tensor) -> Tensor:
        inside = [tensor.detach().requires_grad_() for tensor in tensors]
        with products_by_onednn(False), torch.enable_grad():
            output = kernel(*inside)
        ctx.inside, ctx.output = inside, output
        return output.detach()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        with products_by_onednn(False):
            return None, *torch.autograd.grad(ctx.output, ctx.inside, grad)


@contextmanager
def _few_kept() -> Iterator[None]:
    """For the first product of a process: oneDNN keeps what it has generated for so many shapes. Those of batches
    hardly ever return, and for a thousand of them, its default, it holds 300 MB.
    """
    before = os.environ.get(CAPACITY)
    os.environ.setdefault(CAPACITY, "32")
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(CAPACITY, None)


def _choose(is_onednn: bool) -> None:
    if is_onednn == _Chosen.is_onednn:
        return
    library = _matmul()
    if is_onednn:
        _Chosen.before = library.fp32_precision
    library.fp32_precision = "bf16" if is_onednn else _Chosen.before
    _Chosen.is_onednn = is_onednn


def _matmul() -> Any:
    return getattr(torch.backends.mkldnn, "matmul", None)
