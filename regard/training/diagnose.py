"""Why a training went wrong: where in the network numbers first get out of hand."""

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

HUGE = 1e5  # no value of a healthy network is near it


class Diverged(Exception):  # noqa: N818  caught where the message is made
    """Several steps in a row diverged; none of them changed the weights."""

    def __init__(self, step: int, loss: float, norm: float, learning_rate: float, layer: str, batch: Any) -> None:
        super().__init__(f"diverged at step {step}")
        self.step, self.loss, self.norm, self.learning_rate, self.layer, self.batch = (
            step,
            loss,
            norm,
            learning_rate,
            layer,
            batch,
        )

    def explain(self, skipped: int, first_loss: float, peak: float, text: str, good_step: int) -> str:
        """What went wrong and what to do, for a person. text: of its batch."""
        return (
            f"training diverged: {skipped} steps in a row up to step {self.step} were of no use and skipped "
            f"(loss {self.loss:.4g}, at first {first_loss:.4g}; gradient {self.norm:.3g}). "
            f"Learning rate: {self.learning_rate:.3g}, peak {peak:.3g}. First bad layer: {self.layer}. "
            f"The batch has texts such as {text[:80]!r}. The last good state is step {good_step}. "
            f"Start over with a lower learning rate: --fresh --set train.learning_rate={peak / 4:.2g}"
        )


def first_bad_layer(model: nn.Module, loss: Callable[[], Tensor]) -> str:
    """The first layer whose output is not finite or huge; else the one whose gradient is; else says there is none."""
    found: list[str] = []

    def check_finite(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, given: Any, output: Any) -> None:
            if isinstance(output, Tensor) and output.is_floating_point() and not found:
                largest = _largest(output)
                if not largest < HUGE:
                    found.append(f"{name} (its largest output is {largest:.3g})")

        return hook

    inner = [(name, module) for name, module in model.named_modules() if name and not list(module.children())]
    hooks = [module.register_forward_hook(check_finite(name)) for name, module in inner]
    try:
        model.zero_grad(set_to_none=True)
        loss().backward()
    except RuntimeError as problem:
        found.append(f"unknown, for it cannot be computed again ({problem})")
    finally:
        for hook in hooks:
            hook.remove()
    grads = ((name, _largest(p.grad)) for name, p in model.named_parameters() if p.grad is not None)
    found += [f"{name} (its largest gradient is {largest:.3g})" for name, largest in grads if not largest < HUGE]
    model.zero_grad(set_to_none=True)
    return found[0] if found else "none: all outputs and gradients are of ordinary size"


def _largest(tensor: Tensor) -> float:
    if not tensor.numel():
        return 0.0
    with torch.no_grad():
        return float(tensor.abs().max()) if bool(torch.isfinite(tensor).all()) else math.nan
