"""Our translators as Hugging Face's: names of weights, config.json, generation_config.json.

Post-norm translators are `MarianMTModel`, pre-norm ones `PegasusForConditionalGeneration`: the two have the same
names and differ in where the norm is. Knows dictionaries and tensors, no files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.config import ModelConfig
from regard.decoding.settings import SUPPRESSED_LOGIT
from regard.errors import FolderError
from regard.formats.keys import refuse_others, take
from regard.formats.names import check, drop_known, plain, read_renamed, rename
from regard.formats.shapes import CONFIG, config_keys, read_settings, write_settings
from regard.formats.weights import Shapes, Weights, waves

if TYPE_CHECKING:
    from torch import Tensor

# Ours -> theirs, part by part of a name, in this order.
NAMES = (
    ("embedding.table.", "model.shared."),
    ("encoder.blocks.", "model.encoder.layers."),
    ("decoder.blocks.", "model.decoder.layers."),
    ("encoder.norm.", "model.encoder.layer_norm."),
    ("decoder.norm.", "model.decoder.layer_norm."),
    ("self_attention.", "self_attn."),
    ("cross_attention.", "encoder_attn."),
    (".query.", ".q_proj."),
    (".key.", ".k_proj."),
    (".value.", ".v_proj."),
    (".output.", ".out_proj."),
    ("self_residual.norm.", "self_attn_layer_norm."),
    ("cross_residual.norm.", "encoder_attn_layer_norm."),
    ("feed_residual.norm.", "final_layer_norm."),
    ("feed_forward.up.", "fc1."),
    ("feed_forward.down.", "fc2."),
    ("output.weight", "lm_head.weight"),  # of the whole model, where output embeddings are not tied
)
SETTINGS = {
    "vocab_size": "vocab_size", "width": "d_model", "layers": "encoder_layers", "heads": "encoder_attention_heads",
    "ffn_width": "encoder_ffn_dim", "activation": "activation_function", "dropout": "dropout",
    "max_positions": "max_position_embeddings", "tie_embeddings": "tie_word_embeddings",
    "has_output_bias": "has_output_bias",
}  # fmt: skip
KEYS = {
    kind: config_keys(
        f"{kind.capitalize()}Config",
        used={
            "vocab_size": size, "max_position_embeddings": 1024, "d_model": 1024, "dropout": 0.1,
            "encoder_layers": 12, "encoder_ffn_dim": 4096, "encoder_attention_heads": 16,
            "decoder_layers": 12, "decoder_ffn_dim": 4096, "decoder_attention_heads": 16,
            "activation_function": "gelu", "scale_embedding": False, "tie_word_embeddings": True,
            "decoder_vocab_size": None,
            "has_output_bias": True,  # ours: whether there is a learned one; theirs always have it
        },
        # What the first converter wrote, and transformers does not read: each kind has its norms in one place.
        idle="attention_dropout activation_dropout encoder_layerdrop decoder_layerdrop static_position_embeddings "
             "normalize_before normalize_embedding add_final_layer_norm add_bias_logits extra_pos_embeddings "
             "classif_dropout save_step",
        names={"num_attention_heads": "encoder_attention_heads", "hidden_size": "d_model",
               "num_hidden_layers": "encoder_layers"},
        is_encoder_decoder=(True, None),
        position_embedding_type=("sinusoidal",),
        share_encoder_decoder_embeddings=(True,) if kind == "marian" else (True, False, None),
    )
    for kind, size in (("marian", 58101), ("pegasus", 50265))
}  # fmt: skip
SUPPRESSED = -1e8  # a bias below this suppresses a token; no learned one is
BIAS, POSITIONS = "final_logits_bias", "embed_positions.weight"
SHARED, COPIES = "model.shared.weight", [f"model.{side}.embed_tokens.weight" for side in ("encoder", "decoder")]
ARCHITECTURES = {"post": ("marian", "MarianMTModel"), "pre": ("pegasus", "PegasusForConditionalGeneration")}


def export_weights(weights: dict[str, Tensor], model: ModelConfig, pad_id: int) -> dict[str, Tensor]:
    """Weights under the names `transformers` knows, and a bias that suppresses padding.

    For Pegasus also the sinusoids: it computes the same ones, but would report missing weights. Where output embeddings
    are not tied, each side's copy of the input embeddings too: `transformers` then ties none of them.
    """
    renamed = plain({rename(name, NAMES): tensor for name, tensor in weights.items() if name != "output_bias"})
    if not model.tie_embeddings:
        renamed |= {name: renamed[SHARED].clone() for name in COPIES}
    shared = renamed[SHARED]
    bias = shared.new_zeros(1, len(shared))
    if "output_bias" in weights:
        bias[0] = weights["output_bias"]
    bias[0, pad_id] = SUPPRESSED_LOGIT
    sides = ("encoder", "decoder") if model.norm == "pre" else ()
    table = shared.new_tensor(waves(model.max_positions, model.width)) if sides else None
    tables = {f"model.{side}.{POSITIONS}": table.clone() for side in sides if table is not None}
    return renamed | {BIAS: bias} | tables


def import_weights(weights: Weights, shapes: Shapes) -> Weights:
    """Their weights under our names."""
    _check_positions({name: array for name, array in weights.items() if POSITIONS in name})
    tables = COPIES if "output.weight" in shapes else [*COPIES, "lm_head.weight"]
    kept = drop_known(weights, POSITIONS, dict.fromkeys(tables, SHARED))
    bias = kept.pop(BIAS, None)
    mine = {name: shape for name, shape in shapes.items() if name != "output_bias"}
    found = read_renamed(kept, mine, lambda name: rename(name, NAMES))
    if "output_bias" not in shapes and bias is not None and ((bias != 0) & (bias > SUPPRESSED)).any():
        raise FolderError(f"weight {BIAS} has been learned, but config.json has no such bias")
    if "output_bias" in shapes:
        bias = np.zeros((1, *shapes["output_bias"]), np.float32) if bias is None else bias
        check({BIAS: bias}, {BIAS: (1, *shapes["output_bias"])})
        found["output_bias"] = bias[0]
    return found


def _check_positions(tables: Weights) -> None:
    """Positions are worked out here: a table of them must hold nothing else, and both sides the same."""
    for name, table in tables.items():
        # In half precision each wave is rounded (all but its first 10 bits are 0 then); here they are whole.
        is_rounded = table.dtype == np.float32 and not (np.ascontiguousarray(table).view(np.uint32) & 0x1FFF).any()
        close = 2**-8 if is_rounded else 1e-5
        if table.ndim != 2 or table.shape[1] % 2 or not np.allclose(table, waves(*table.shape), rtol=0, atol=close):
            raise FolderError(f"weight {name} holds positions that are not the paper's waves; they are not supported")
    if len({table.shape for table in tables.values()}) > 1:
        shapes = " and ".join(f"{name} {table.shape}" for name, table in tables.items())
        raise FolderError(f"weights of positions have different shapes: {shapes}; the file is damaged")


def export_config(model: ModelConfig, end_id: int, pad_id: int) -> dict[str, Any]:
    """The config.json of a model."""
    kind, architecture = ARCHITECTURES[model.norm]
    return {
        "architectures": [architecture],
        "model_type": kind,
        **write_settings(model, SETTINGS),
        "decoder_vocab_size": model.vocab_size,
        "decoder_layers": model.decoder_layers or model.layers,
        "decoder_attention_heads": model.heads,
        "decoder_ffn_dim": model.ffn_width,
        "encoder_layerdrop": 0.0,
        "decoder_layerdrop": 0.0,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "normalize_before": model.norm == "pre",
        "normalize_embedding": False,
        "add_final_layer_norm": model.norm == "pre",
        "position_embedding_type": model.positions,
        "share_encoder_decoder_embeddings": True,
        "is_encoder_decoder": True,
        "use_cache": True,
        "pad_token_id": pad_id,
        "bos_token_id": end_id,
        "eos_token_id": end_id,
        "decoder_start_token_id": pad_id,
        "forced_eos_token_id": None,
        "dtype": "float32",
    }


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape in a config.json, ours or that of an opus-mt."""
    kind = config.get("model_type")
    given = take(config, KEYS["pegasus" if kind == "pegasus" else "marian"])
    refuse_others(
        CONFIG, given, scale_embedding=(True,), decoder_attention_heads=(given["encoder_attention_heads"],),
        decoder_ffn_dim=(given["encoder_ffn_dim"],),
        decoder_vocab_size=(None, given["vocab_size"]),
    )  # fmt: skip
    layers = given["decoder_layers"]
    return read_settings(
        given,
        SETTINGS,
        decoder_layers=None if layers == given["encoder_layers"] else layers,
        norm="pre" if kind == "pegasus" else "post",
    )


def generation_config(end_id: int, pad_id: int, beams: int, max_length: int) -> dict[str, Any]:
    """The generation_config.json of a model."""
    return {
        "num_beams": beams,
        "length_penalty": 1.0,
        "max_length": max_length,
        "pad_token_id": pad_id,
        "bos_token_id": end_id,
        "eos_token_id": end_id,
        "decoder_start_token_id": pad_id,
    }
