"""The optimizer and its learning rate, which is a function of the step alone."""

import torch
from torch import nn

from regard.config import TrainConfig


def make_optimizer(model: nn.Module, config: TrainConfig) -> torch.optim.Optimizer:
    """Adam as in the paper (section 5.3). Only matrices decay: norms and biases have no size to keep small."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [
        {"params": [p for p in parameters if p.ndim > 1], "weight_decay": config.weight_decay},
        {"params": [p for p in parameters if p.ndim <= 1], "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=learning_rate(1, config), betas=(0.9, 0.98), eps=1e-9, fused=True)


def learning_rate(step: int, config: TrainConfig) -> float:
    """The rate of the update that makes step `step` (the first is 1): warm-up, then as the schedule says."""
    assert config.rate is not None, "the rate is decided before the first step"
    warm = min(1.0, step / config.warmup)
    match config.schedule:
        case "constant":
            return config.rate * warm
        case "inverse-sqrt":
            return config.rate * min(warm, (config.warmup / max(step, 1)) ** 0.5)
