"""Our translators as Hugging Face's: names of weights, config.json, generation_config.json.

Post-norm translators are `MarianMTModel`, pre-norm ones `PegasusForConditionalGeneration`: the two have the same
names and differ in where the norm stands. Knows dictionaries and tensors, no files.
"""

from typing import Any

import torch
from torch import Tensor

from regard.config import ModelConfig
from regard.interop.names import check, plain, rename
from regard.interop.shapes import activation, make_shape, need
from regard.model.stack import NEVER

# Ours -> theirs, piece by piece of a name, in this order.
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
    ("feed_forward.rise.", "fc1."),
    ("feed_forward.fall.", "fc2."),
)
BIAS = "final_logits_bias"
ARCHITECTURES = {"post": ("marian", "MarianMTModel"), "pre": ("pegasus", "PegasusForConditionalGeneration")}


def export_weights(weights: dict[str, Tensor], pad_id: int) -> dict[str, Tensor]:
    """Weights under the names `transformers` knows, and a bias that keeps padding from ever being said."""
    renamed = plain({rename(name, NAMES): tensor for name, tensor in weights.items()})
    bias = torch.zeros(1, len(renamed["model.shared.weight"]))
    bias[0, pad_id] = NEVER
    return renamed | {BIAS: bias}


def import_weights(weights: dict[str, Tensor], ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Their weights under our names."""
    theirs = {name: tensor for name, tensor in weights.items() if name != BIAS}
    check(theirs, {rename(name, NAMES): tensor.shape for name, tensor in ours.items()})
    return {name: theirs[rename(name, NAMES)] for name in ours}


def export_config(model: ModelConfig, end_id: int, pad_id: int) -> dict[str, Any]:
    """What belongs into config.json."""
    kind, architecture = ARCHITECTURES[model.norm]
    if model.positions != "sinusoidal":  # no class there has such a translator
        kind, architecture = "regard-translator", "RegardTranslator"
    sides = {
        f"{side}_{name}": value
        for side in ("encoder", "decoder")
        for name, value in (
            ("layers", model.layers),
            ("attention_heads", model.heads),
            ("ffn_dim", model.inner),
            ("layerdrop", 0.0),
        )
    }
    return {
        "architectures": [architecture],
        "model_type": kind,
        "vocab_size": model.vocab_size,
        "decoder_vocab_size": model.vocab_size,
        "d_model": model.width,
        **sides,
        "activation_function": model.activation,
        "dropout": model.dropout,
        "attention_dropout": 0.0,
        "activation_dropout": 0.0,
        "max_position_embeddings": model.max_positions,
        "scale_embedding": True,
        "static_position_embeddings": True,
        "normalize_before": model.norm == "pre",
        "normalize_embedding": False,
        "add_final_layer_norm": model.norm == "pre",
        "position_embedding_type": model.positions,
        "share_encoder_decoder_embeddings": True,
        "tie_word_embeddings": True,
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
    """The shape in a config.json that `export_config` wrote."""
    return make_shape(
        vocab_size=need(config, "vocab_size"),
        layers=need(config, "encoder_layers"),
        width=need(config, "d_model"),
        heads=need(config, "encoder_attention_heads"),
        inner=need(config, "encoder_ffn_dim"),
        norm="pre" if need(config, "normalize_before") else "post",
        activation=activation(config, "activation_function"),
        positions=need(config, "position_embedding_type"),
        max_positions=need(config, "max_position_embeddings"),
        dropout=need(config, "dropout"),
    )


def generation_config(end_id: int, pad_id: int, beams: int, max_length: int) -> dict[str, Any]:
    """What belongs into generation_config.json."""
    return {
        "num_beams": beams,
        "length_penalty": 1.0,
        "max_length": max_length,
        "pad_token_id": pad_id,
        "bos_token_id": end_id,
        "eos_token_id": end_id,
        "decoder_start_token_id": pad_id,
    }
