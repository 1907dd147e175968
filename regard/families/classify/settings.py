"""Settings of a classifier: which there are, kinds and sizes of networks, and how long it is trained."""

from __future__ import annotations

from regard.config import Settings
from regard.training.settings import EVERY, setting_names

KINDS: dict[str, Settings] = {
    "ngrams": {
        "model": {"heads": 1, "dropout": 0.1},
        "text": {"tokenizer": "word", "lowercase": True},
        # With Adam's usual epsilon, n-grams that occur once would weigh as much as those that occur often.
        "train": {"learning_rate": 0.02, "adam_epsilon": 1e-3, "warmup_steps": 50, "schedule": "linear",
                  "label_smoothing": 0.0, "max_grad_norm": 1000.0, "average_checkpoints": 3},
    },
}  # fmt: skip

SIZES: dict[str, Settings] = {
    "tiny": {"model": {"width": 16, "buckets": 2**18}},
    "small": {"model": {"width": 32, "buckets": 2**19}},
    "base": {"model": {"width": 64, "buckets": 2**20}},
    "big": {"model": {"width": 128, "buckets": 2**21}},
}

EPOCHS, LEAST_STEPS, MOST_STEPS = 12, 400, 12_000  # of a run where nothing else is asked for

OWN = setting_names(model="buckets dropout", train="held_out texts_per_batch")
USES = dict.fromkeys(KINDS, (EVERY | OWN) - setting_names(model="max_positions"))
