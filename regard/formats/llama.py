"""Our modern writers as Hugging Face's `LlamaForCausalLM`. Knows dictionaries and tensors, no files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.config import ModelConfig
from regard.errors import FolderError
from regard.formats.keys import Keys, refuse_others, take
from regard.formats.names import check, drop_known, plain, rename
from regard.formats.shapes import CONFIG, activation, config_keys, make_shape
from regard.formats.weights import Shapes, Weights

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
    ("feed_forward.up.", "mlp.up_proj."),
    ("feed_forward.gate.", "mlp.gate_proj."),
    ("feed_forward.down.", "mlp.down_proj."),
)
OUTPUT = {"output.weight": "lm_head.weight"}  # where output embeddings are not tied
UNUSED = r"rotary_emb\.inv_freq$"  # computed, not learned
KEYS = config_keys(
    "LlamaConfig",
    used={
        "vocab_size": 32000, "hidden_size": 4096, "intermediate_size": 11008, "num_hidden_layers": 32,
        "num_attention_heads": 32, "num_key_value_heads": None, "hidden_act": "silu", "max_position_embeddings": 2048,
        "rms_norm_eps": 1e-6, "tie_word_embeddings": False, "rope_parameters": None, "rope_scaling": None,
        "rope_theta": 10_000.0, "head_dim": None, "hidden_dropout": 0.0,
    },
    idle="attention_dropout pretraining_tp sliding_window use_sliding_window max_window_layers",
    attention_bias=(False,),
    mlp_bias=(False,),
    partial_rotary_factor=(None, 1.0),
    layer_types=(None,),
)  # fmt: skip
ROTARY = Keys(
    f"{CONFIG}, rope_parameters,",
    "RopeParameters",
    used={"rope_theta": None, "rope_type": None, "type": None},
    only={"partial_rotary_factor": (None, 1.0), "factor": (None, 1.0)},
    idle=frozenset({"original_max_position_embeddings"}),
)
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
    """The config.json of a model."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": model.vocab_size,
        "hidden_size": model.width,
        "intermediate_size": model.ffn_width,
        "num_hidden_layers": model.layers,
        "num_attention_heads": model.heads,
        "num_key_value_heads": model.kv_heads or model.heads,
        "head_dim": model.width // model.heads,
        "hidden_act": model.activation,
        "max_position_embeddings": model.max_positions,
        "rms_norm_eps": model.epsilon,
        "rope_parameters": {"rope_type": "default", "rope_theta": model.rotary_base},
        "attention_bias": False,
        "attention_dropout": 0.0,
        "mlp_bias": False,
        "hidden_dropout": model.dropout,
        "tie_word_embeddings": model.tie_embeddings,
        "bos_token_id": end_id,
        "eos_token_id": end_id,
        "dtype": "float32",
    }


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape in a config.json."""
    given = take(config, KEYS)
    width, heads = given["hidden_size"], given["num_attention_heads"]
    if given["head_dim"] is not None:
        refuse_others(CONFIG, given, head_dim=(None if heads < 1 else width // heads,))
    kv_heads = heads if given["num_key_value_heads"] is None else given["num_key_value_heads"]
    return make_shape(
        kind="llama",
        vocab_size=given["vocab_size"],
        layers=given["num_hidden_layers"],
        width=width,
        heads=heads,
        kv_heads=None if kv_heads == heads else kv_heads,
        ffn_width=given["intermediate_size"],
        activation=activation(given, "hidden_act"),
        epsilon=given["rms_norm_eps"],
        rotary_base=_rotary_base(given),
        tie_embeddings=given["tie_word_embeddings"],
        max_positions=given["max_position_embeddings"],
        dropout=given["hidden_dropout"],
        **SHAPE,
    )


def _rotary_base(given: dict[str, Any]) -> float:
    """The base of rotary wavelengths, from rope_parameters or the older keys; any scaling is refused."""
    turning = given["rope_scaling"] or given["rope_parameters"] or {}  # in the order of transformers
    if not isinstance(turning, dict):
        raise FolderError(f"{CONFIG} has rope_parameters={turning!r:.80}, which is not an object")
    turning = take(turning, ROTARY)
    kind = turning["rope_type"] or turning["type"] or "default"
    refuse_others(ROTARY.file, {"rope_type": kind}, rope_type=("default",))
    base = given["rope_theta"] if turning["rope_theta"] is None else turning["rope_theta"]
    if isinstance(base, bool) or not isinstance(base, int | float):
        raise FolderError(f"{CONFIG} has rope_theta={base!r:.80}, which is not a number")
    return float(base)


def _rename(name: str) -> str:
    return OUTPUT.get(name) or rename(name, NAMES)
