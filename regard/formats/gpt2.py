"""Our classic writers as Hugging Face's `GPT2LMHeadModel`. Knows dictionaries and tensors, no files.

GPT-2 has query, key and value in one matrix, and all matrices transposed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.config import ModelConfig
from regard.formats.keys import take
from regard.formats.names import check, drop_known, plain, rename, with_prefix
from regard.formats.shapes import config_keys, read_settings, write_settings
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
    ("output.weight", "lm_head.weight"),  # where output embeddings are not tied
)
SETTINGS = {
    "vocab_size": "vocab_size", "max_positions": "n_positions", "width": "n_embd", "layers": "n_layer",
    "heads": "n_head", "ffn_width": "n_inner", "activation": "activation_function", "dropout": "resid_pdrop",
    "epsilon": "layer_norm_epsilon", "tie_embeddings": "tie_word_embeddings",
}  # fmt: skip
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
            theirs = rename(name, NAMES).replace("self_attention.query.", "attn.c_attn.")
            exported[theirs] = whole.T if whole.ndim == 2 else whole
        elif not any(f".self_attention.{part}." in name for part in PARTS):
            theirs = rename(name, NAMES)
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
            theirs = rename(name, NAMES).replace(f"self_attention.{part}.", "attn.c_attn.")
            whole = weights[theirs]
            found[name] = (whole.T if whole.ndim == 2 else whole).reshape(3, -1, *whole.T.shape[1:])[PARTS.index(part)]
        else:
            theirs = rename(name, NAMES)
            found[name] = weights[theirs].T if theirs.endswith(TURNED) else weights[theirs]
    return found


def _expect(shapes: Shapes) -> Shapes:
    """What GPT-2 has for weights of these shapes of ours."""
    expected = {}
    for name, shape in shapes.items():
        if ".self_attention.query." in name:
            theirs = rename(name, NAMES).replace("self_attention.query.", "attn.c_attn.")
            expected[theirs] = (*shape[1:], 3 * shape[0])
        elif not any(f".self_attention.{part}." in name for part in PARTS):
            theirs = rename(name, NAMES)
            expected[theirs] = shape[::-1] if theirs.endswith(TURNED) else shape
    return expected


def export_config(model: ModelConfig, end_id: int) -> dict[str, Any]:
    """The config.json of a model."""
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        **write_settings(model, SETTINGS),
        "embd_pdrop": model.dropout,
        "attn_pdrop": 0.0,
        "bos_token_id": end_id,
        "eos_token_id": end_id,
        "dtype": "float32",
    }


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape in a config.json."""
    given = take(config, KEYS)
    if given["n_inner"] is None:
        given["n_inner"] = 4 * given["n_embd"]
    return read_settings(given, SETTINGS, kind="gpt2", **SHAPE)
