"""Our modern writers as Hugging Face's `LlamaForCausalLM`. Knows dictionaries and tensors, no files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.config import ModelConfig
from regard.interop.names import check, drop_known, plain, rename
from regard.interop.shapes import activation, make_shape, need, refuse_others
from regard.interop.weights import Shapes, Weights

if TYPE_CHECKING:
    from torch import Tensor

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
OUTPUT = {"output.weight": "lm_head.weight"}  # where tokens are said with a table of their own
UNUSED = r"rotary_emb\.inv_freq$"  # worked out, not learned
SHAPE = {"norm": "pre", "norm_kind": "rms", "is_gated": True, "has_bias": False, "positions": "rotary"}


def export_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights under the names of Llama."""
    return plain({_rename(name): tensor for name, tensor in weights.items()})


def import_weights(weights: Weights, shapes: Shapes) -> Weights:
    """Their weights under our names."""
    tied = {} if "output.weight" in shapes else {"lm_head.weight": "model.embed_tokens.weight"}
    weights = drop_known(weights, UNUSED, tied)
    check(weights, {_rename(name): shape for name, shape in shapes.items()})
    return {name: weights[_rename(name)] for name in shapes}


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
        "num_key_value_heads": model.key_heads or model.heads,
        "head_dim": model.width // model.heads,
        "hidden_act": model.activation,
        "max_position_embeddings": model.max_positions,
        "rms_norm_eps": model.epsilon,
        "rope_parameters": {"rope_type": "default", "rope_theta": model.rotary_base},
        "attention_bias": False,
        "attention_dropout": 0.0,
        "mlp_bias": False,
        "hidden_dropout": model.dropout,
        "tie_word_embeddings": model.is_tied,
        "bos_token_id": end_id,
        "eos_token_id": end_id,
        "dtype": "float32",
    }


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape in a config.json."""
    refuse_others(config, attention_bias=False, mlp_bias=False, rope_scaling=None, pretraining_tp=1)
    width, heads = need(config, "hidden_size"), need(config, "num_attention_heads")
    refuse_others(config, head_dim=width // heads)
    turning = config.get("rope_parameters") or {"rope_theta": config.get("rope_theta", 10_000.0)}
    refuse_others(turning, rope_type="default")
    key_heads = config.get("num_key_value_heads") or heads
    return make_shape(
        kind="llama",
        vocab_size=need(config, "vocab_size"),
        layers=need(config, "num_hidden_layers"),
        width=width,
        heads=heads,
        key_heads=None if key_heads == heads else key_heads,
        inner=need(config, "intermediate_size"),
        activation=activation(config, "hidden_act"),
        epsilon=config.get("rms_norm_eps", 1e-6),
        rotary_base=turning["rope_theta"],
        is_tied=config.get("tie_word_embeddings", False),
        max_positions=need(config, "max_position_embeddings"),
        dropout=config.get("hidden_dropout", 0.0),
        **SHAPE,
    )


def _rename(name: str) -> str:
    return OUTPUT.get(name) or rename(name, NAMES)
