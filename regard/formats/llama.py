"""Our modern writers as Hugging Face's `LlamaForCausalLM`. Knows dictionaries and tensors, no files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.config import ModelConfig
from regard.errors import FolderError
from regard.formats.keys import Keys, refuse_others, take
from regard.formats.names import drop_known, plain, read_renamed, rename
from regard.formats.shapes import CONFIG, config_keys, read_settings, write_settings
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
    ("output.weight", "lm_head.weight"),  # where output embeddings are not tied
)
SETTINGS = {
    "vocab_size": "vocab_size", "width": "hidden_size", "ffn_width": "intermediate_size", "layers": "num_hidden_layers",
    "heads": "num_attention_heads", "kv_heads": "num_key_value_heads", "activation": "hidden_act",
    "max_positions": "max_position_embeddings", "epsilon": "rms_norm_eps", "dropout": "hidden_dropout",
    "tie_embeddings": "tie_word_embeddings",
}  # fmt: skip
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
    return plain({rename(name, NAMES): tensor for name, tensor in weights.items()})


def import_weights(weights: Weights, shapes: Shapes) -> Weights:
    """Their weights under our names."""
    tied = {} if "output.weight" in shapes else {"lm_head.weight": "model.embed_tokens.weight"}
    weights = drop_known(weights, UNUSED, tied)
    return read_renamed(weights, shapes, lambda name: rename(name, NAMES))


def export_config(model: ModelConfig, end_id: int) -> dict[str, Any]:
    """The config.json of a model."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        **write_settings(model, SETTINGS),
        "num_key_value_heads": model.kv_heads or model.heads,
        "head_dim": model.width // model.heads,
        "rope_parameters": {"rope_type": "default", "rope_theta": model.rotary_base},
        "attention_bias": False,
        "attention_dropout": 0.0,
        "mlp_bias": False,
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
    if given["num_key_value_heads"] == heads:
        given["num_key_value_heads"] = None
    return read_settings(given, SETTINGS, kind="llama", rotary_base=_rotary_base(given), **SHAPE)


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
