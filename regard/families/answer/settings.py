"""Settings of an answerer: which there are, kinds and sizes of networks."""

from __future__ import annotations

from regard.config import Settings
from regard.training.settings import BLOCKS, EVERY, setting_names

KINDS: dict[str, Settings] = {
    "transformer": {
        "model": {"norm": "pre", "activation": "relu", "heads": 2, "dropout": 0.0, "max_positions": 384},
        "train": {"learning_rate": 0.002, "warmup_steps": 200, "attention_lr_scale": 0.1, "weight_decay": 0.01,
                  "time_noise": 0.1, "questions_per_batch": 64, "exchange_words": 1.0},
    },
    "memory": {
        "model": {"heads": 1, "restarts": 10, "dropout": 0.0, "tying": "adjacent", "max_positions": 76},
        "train": {"learning_rate": 0.01, "warmup_steps": 100, "linear_start": 48, "time_noise": 0.2,
                  "max_grad_norm": 1000.0},
    },
}  # fmt: skip

SIZES: dict[str, Settings] = {
    "tiny": {"model": {"width": 40, "ffn_width": 80, "layers": 1, "hops": 3}},
    "small": {"model": {"width": 64, "ffn_width": 128, "layers": 1, "hops": 3}},
    "base": {"model": {"width": 128, "ffn_width": 256, "layers": 2, "hops": 3}},
    "big": {"model": {"width": 256, "ffn_width": 512, "layers": 2, "hops": 4}},
}

# Of each kind: the size, and how long it is trained: epochs, but at least so many updates.
LENGTHS = {"memory": ("tiny", 120, 0), "transformer": ("small", 20, 3000)}

OWN = setting_names(model="hops", train="held_out time_noise unanswerable exchange_words questions_per_batch")
USES = {
    "memory": EVERY | OWN | setting_names(model="tying controller restarts", train="linear_start"),
    "transformer": BLOCKS | OWN,
}
