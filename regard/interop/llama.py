"""Our modern writers as Hugging Face's `LlamaForCausalLM`. Knows dictionaries and tensors, no files."""

from typing import Any

from torch import Tensor

from regard.config import ModelConfig
from regard.errors import FolderError
from regard.interop.names import check, plain, rename

NAMES = (
    ("embedding.table.", "model.embed_tokens."),
    ("stack.norm.", "model.norm."),
    ("stack.blocks.", "model.layers."),
    ("self_attention.output.", "self_attn.o_proj."),
    ("self_attention.query.", "self_attn.q_proj."),
    ("self_attention.key.", "self_attn.k_proj."),
    ("self_attention.value.", "self_attn.v_proj."),
    ("self_residual.norm.", "input_layernorm."),
    ("feed_residual.norm.", "post_attention_layernorm."),
    ("feed_forward.rise.", "mlp.up_proj."),
    ("feed_forward.gate.", "mlp.gate_proj."),
    ("feed_forward.fall.", "mlp.down_proj."),
)
SHAPE = {"norm": "pre", "norm_kind": "rms", "is_gated": True, "has_bias": False, "positions": "rotary"}


def export_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights under the names of Llama."""
    return plain({rename(name, NAMES): tensor for name, tensor in weights.items()})


def import_weights(weights: dict[str, Tensor], ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Their weights under our names."""
    check(weights, {rename(name, NAMES): tensor.shape for name, tensor in ours.items()})
    return {name: weights[rename(name, NAMES)] for name in ours}


def export_config(model: ModelConfig, end_id: int) -> dict[str, Any]:
    """What belongs into config.json."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": model.vocab_size,
        "hidden_size": model.width,
        "intermediate_size": model.inner,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.heads,
        "head_dim": model.width // model.heads,
        "hidden_act": model.activation,
        "max_position_embeddings": model.max_positions,
        "rms_norm_eps": 1e-5,
        "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0},
        "attention_bias": False,
        "attention_dropout": 0.0,
        "mlp_bias": False,
        "hidden_dropout": model.dropout,
        "tie_word_embeddings": True,
        "bos_token_id": end_id,
        "eos_token_id": end_id,
        "dtype": "float32",
    }


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape in a config.json that `export_config` wrote."""
    try:
        return ModelConfig(
            kind="llama",
            vocab_size=config["vocab_size"],
            layers=config["num_hidden_layers"],
            width=config["hidden_size"],
            heads=config["num_attention_heads"],
            inner=config["intermediate_size"],
            activation=config["hidden_act"],
            max_positions=config["max_position_embeddings"],
            dropout=config["hidden_dropout"],
            **SHAPE,
        )
    except KeyError as missing:
        raise FolderError(f"config.json has no {missing}; it was not written by regard") from None
    except ValueError as problem:
        raise FolderError(f"config.json describes a model that cannot be: {problem}") from None
