"""Our classic writers as Hugging Face's `GPT2LMHeadModel`. Knows dictionaries and tensors, no files.

GPT-2 has query, key and value in one matrix, and all matrices transposed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.config import ModelConfig
from regard.formats.keys import take
from regard.formats.names import check, drop_known, plain, rename, with_prefix
from regard.formats.shapes import activation, config_keys, make_shape
from regard.formats.weights import Shapes, Weights

if TYPE_CHECKING:
    from torch import Tensor

NAMES = (
    ("embedding.table.weight", "transformer.wte.weight"),
    ("stack.positions.table", "transformer.wpe.weight"),
    ("stack.norm.", "transformer.ln_f."),
    ("stack.blocks.", "transformer.h."),
    ("self_attention.output.", "attn.c_proj."),
    ("self_residual.norm.", "ln_1."),
    ("feed_residual.norm.", "ln_2."),
    ("feed_forward.up.", "mlp.c_fc."),
    ("feed_forward.down.", "mlp.c_proj."),
)
OUTPUT = {"output.weight": "lm_head.weight"}  # where output embeddings are not tied
UNUSED = r"\.attn\.(masked_)?bias$"  # masks that older versions kept among the weights
PARTS = ("query", "key", "value")
KEYS = config_keys(
    "GPT2Config",
    used={
        "vocab_size": 50257, "n_positions": 1024, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_inner": None,
        "activation_function": "gelu_new", "resid_pdrop": 0.1, "layer_norm_epsilon": 1e-5, "tie_word_embeddings": True,
    },
    idle="n_ctx embd_pdrop attn_pdrop summary_type summary_use_proj summary_activation summary_proj_to_labels "
         "summary_first_dropout predict_special_tokens",
    names={"hidden_size": "n_embd", "max_position_embeddings": "n_positions", "num_attention_heads": "n_head",
           "num_hidden_layers": "n_layer"},
    scale_attn_weights=(True,),
    scale_attn_by_inverse_layer_idx=(False,),
    reorder_and_upcast_attn=(False,),
)  # fmt: skip
TURNED = ("attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
SHAPE = {"norm": "pre", "norm_kind": "layer", "is_gated": False, "has_bias": True, "positions": "learned"}


def export_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights under the names and in the layout of GPT-2."""
    import torch

    exported = {}
    for name, tensor in weights.items():
        if ".self_attention.query." in name:
            parts = [weights[name.replace(".query.", f".{part}.")] for part in PARTS]
            whole = torch.cat(parts)  # (3D, D) or (3D,)
            theirs = _rename(name).replace("self_attention.query.", "attn.c_attn.")
            exported[theirs] = whole.T if whole.ndim == 2 else whole
        elif not any(f".self_attention.{part}." in name for part in PARTS):
            theirs = _rename(name)
            exported[theirs] = tensor.T if theirs.endswith(TURNED) else tensor
    return plain(exported)


def import_weights(weights: Weights, shapes: Shapes) -> Weights:
    """Their weights under our names and shapes."""
    weights = with_prefix(weights, "transformer.", ("wte.", "wpe.", "h.", "ln_f."))
    tied = {} if "output.weight" in shapes else {"lm_head.weight": "transformer.wte.weight"}
    weights = drop_known(weights, UNUSED, tied)
    check(weights, _expect(shapes))
    found = {}
    for name in shapes:
        part = next((part for part in PARTS if f".self_attention.{part}." in name), None)
        if part is not None:
            theirs = _rename(name).replace(f"self_attention.{part}.", "attn.c_attn.")
            whole = weights[theirs]
            found[name] = (whole.T if whole.ndim == 2 else whole).reshape(3, -1, *whole.T.shape[1:])[PARTS.index(part)]
        else:
            theirs = _rename(name)
            found[name] = weights[theirs].T if theirs.endswith(TURNED) else weights[theirs]
    return found


def _expect(shapes: Shapes) -> Shapes:
    """What GPT-2 has for weights of these shapes of ours."""
    expected = {}
    for name, shape in shapes.items():
        if ".self_attention.query." in name:
            theirs = _rename(name).replace("self_attention.query.", "attn.c_attn.")
            expected[theirs] = (*shape[1:], 3 * shape[0])
        elif not any(f".self_attention.{part}." in name for part in PARTS):
            theirs = _rename(name)
            expected[theirs] = shape[::-1] if theirs.endswith(TURNED) else shape
    return expected


def export_config(model: ModelConfig, end_id: int) -> dict[str, Any]:
    """The config.json of a model."""
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": model.vocab_size,
        "n_positions": model.max_positions,
        "n_embd": model.width,
        "n_layer": model.layers,
        "n_head": model.heads,
        "n_inner": model.ffn_width,
        "activation_function": model.activation,
        "resid_pdrop": model.dropout,
        "embd_pdrop": model.dropout,
        "attn_pdrop": 0.0,
        "layer_norm_epsilon": model.epsilon,
        "tie_word_embeddings": model.tie_embeddings,
        "bos_token_id": end_id,
        "eos_token_id": end_id,
        "dtype": "float32",
    }


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape in a config.json."""
    given = take(config, KEYS)
    return make_shape(
        kind="gpt2",
        vocab_size=given["vocab_size"],
        layers=given["n_layer"],
        width=given["n_embd"],
        heads=given["n_head"],
        ffn_width=4 * given["n_embd"] if given["n_inner"] is None else given["n_inner"],
        activation=activation(given, "activation_function"),
        epsilon=given["layer_norm_epsilon"],
        tie_embeddings=given["tie_word_embeddings"],
        max_positions=given["n_positions"],
        dropout=given["resid_pdrop"],
        **SHAPE,
    )


def _rename(name: str) -> str:
    return OUTPUT.get(name) or rename(name, NAMES)
