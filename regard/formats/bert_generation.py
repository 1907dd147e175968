"""`BertGenerationEncoder` and `BertGenerationDecoder`; a plain BERT as either.

They are BERT's layers without token types; the decoder has cross-attention, and a tied output layer with a bias.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from regard.config import ModelConfig
from regard.errors import FolderError
from regard.formats.bert import ABSOLUTE, NAMES, USED, modern, read_shape
from regard.formats.names import check, drop_known, plain, read_renamed, rename, with_prefix
from regard.formats.shapes import config_keys
from regard.formats.weights import Shapes, Weights

if TYPE_CHECKING:
    from torch import Tensor

TIED = {
    "lm_head.decoder.weight": "bert.embeddings.word_embeddings.weight",
    "lm_head.decoder.bias": "lm_head.bias",
}
UNUSED = r"\.position_ids$"
DEFAULTS = {
    **USED, "vocab_size": 50358, "hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16,
    "intermediate_size": 4096,
}  # fmt: skip
DROPOUT = "attention_probs_dropout_prob"
SAME: dict[str, Any] = {"position_embedding_type": ABSOLUTE}
ENCODER_KEYS = config_keys("BertGenerationConfig", DEFAULTS, f"{DROPOUT} tie_word_embeddings", **SAME)
DECODER_KEYS = config_keys(
    "BertGenerationConfig",
    DEFAULTS,
    DROPOUT,
    **SAME,
    is_decoder=(True,),
    add_cross_attention=(True,),
    tie_word_embeddings=(True,),
)


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape of one side in a config.json."""
    return read_shape(config, ENCODER_KEYS)


def import_decoder_config(config: dict[str, Any]) -> ModelConfig:
    """The shape of a decoder, which must be one."""
    for name in ("is_decoder", "add_cross_attention"):
        if not config.get(name):
            raise FolderError(
                f"config.json has {name}={config.get(name)!r}; a decoder here has cross-attention to an encoder"
            )
    return read_shape(config, DECODER_KEYS)


def import_weights(weights: Weights, shapes: Shapes) -> Weights:
    """Their weights under our names."""
    weights = with_prefix(weights, "bert.", ("embeddings.", "encoder."))
    return read_renamed(drop_known(weights, UNUSED, TIED), shapes, _rename)


def export_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights of a decoder under their names."""
    return plain({_rename(name): tensor for name, tensor in weights.items()})


def export_encoder_config(config: dict[str, Any]) -> dict[str, Any]:
    """A plain BERT's config.json as that of an encoder without token types."""
    kept = {name: value for name, value in config.items() if name != "type_vocab_size"}
    return kept | {"architectures": ["BertGenerationEncoder"], "model_type": "bert-generation"}


def export_decoder_config(config: dict[str, Any]) -> dict[str, Any]:
    """A plain BERT's config.json as that of a decoder."""
    changes = {"architectures": ["BertGenerationDecoder"], "is_decoder": True, "add_cross_attention": True}
    return export_encoder_config(config) | changes


def load_partial(weights: Weights, shapes: Shapes) -> tuple[Weights, list[str], list[str]]:
    """Of a plain BERT what a network here can use, under our names; what was dropped; and what is new, by our names."""
    renamed = {modern(name): array for name, array in weights.items()}
    weights = with_prefix(renamed, "bert.", ("embeddings.", "encoder.", "pooler."))
    theirs = {name: _rename(name) for name in shapes} | {"bias": "cls.predictions.bias"}
    found = {name: weights[theirs[name]] for name in shapes if theirs[name] in weights}
    check({theirs[name]: array for name, array in found.items()}, {theirs[name]: shapes[name] for name in found})
    dropped = sorted(set(weights) - {theirs[name] for name in found})
    return found, dropped, sorted(set(shapes) - set(found))


@dataclass(frozen=True)
class Side:
    """How one of the two lies in a folder."""

    import_config: Callable[[dict[str, Any]], ModelConfig]
    import_weights: Callable[[Weights, Shapes], Weights]


ENCODER, DECODER = Side(import_config, import_weights), Side(import_decoder_config, import_weights)


def _rename(name: str) -> str:
    return "lm_head.bias" if name == "bias" else rename(name, NAMES)
