"""L-BFGS for runs whose every step sees all examples: a convex loss reaches its minimum in some dozens of steps.

Knows gradients only, not the loss: whether a step went too far is seen by the slope at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

KEPT = 6  # steps that the curvature is estimated from
TOO_FAR = 0.9  # share of the slope at the beginning of a step that may stand against it at its end


class LBFGS(torch.optim.Optimizer):
    """Minimizes the loss plus weight_decay / 2 times the squared distance from the weights it begins with.

    Liu and Nocedal 1989. The memory is that of one flat vector of all weights, kept under the first of them.
    """

    def __init__(
        self, parameters: Iterable[Tensor], lr: float, weight_decay: float, times: Sequence[float] | None = None
    ) -> None:
        """times: how many times as much each parameter decays."""
        super().__init__(parameters, {"lr": lr, "weight_decay": weight_decay})
        (group,) = self.param_groups
        sizes = torch.tensor([p.numel() for p in group["params"]])
        self._decay = weight_decay * torch.tensor(times or [1.0] * len(sizes)).repeat_interleave(sizes)  # (n,)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """One step along the estimated Newton direction; or back, if the last one went too far."""
        (group,) = self.param_groups
        if not group["lr"]:
            return
        weights = torch.cat([p.flatten() for p in group["params"]])  # (n,)
        gradient = torch.cat([p.grad.flatten() for p in group["params"]])  # (n,)
        memory = self.state[group["params"][0]]
        if not memory:
            memory |= {"begin": weights.clone(), "moves": weights.new_zeros(0, len(weights)),
                       "changes": weights.new_zeros(0, len(weights))}  # fmt: skip
        gradient += self._decay.to(weights.device) * (weights - memory["begin"])
        if "weights" in memory:
            move, change = weights - memory["weights"], gradient - memory["gradient"]
            if move @ change > 1e-10 * (change @ change):
                memory["moves"] = torch.cat([memory["moves"], move[None]])[-KEPT:]
                memory["changes"] = torch.cat([memory["changes"], change[None]])[-KEPT:]
            down, up = float(-(memory["gradient"] @ move)), float(gradient @ move)
            if up > TOO_FAR * down:
                self._set(memory["weights"] + min(0.5, down / (down + up)) * move)
                return
        memory |= {"weights": weights, "gradient": gradient}
        self._set(weights - group["lr"] * _divide_by_curvature(gradient, memory["moves"], memory["changes"]))

    def continued(self, parameters: Iterable[Tensor], share: float) -> LBFGS:
        """Another for these weights, which are like its own but perhaps of another step: it decays to where its own
        began, by this share of the decay, and knows the curvature.
        """
        (group,) = self.param_groups
        found = LBFGS(parameters, group["lr"], share * group["weight_decay"])
        found._decay = share * self._decay
        memory = self.state[group["params"][0]]
        if memory:
            kept = {name: memory[name] for name in ("begin", "moves", "changes")}
            found.state[found.param_groups[0]["params"][0]] = kept
        return found

    @torch.no_grad()
    def settle(self) -> None:
        """Back to the last weights that are known not to be too far: what came of the last step was not tried."""
        memory = self.state[self.param_groups[0]["params"][0]]
        if "weights" in memory:
            self._set(memory["weights"])

    def _set(self, weights: Tensor) -> None:
        start = 0
        for p in self.param_groups[0]["params"]:
            p.copy_(weights[start : start + p.numel()].view_as(p))
            start += p.numel()


def _divide_by_curvature(gradient: Tensor, moves: Tensor, changes: Tensor) -> Tensor:
    """The gradient (n,) times the inverse of the Hessian, as estimated from how it changed, (kept, n), in moves."""
    found, pulls = gradient.clone(), []
    pairs = list(zip(moves, changes, strict=True))
    for move, change in reversed(pairs):
        pulls.append(move @ found / (move @ change))
        found -= pulls[-1] * change
    # Nothing is known of the curvature at first: a step of length 1.
    found *= moves[-1] @ changes[-1] / (changes[-1] @ changes[-1]) if pairs else 1 / max(float(gradient.norm()), 1e-12)
    for (move, change), pull in zip(pairs, reversed(pulls), strict=True):
        found += (pull - change @ found / (move @ change)) * move
    return found
