"""Settings of a translator: which there are, kinds and sizes of networks, and defaults by the size of the text."""

from __future__ import annotations

from regard.config import Settings
from regard.families.table import ENDLESS, Row
from regard.training.settings import STACKED, setting_names

# Pre-norm: on two corpora better than the paper's post-norm, most with few pairs or few minutes
# (docs/notebook.md).
# The others are made of two models (--encoder, --decoder), which bring their shape along.
KINDS: dict[str, Settings] = {"transformer": {"model": {"norm": "pre"}}, "bert": {}, "bert-generation": {}}

# The dial. tiny is the shape that did best on 29,000 pairs of captions (Transformer-Tiny, 2.6 M weights);
# base and big are the paper's.
SIZES: dict[str, Settings] = {
    "tiny": {"model": {"layers": 4, "width": 128, "ffn_width": 256, "heads": 4}},
    "small": {"model": {"layers": 4, "width": 256, "ffn_width": 1024, "heads": 4}},
    "base": {"model": {"layers": 6, "width": 512, "ffn_width": 2048, "heads": 8}},
    "big": {"model": {"layers": 6, "width": 1024, "ffn_width": 4096, "heads": 16}},
}

ROWS = [
    Row(150_000, "tiny", {"model": {"dropout": 0.3}, "train": {"tokens_per_batch": 2048}}),
    Row(2_000_000, "tiny", {"model": {"dropout": 0.2}, "train": {"tokens_per_batch": 4096}}),
    Row(20_000_000, "small", {"model": {"dropout": 0.1}, "train": {"tokens_per_batch": 8192}}, minutes=45),
    Row(ENDLESS, "base", {"model": {"dropout": 0.1}, "train": {"tokens_per_batch": 16384}}, minutes=300),
]

OWN = setting_names(text="max_length", model="decoder_layers has_output_bias", train="r_drop held_out")
USES = dict.fromkeys(KINDS, STACKED | OWN | {"source_language", "target_language"})


def choose_epochs(words: int) -> int:
    """How often a translator goes over this many running words: 30 times for 0.7 million, rarer with more text."""
    return int(min(100, max(4, round(30 * (700_000 / max(1, words)) ** 0.5))))
