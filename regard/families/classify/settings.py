"""Settings of a classifier: which there are, kinds and sizes of networks, and how long it is trained."""

from __future__ import annotations

from regard.config import Settings
from regard.training.settings import EVERY, STACKED, setting_names

KINDS: dict[str, Settings] = {
    "ngrams": {
        "model": {"heads": 1, "dropout": 0.0},
        "text": {"tokenizer": "word", "lowercase": True},
        "train": {"learning_rate": 1.0, "warmup_steps": 1, "schedule": "constant", "label_smoothing": 0.0,
                  "max_grad_norm": 1e9, "average_checkpoints": 1},
    },
    "bert": {
        "train": {"schedule": "constant", "cooldown": 0.9, "label_smoothing": 0.0, "weight_decay": 0.01,
                  "average_checkpoints": 1},
    },
}  # fmt: skip

SIZES: dict[str, Settings] = {
    "tiny": {"model": {"buckets": 2**15}},
    "small": {"model": {"buckets": 2**17}},
    "base": {"model": {"buckets": 2**19}},
    "big": {"model": {"buckets": 2**21}},
}

LEAST_WIDTH, MOST_WIDTH = 4, 64  # dimensions; as many as labels between them
MOST_WEIGHTS = 2**25  # of a table, unless a size is asked for
MOST_LOGITS = 2**25  # of a step that is not computed in parts, for each of two workers
NGRAMS = 3  # different ones for each word of the training text, or more
DECAY = 0.1  # weight decay of a run, times its number of texts: logistic regression with C=10
FIRM = 1000.0  # times as much as the table, the bias of a model that is fine-tuned decays to what it was
STEPS = 60

TABLE_RATE, ENCODER_RATE = 1.0, 0.04  # learning rates of fine-tuning; of an encoder times 1 / width, 1e-4 at 384
EPOCHS, MANY_TEXTS, MINUTES = 4, 20_000, 10.0  # of an encoder; of so many texts, half the epochs
TOKENS, TOKENS_OF_A_WORD = 1024, 1.4  # of a batch; of a word, about

USES = {
    "ngrams": (EVERY | setting_names(model="buckets", train="held_out")) - setting_names(model="max_positions"),
    "bert": STACKED | setting_names(text="max_length", train="held_out"),
}
