"""Our translators and writers as CTranslate2's, through its own description of a Transformer.

Only for making the fast engine's copy of a model: the description brings torch along, so whoever runs a copy does not
come by here.
"""

from pathlib import Path
from typing import Any

import torch
from ctranslate2.specs import common_spec, transformer_spec
from torch import Tensor

from regard.config import ModelConfig
from regard.interop.generation import Generation
from regard.model.positions import sinusoids
from regard.model.stack import NEVER

ACTIVATIONS = {
    "relu": common_spec.Activation.RELU,
    "gelu": common_spec.Activation.GELU,
    "gelu_new": common_spec.Activation.GELUTanh,
    "silu": common_spec.Activation.SWISH,
}


def can_translate(model: ModelConfig) -> bool:
    """Whether CTranslate2 has such a translator."""
    is_plain = not model.is_gated and model.has_bias and model.norm_kind == "layer" and model.key_heads is None
    return model.positions == "sinusoidal" and is_plain and model.value_width is None


def can_write(model: ModelConfig) -> bool:
    """Whether CTranslate2 has such a writer."""
    return model.norm == "pre" and model.value_width is None


def describe_translator(
    model: ModelConfig, weights: dict[str, Tensor], pieces: list[str], told: Generation, pad_id: int, places: int,
    alignment: dict[str, Any],
) -> transformer_spec.TransformerSpec:  # fmt: skip
    """A translator with a name for every row of its table, but without padding where that is the last row, is read as
    nothing and is never generated, as in all that are trained here.

    places: how many positions it knows. alignment: the layer and the heads, both from 0, whose mean tells where a token
    was read from; CTranslate2 takes the first heads of a layer, so they are put there.
    """
    layer, heads = alignment["layer"], alignment["heads"]
    weights = dict(weights)
    _bring_forward(weights, f"decoder.blocks.{layer}.cross_attention.", heads, model.heads)
    layers = model.layers, model.decoder_layers or model.layers
    spec = transformer_spec.TransformerSpec.from_config(
        layers, model.heads, pre_norm=model.norm == "pre", activation=ACTIVATIONS[model.activation],
        alignment_layer=layer, alignment_heads=len(heads),
    )  # fmt: skip
    spec.config.layer_norm_epsilon = model.epsilon
    table, bias = weights["embedding.table.weight"], weights.get("output_bias")  # (V, D), (V,)
    start = pad_id if told.start is None else told.start
    if start == pad_id == len(table) - 1 and pad_id in told.never and not table[pad_id].any():
        rows, start, never = slice(-1), told.ends[0], [number for number in told.never if number != pad_id]
        spec.decoder.start_from_zero_embedding = True
    else:
        rows, never = slice(None), list(told.never)
    end = pieces[told.ends[0]]
    spec.config.unk_token, spec.config.bos_token = "<unk>" if "<unk>" in pieces else end, end
    spec.config.eos_token, spec.config.decoder_start_token = end, pieces[start]
    if never:
        bias = torch.zeros(len(table)) if bias is None else bias.clone()
        bias[never] = NEVER
    table = table[rows]  # (V or V - 1, D)
    waves = sinusoids(torch.arange(places), model.width)  # (places, D)
    for side, embeddings in ((spec.encoder, spec.encoder.embeddings[0]), (spec.decoder, spec.decoder.embeddings)):
        embeddings.weight = table
        side.position_encodings.encodings = waves
    spec.decoder.projection.weight = weights["output.weight"][rows] if "output.weight" in weights else table
    if bias is not None:
        spec.decoder.projection.bias = bias[rows]
    _fill_stack(spec.encoder, weights, "encoder.", model)
    _fill_stack(spec.decoder, weights, "decoder.", model)
    spec.register_source_vocabulary(pieces[rows])
    spec.register_target_vocabulary(pieces[rows])
    return spec


def describe_writer(
    model: ModelConfig, weights: dict[str, Tensor], pieces: list[str], told: Generation
) -> transformer_spec.TransformerDecoderModelSpec:
    """A writer, of GPT-2's shape or a modern one."""
    end = pieces[told.ends[0]]
    is_rotary = model.positions == "rotary"
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(
        model.layers, model.heads, pre_norm=True, activation=ACTIVATIONS[model.activation],
        ffn_glu=model.is_gated, rms_norm=model.norm_kind == "rms",
        rotary_dim=0 if is_rotary else None, rotary_interleave=False, rotary_base=model.rotary_base,
        num_heads_kv=model.key_heads,
    )  # fmt: skip
    spec.config.layer_norm_epsilon = model.epsilon
    spec.config.unk_token = "<unk>" if "<unk>" in pieces else end
    spec.config.bos_token = spec.config.eos_token = end
    spec.decoder.scale_embeddings = False
    spec.decoder.embeddings.weight = weights["embedding.table.weight"]
    spec.decoder.projection.weight = weights.get("output.weight", spec.decoder.embeddings.weight)
    if told.never:
        spec.decoder.projection.bias = torch.zeros(len(pieces))
        spec.decoder.projection.bias[list(told.never)] = NEVER
    if not is_rotary:
        table = weights.get("stack.positions.table")
        waves = sinusoids(torch.arange(model.max_positions), model.width) if table is None else table
        spec.decoder.position_encodings.encodings = waves
    _fill_stack(spec.decoder, weights, "stack.", model)
    spec.register_vocabulary(pieces)
    return spec


def save(spec: Any, to: Path) -> None:
    """Writes the model into a folder that is there already."""
    spec.validate()
    spec.optimize(quantization="float32")
    spec.save(str(to))


def _fill_stack(spec: Any, weights: dict[str, Tensor], prefix: str, model: ModelConfig) -> None:
    """All blocks of a stack, and its last norm if it has one."""
    for number, layer in enumerate(spec.layer):
        block = f"{prefix}blocks.{number}."
        attention = [f"{block}self_attention.{part}" for part in ("query", "key", "value", "output")]
        _fill_linear(layer.self_attention.linear[0], weights, *attention[:3])
        _fill_linear(layer.self_attention.linear[1], weights, attention[3])
        _fill_norm(layer.self_attention.layer_norm, weights, f"{block}self_residual.norm")
        if f"{block}cross_attention.query.weight" in weights:
            attention = [f"{block}cross_attention.{part}" for part in ("query", "key", "value", "output")]
            _fill_linear(layer.attention.linear[0], weights, attention[0])
            _fill_linear(layer.attention.linear[1], weights, *attention[1:3])
            _fill_linear(layer.attention.linear[2], weights, attention[3])
            _fill_norm(layer.attention.layer_norm, weights, f"{block}cross_residual.norm")
        feed = f"{block}feed_forward."
        if model.is_gated:  # the activation is on the gate, which they call the first of the two
            _fill_linear(layer.ffn.linear_0, weights, f"{feed}gate")
            _fill_linear(layer.ffn.linear_0_noact, weights, f"{feed}rise")
        else:
            _fill_linear(layer.ffn.linear_0, weights, f"{feed}rise")
        _fill_linear(layer.ffn.linear_1, weights, f"{feed}fall")
        _fill_norm(layer.ffn.layer_norm, weights, f"{block}feed_residual.norm")
    if model.norm == "pre":
        _fill_norm(spec.layer_norm, weights, f"{prefix}norm")


def _fill_linear(spec: Any, weights: dict[str, Tensor], *names: str) -> None:
    """One matrix, or several as one, each under the last."""
    spec.weight = torch.cat([weights[f"{name}.weight"] for name in names])
    if f"{names[0]}.bias" in weights:
        spec.bias = torch.cat([weights[f"{name}.bias"] for name in names])


def _fill_norm(spec: Any, weights: dict[str, Tensor], name: str) -> None:
    spec.gamma = weights[f"{name}.weight"]
    if f"{name}.bias" in weights:
        spec.beta = weights[f"{name}.bias"]


def _bring_forward(weights: dict[str, Tensor], prefix: str, heads: list[int], count: int) -> None:
    """Gives these heads of an attention the first places; what the attention does stays the same."""
    order = [*heads, *(head for head in range(count) if head not in heads)]
    for part in ("query", "key", "value"):
        for kind in ("weight", "bias"):
            if (name := f"{prefix}{part}.{kind}") in weights:
                weights[name] = weights[name].unflatten(0, (count, -1))[order].flatten(0, 1)
    name = f"{prefix}output.weight"  # (D, H * K)
    weights[name] = weights[name].unflatten(1, (count, -1))[:, order].flatten(1, 2)
