"""Settings of a writer: which there are, kinds and sizes of networks, and defaults by the size of the text."""

from __future__ import annotations

from regard.config import Settings
from regard.families.table import ENDLESS, Row
from regard.training.settings import STACKED

KINDS: dict[str, Settings] = {
    "llama": {
        "model": {"norm": "pre", "norm_kind": "rms", "activation": "silu", "is_gated": True, "has_bias": False,
                  "positions": "rotary"}
    },
    "gpt2": {"model": {"norm": "pre", "activation": "gelu", "positions": "learned"}},
}  # fmt: skip

# The dial: a shape, and the learning rate that suits its width.
SIZES: dict[str, Settings] = {
    "tiny": {
        "model": {"layers": 4, "width": 128, "ffn_width": 512, "heads": 4, "max_positions": 128},
        "train": {"learning_rate": 0.003},
    },
    "small": {
        "model": {"layers": 6, "width": 256, "ffn_width": 1024, "heads": 4, "max_positions": 256},
        "train": {"learning_rate": 0.0015},
    },
    "base": {
        "model": {"layers": 12, "width": 768, "ffn_width": 3072, "heads": 12, "max_positions": 1024},
        "train": {"learning_rate": 0.0006},
    },
    "big": {
        "model": {"layers": 24, "width": 1024, "ffn_width": 4096, "heads": 16, "max_positions": 1024},
        "train": {"learning_rate": 0.0004},
    },
}

ROWS = [
    Row(500_000, "tiny", {"text": {"tokenizer": "char"}, "train": {"label_smoothing": 0.0}}),
    Row(17_000_000, "small", {"text": {"tokenizer": "bpe"}, "train": {"label_smoothing": 0.0}}),
    Row(ENDLESS, "base", {"text": {"tokenizer": "bpe"}, "train": {"label_smoothing": 0.0}}, minutes=300),
]

USES = dict.fromkeys(KINDS, STACKED)
