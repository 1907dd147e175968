"""The optimizer and its learning rate, which is a function of the step, and of where its end begins."""

import torch
from torch import nn

from regard.config import TrainConfig


def make_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Adam as in the paper (section 5.3). Only matrices decay: norms and biases have no size to keep small.

    Queries and keys may have a lower learning rate (see `set_learning_rate`).
    """
    groups = []
    for scale in sorted({1.0, config.attention_lr_scale}, reverse=True):
        named = [(name, p) for name, p in model.named_parameters() if p.requires_grad]
        here = [p for name, p in named if scale == (config.attention_lr_scale if _decides_where(name) else 1.0)]
        groups.append(
            {"params": [p for p in here if p.ndim > 1], "weight_decay": config.weight_decay, "lr_scale": scale}
        )
        groups.append({"params": [p for p in here if p.ndim <= 1], "weight_decay": 0.0, "lr_scale": scale})
    return torch.optim.AdamW(groups, lr=learning_rate(1, config), betas=(0.9, 0.98), eps=1e-9, fused=True)


def set_learning_rate(optimizer: torch.optim.Optimizer, learning_rate: float) -> None:
    """Sets the learning rate of every group, times its scale."""
    for group in optimizer.param_groups:
        group["lr"] = learning_rate * group.get("lr_scale", 1.0)


def _decides_where(name: str) -> bool:
    return any(part in {"query", "key", "patience"} for part in name.split("."))


def learning_rate(step: int, config: TrainConfig, cooldown: tuple[int, int] | None = None) -> float:
    """The learning rate of step `step` (the first is 1): warm-up, then the schedule.

    cooldown: after the first of these steps it falls in a straight line, and is 0 after the last.
    """
    if cooldown and step > cooldown[0]:
        first, last = cooldown
        return learning_rate(first, config) * max(0.0, (last + 1 - step) / (last + 1 - first))
    assert config.learning_rate is not None, "the learning rate is decided before the first step"
    warm = min(1.0, step / config.warmup_steps)
    match config.schedule:
        case "constant":
            return config.learning_rate * warm
        case "linear":
            assert config.decay_steps is not None, "checked with the settings"
            left = (config.decay_steps - step) / (config.decay_steps - config.warmup_steps)
            return config.learning_rate * max(0.0, min(warm, left))
        case "inverse-sqrt":
            return config.learning_rate * min(warm, (config.warmup_steps / max(step, 1)) ** 0.5)
