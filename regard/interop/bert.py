"""Our fillers as Hugging Face's `BertForMaskedLM`. Knows dictionaries and tensors, no files."""

from typing import Any

from torch import Tensor

from regard.config import ModelConfig
from regard.errors import FolderError
from regard.interop.names import check, plain, rename

NAMES = (
    ("embedding.table.weight", "bert.embeddings.word_embeddings.weight"),
    ("segments.weight", "bert.embeddings.token_type_embeddings.weight"),
    ("stack.positions.table", "bert.embeddings.position_embeddings.weight"),
    ("stack.input_norm.", "bert.embeddings.LayerNorm."),
    ("stack.blocks.", "bert.encoder.layer."),
    ("self_attention.output.", "attention.output.dense."),
    ("self_attention.query.", "attention.self.query."),
    ("self_attention.key.", "attention.self.key."),
    ("self_attention.value.", "attention.self.value."),
    ("self_residual.norm.", "attention.output.LayerNorm."),
    ("feed_residual.norm.", "output.LayerNorm."),
    ("feed_forward.rise.", "intermediate.dense."),
    ("feed_forward.fall.", "output.dense."),
    ("turn_norm.", "cls.predictions.transform.LayerNorm."),
    ("turn.", "cls.predictions.transform.dense."),
)
SHAPE = {"norm": "post", "norm_kind": "layer", "is_gated": False, "has_bias": True, "positions": "learned"}


def export_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights under the names of BERT."""
    return plain({_rename(name): tensor for name, tensor in weights.items()})


def import_weights(weights: dict[str, Tensor], ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Their weights under our names."""
    check(weights, {_rename(name): tensor.shape for name, tensor in ours.items()})
    return {name: weights[_rename(name)] for name in ours}


def export_config(model: ModelConfig, pad_id: int) -> dict[str, Any]:
    """What belongs into config.json."""
    return {
        "architectures": ["BertForMaskedLM"],
        "model_type": "bert",
        "vocab_size": model.vocab_size,
        "hidden_size": model.width,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "intermediate_size": model.inner,
        "hidden_act": model.activation,
        "hidden_dropout_prob": model.dropout,
        "attention_probs_dropout_prob": 0.0,
        "max_position_embeddings": model.max_positions,
        "type_vocab_size": 2,
        "layer_norm_eps": 1e-5,
        "tie_word_embeddings": True,
        "pad_token_id": pad_id,
        "dtype": "float32",
    }


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape in a config.json that `export_config` wrote."""
    try:
        return ModelConfig(
            kind="bert",
            vocab_size=config["vocab_size"],
            layers=config["num_hidden_layers"],
            width=config["hidden_size"],
            heads=config["num_attention_heads"],
            inner=config["intermediate_size"],
            activation=config["hidden_act"],
            max_positions=config["max_position_embeddings"],
            dropout=config["hidden_dropout_prob"],
            **SHAPE,
        )
    except KeyError as missing:
        raise FolderError(f"config.json has no {missing}; it was not written by regard") from None
    except ValueError as problem:
        raise FolderError(f"config.json describes a model that cannot be: {problem}") from None


def _rename(name: str) -> str:
    return "cls.predictions.bias" if name == "bias" else rename(name, NAMES)
