"""Our models through CTranslate2's own description of them, to hold what we write against."""

import numpy as np
import torch
from ctranslate2.specs import common_spec, transformer_spec

ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "gelu_new": common_spec.Activation.GELUTanh,
    "silu": common_spec.Activation.SWISH,
}


def empty_translator(model, alignment):
    """Its description of a translator, without weights."""
    layers = model.layers, model.decoder_layers or model.layers
    return transformer_spec.TransformerSpec.from_config(
        layers, model.heads, pre_norm=model.norm == "pre", activation=ACTIVATIONS[model.activation],
        alignment_layer=alignment["layer"], alignment_heads=len(alignment["heads"]),
    )  # fmt: skip


def empty_writer(model):
    """Its description of a writer, without weights."""
    is_rotary = model.positions == "rotary"
    return transformer_spec.TransformerDecoderModelSpec.from_config(
        model.layers, model.heads, pre_norm=True, activation=ACTIVATIONS[model.activation],
        ffn_glu=model.is_gated, rms_norm=model.norm_kind == "rms", rotary_dim=0 if is_rotary else None,
        rotary_interleave=False, rotary_base=model.rotary_base, num_heads_kv=model.kv_heads,
    )  # fmt: skip


def write(spec, made, to):
    """Gives its description our arrays and settings under its names, and has it write them."""
    for name, value in made.variables.items():
        place, *path = spec, *name.split("/")
        for part in path[:-1]:
            if hasattr(place, part):
                place = getattr(place, part)
            else:
                listed, number = part.rsplit("_", 1)
                place = getattr(place, listed)[int(number)]
        if value.ndim:
            setattr(place, path[-1], torch.tensor(np.ascontiguousarray(value)))
    spec.decoder.start_from_zero_embedding = bool(made.variables["decoder/start_from_zero_embedding"])
    spec.decoder.scale_embeddings = bool(made.variables["decoder/scale_embeddings"])
    for name, value in made.config.items():
        if name != "multi_query_attention":
            setattr(spec.config, name, value) if hasattr(spec.config, name) else spec.config.add_attribute(name, value)
    if hasattr(spec, "register_vocabulary"):
        spec.register_vocabulary(made.pieces)
    else:
        spec.register_source_vocabulary(made.pieces)
        spec.register_target_vocabulary(made.pieces)
    spec.validate()
    spec.optimize(quantization="float32")
    spec.save(str(to))
