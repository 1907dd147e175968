"""Our classic writers as Hugging Face's `GPT2LMHeadModel`. Knows dictionaries and tensors, no files.

GPT-2 keeps query, key and value in one matrix, and all matrices the other way round.
"""

from typing import Any

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.errors import FolderError
from regard.interop.names import check, plain, rename

NAMES = (
    ("embedding.table.weight", "transformer.wte.weight"),
    ("stack.positions.table", "transformer.wpe.weight"),
    ("stack.norm.", "transformer.ln_f."),
    ("stack.blocks.", "transformer.h."),
    ("self_attention.output.", "attn.c_proj."),
    ("self_residual.norm.", "ln_1."),
    ("feed_residual.norm.", "ln_2."),
    ("feed_forward.rise.", "mlp.c_fc."),
    ("feed_forward.fall.", "mlp.c_proj."),
)
PARTS = ("query", "key", "value")
TURNED = ("attn.c_proj.weight", "mlp.c_fc.weight", "mlp.c_proj.weight")
SHAPE = {"norm": "pre", "norm_kind": "layer", "is_gated": False, "has_bias": True, "positions": "learned"}


def export_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights under the names and in the layout of GPT-2."""
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


def import_weights(weights: dict[str, Tensor], ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Their weights under our names and shapes."""
    check(weights, {name: tensor.shape for name, tensor in export_weights(ours).items()})
    found = {}
    for name in ours:
        part = next((part for part in PARTS if f".self_attention.{part}." in name), None)
        if part is not None:
            theirs = rename(name, NAMES).replace(f"self_attention.{part}.", "attn.c_attn.")
            whole = weights[theirs]
            found[name] = (whole.T if whole.ndim == 2 else whole).chunk(3)[PARTS.index(part)]
        else:
            theirs = rename(name, NAMES)
            found[name] = weights[theirs].T if theirs.endswith(TURNED) else weights[theirs]
    return found


def export_config(model: ModelConfig, end_id: int) -> dict[str, Any]:
    """What belongs into config.json."""
    return {
        "architectures": ["GPT2LMHeadModel"],
        "model_type": "gpt2",
        "vocab_size": model.vocab_size,
        "n_positions": model.max_positions,
        "n_embd": model.width,
        "n_layer": model.layers,
        "n_head": model.heads,
        "n_inner": model.inner,
        "activation_function": model.activation,
        "resid_pdrop": model.dropout,
        "embd_pdrop": model.dropout,
        "attn_pdrop": 0.0,
        "layer_norm_epsilon": 1e-5,
        "tie_word_embeddings": True,
        "bos_token_id": end_id,
        "eos_token_id": end_id,
        "dtype": "float32",
    }


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape in a config.json that `export_config` wrote."""
    try:
        return ModelConfig(
            kind="gpt2",
            vocab_size=config["vocab_size"],
            layers=config["n_layer"],
            width=config["n_embd"],
            heads=config["n_head"],
            inner=config["n_inner"],
            activation=config["activation_function"],
            max_positions=config["n_positions"],
            dropout=config["resid_pdrop"],
            **SHAPE,
        )
    except KeyError as missing:
        raise FolderError(f"config.json has no {missing}; it was not written by regard") from None
    except ValueError as problem:
        raise FolderError(f"config.json describes a model that cannot be: {problem}") from None
