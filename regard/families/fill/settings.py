"""Settings of a filler: which there are, kinds and sizes of networks, and defaults by the size of the text."""

from __future__ import annotations

from regard.config import Settings
from regard.families.table import ENDLESS, Row
from regard.training.settings import STACKED, setting_names

KINDS: dict[str, Settings] = {"bert": {"model": {"norm": "post", "activation": "gelu", "positions": "learned"}}}

# The dial. base and big are BERT's (110 M and 340 M weights with its vocabulary).
SIZES: dict[str, Settings] = {
    "tiny": {"model": {"layers": 4, "width": 128, "ffn_width": 512, "heads": 4, "max_positions": 256}},
    "small": {"model": {"layers": 4, "width": 256, "ffn_width": 1024, "heads": 4, "max_positions": 256}},
    "base": {"model": {"layers": 12, "width": 768, "ffn_width": 3072, "heads": 12, "max_positions": 512}},
    "big": {"model": {"layers": 24, "width": 1024, "ffn_width": 4096, "heads": 16, "max_positions": 512}},
}

ROWS = [
    Row(5_000_000, "tiny", {"text": {"tokenizer": "wordpiece"}, "train": {"label_smoothing": 0.0}}),
    Row(200_000_000, "small", {"text": {"tokenizer": "wordpiece"}, "train": {"label_smoothing": 0.0}}),
    Row(ENDLESS, "base", {"text": {"tokenizer": "wordpiece"}, "train": {"label_smoothing": 0.0}}, minutes=300),
]

OWN = setting_names(text="lowercase max_length", model="token_types", train="held_out mask_rate whole_words")
USES = dict.fromkeys(KINDS, STACKED | OWN)
