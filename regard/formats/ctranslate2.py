"""Our translators and writers as CTranslate2 models, from arrays. Imports neither torch nor CTranslate2.

What is described here is written as the fast engine's copy of a model, and compared with a copy that is there already.
Names and settings are those of `ctranslate2.specs`; a test holds the bytes against what that writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from regard.config import ModelConfig
from regard.decoding.settings import SUPPRESSED_LOGIT
from regard.formats.generation import Generation
from regard.formats.records import Described
from regard.formats.weights import Shapes, Weights, waves

ACTIVATIONS = {"relu": 0, "gelu_new": 1, "silu": 2, "gelu": 3}  # their numbers
PARTS = ("query", "key", "value")


def can_translate(model: ModelConfig) -> bool:
    """Whether CTranslate2 has such a translator."""
    is_plain = not model.is_gated and model.has_bias and model.norm_kind == "layer" and model.kv_heads is None
    return model.positions == "sinusoidal" and is_plain and model.value_width is None


def can_write(model: ModelConfig) -> bool:
    """Whether CTranslate2 has such a writer."""
    return model.norm == "pre" and model.value_width is None


def translator_shapes(model: ModelConfig) -> Shapes:
    """The weights of a translator that CTranslate2 has, by name."""
    shapes: Shapes = {"embedding.table.weight": (model.vocab_size, model.width)}
    if not model.tie_embeddings:
        shapes["output.weight"] = (model.vocab_size, model.width)
    if model.has_output_bias:
        shapes["output_bias"] = (model.vocab_size,)
    shapes |= _stack_shapes("encoder.", model, model.layers)
    return shapes | _stack_shapes("decoder.", model, model.decoder_layers or model.layers, reads_memory=True)


def writer_shapes(model: ModelConfig) -> Shapes:
    """The weights of a writer that CTranslate2 has, by name."""
    shapes: Shapes = {"embedding.table.weight": (model.vocab_size, model.width)}
    if not model.tie_embeddings:
        shapes["output.weight"] = (model.vocab_size, model.width)
    if model.positions == "learned":
        shapes["stack.positions.table"] = (model.max_positions, model.width)
    return shapes | _stack_shapes("stack.", model, model.layers)


def _stack_shapes(prefix: str, model: ModelConfig, layers: int, *, reads_memory: bool = False) -> Shapes:
    width, ffn_width = model.width, model.ffn_width
    narrow = width // model.heads * (model.kv_heads or model.heads)  # of keys and values
    block: dict[str, tuple[int, ...]] = {}
    for kind in ("self", "cross") if reads_memory else ("self",):
        block |= {f"{kind}_attention.{part}": (rows, width)
                  for part, rows in (*zip(PARTS, (width, narrow, narrow), strict=True), ("output", width))}  # fmt: skip
        block[f"{kind}_residual.norm"] = (width,)
    block |= {
        "feed_forward.up": (ffn_width, width),
        "feed_forward.down": (width, ffn_width),
        "feed_residual.norm": (width,),
    }
    if model.is_gated:
        block["feed_forward.gate"] = (ffn_width, width)
    named = {f"{prefix}blocks.{number}.{name}": shape for number in range(layers) for name, shape in block.items()}
    if model.norm == "pre":
        named[f"{prefix}norm"] = (width,)
    shapes = {f"{name}.weight": shape for name, shape in named.items()}
    for name, shape in named.items():
        if model.norm_kind == "layer" if len(shape) == 1 else model.has_bias:
            shapes[f"{name}.bias"] = shape[:1]
    return shapes


def describe_translator(
    model: ModelConfig, weights: Weights, pieces: list[str], generation: Generation, pad_id: int, places: int,
    alignment: dict[str, Any],
) -> Described:  # fmt: skip
    """A translator with a name for every row of its embedding table; the weights are taken out of their dict.

    Padding is left out where it is the last row, all zeros and never generated, as in all models trained here.
    places: how many positions it knows. alignment: the layer and the heads, both from 0, whose mean attention
    aligns tokens; CTranslate2 takes the first heads of a layer, so they are moved there.
    """
    layer, heads = alignment["layer"], alignment["heads"]
    _move_to_front(weights, f"decoder.blocks.{layer}.cross_attention.", heads, model.heads)
    table, bias = weights["embedding.table.weight"], weights.get("output_bias")  # (V, D), (V,)
    start = pad_id if generation.start is None else generation.start
    is_nothing = start == pad_id == len(table) - 1 and pad_id in generation.suppressed and not table[pad_id].any()
    rows, suppressed = slice(None), list(generation.suppressed)
    if is_nothing:
        rows, start = slice(-1), generation.ends[0]
        suppressed.remove(pad_id)
    if suppressed:
        bias = np.zeros(len(table), np.float32) if bias is None else bias.copy()
        bias[suppressed] = SUPPRESSED_LOGIT
    end, table, encodings = pieces[generation.ends[0]], table[rows], waves(places, model.width)  # (V or V - 1, D)
    made = Described("TransformerSpec", 7, "shared_vocabulary.json", pieces[rows])
    made.config = _config(model, pieces, end) | {
        "decoder_start_token": pieces[start], "add_source_bos": False, "add_source_eos": False,
        "multi_query_attention": False,
    }  # fmt: skip
    for side, embeddings in (("encoder", "embeddings_0"), ("decoder", "embeddings")):
        made.variables |= _settings(
            side, num_heads=np.int16(model.heads), pre_norm=model.norm == "pre", scale_embeddings=True,
            activation=np.int8(ACTIVATIONS[model.activation]),
        )  # fmt: skip
        made.variables |= {f"{side}/{embeddings}/weight": table, f"{side}/position_encodings/encodings": encodings}
    made.variables |= _settings("encoder", embeddings_merge=np.int8(0), multi_query_attention=False)
    made.variables |= _decoder_settings(layer, len(heads), start_from_zero_embedding=is_nothing)
    made.variables["decoder/projection/weight"] = (
        weights["output.weight"][rows] if "output.weight" in weights else table
    )
    if bias is not None:
        made.variables["decoder/projection/bias"] = bias[rows]
    _Stack(made, "encoder/", weights, "encoder.").fill(model, model.layers)
    _Stack(made, "decoder/", weights, "decoder.").fill(model, model.decoder_layers or model.layers)
    return made


def describe_writer(model: ModelConfig, weights: Weights, pieces: list[str], generation: Generation) -> Described:
    """A writer, of GPT-2's shape or a modern one; the weights are taken out of their dict."""
    made = Described("TransformerDecoderSpec", 8, "vocabulary.json", pieces)
    made.config = _config(model, pieces, pieces[generation.ends[0]])
    made.config["multi_query_attention"] = model.kv_heads != model.heads  # as its own converter sets it
    table = weights["embedding.table.weight"]  # (V, D)
    made.variables |= _settings("decoder", num_heads=np.int16(model.heads), pre_norm=True,
                                activation=np.int8(ACTIVATIONS[model.activation]), scale_embeddings=False)  # fmt: skip
    made.variables |= _decoder_settings(-1, 1, start_from_zero_embedding=False)
    made.variables["decoder/embeddings/weight"] = table
    made.variables["decoder/projection/weight"] = weights.get("output.weight", table)
    if generation.suppressed:
        bias = np.zeros(len(pieces), np.float32)
        bias[list(generation.suppressed)] = SUPPRESSED_LOGIT
        made.variables["decoder/projection/bias"] = bias
    if model.positions != "rotary":
        learned = weights.get("stack.positions.table")
        made.variables["decoder/position_encodings/encodings"] = (
            waves(model.max_positions, model.width) if learned is None else learned
        )
    _Stack(made, "decoder/", weights, "stack.").fill(model, model.layers)
    for number in range(model.layers):
        attention = f"decoder/layer_{number}/self_attention"
        if model.positions == "rotary":
            made.variables |= _settings(attention, rotary_dim=np.int32(0), rotary_interleave=False,
                                        rotary_base=np.float32(model.rotary_base))  # fmt: skip
        if model.kv_heads is not None:
            made.variables |= _settings(attention, num_heads_kv=np.int32(model.kv_heads))
    return made


def _config(model: ModelConfig, pieces: list[str], end: str) -> dict[str, Any]:
    return {
        "unk_token": "<unk>" if "<unk>" in pieces else end, "bos_token": end, "eos_token": end,
        "layer_norm_epsilon": model.epsilon,
    }  # fmt: skip


def _decoder_settings(layer: int, heads: int, *, start_from_zero_embedding: bool) -> Weights:
    return _settings(
        "decoder", alibi=False, alibi_use_positive_positions=False, scale_alibi=False,
        start_from_zero_embedding=start_from_zero_embedding,
        alignment_layer=np.int16(layer), alignment_heads=np.int16(heads),
    )  # fmt: skip


def _settings(prefix: str, **values: Any) -> Weights:
    """Settings as arrays without dimensions; what is true or false is a small number there."""
    return {f"{prefix}/{name}": np.asarray(np.int8(value) if isinstance(value, bool) else value)
            for name, value in values.items()}  # fmt: skip


@dataclass(frozen=True)
class _Stack:
    """The blocks of a stack under their names, from weights under ours, each let go once it is used."""

    made: Described
    theirs: str  # what their names begin with
    weights: Weights
    ours: str

    def fill(self, model: ModelConfig, layers: int) -> None:
        """All blocks, and the last norm if there is one."""
        for number in range(layers):
            block, layer = f"blocks.{number}.", f"layer_{number}/"
            read = [f"{block}self_attention.{part}" for part in PARTS]
            self._linear(f"{layer}self_attention/linear_0", *read)
            self._linear(f"{layer}self_attention/linear_1", f"{block}self_attention.output")
            self._norm(f"{layer}self_attention/layer_norm", f"{block}self_residual.norm")
            if f"{self.ours}{block}cross_attention.query.weight" in self.weights:
                read = [f"{block}cross_attention.{part}" for part in PARTS]
                self._linear(f"{layer}attention/linear_0", read[0])
                self._linear(f"{layer}attention/linear_1", *read[1:])
                self._linear(f"{layer}attention/linear_2", f"{block}cross_attention.output")
                self._norm(f"{layer}attention/layer_norm", f"{block}cross_residual.norm")
            if model.is_gated:  # the activation is on the gate, which they call the first of the two
                self._linear(f"{layer}ffn/linear_0", f"{block}feed_forward.gate")
                self._linear(f"{layer}ffn/linear_0_noact", f"{block}feed_forward.up")
            else:
                self._linear(f"{layer}ffn/linear_0", f"{block}feed_forward.up")
            self._linear(f"{layer}ffn/linear_1", f"{block}feed_forward.down")
            self._norm(f"{layer}ffn/layer_norm", f"{block}feed_residual.norm")
        if model.norm == "pre":
            self._norm("layer_norm", "norm")

    def _linear(self, theirs: str, *names: str) -> None:
        """One matrix, or several as one, each under the last."""
        for kind in ("weight", "bias"):
            found = [self.weights.pop(f"{self.ours}{name}.{kind}") for name in names
                     if f"{self.ours}{name}.{kind}" in self.weights]  # fmt: skip
            if found:
                self.made.variables[f"{self.theirs}{theirs}/{kind}"] = (
                    found[0] if len(found) == 1 else np.concatenate(found)
                )

    def _norm(self, theirs: str, name: str) -> None:
        for kind, their_kind in (("weight", "gamma"), ("bias", "beta")):
            if (ours := f"{self.ours}{name}.{kind}") in self.weights:
                self.made.variables[f"{self.theirs}{theirs}/{their_kind}"] = self.weights.pop(ours)


def _move_to_front(weights: Weights, prefix: str, heads: list[int], count: int) -> None:
    """Moves these heads of an attention to the front; its output stays the same."""
    order = [*heads, *(head for head in range(count) if head not in heads)]
    for part in PARTS:
        for kind in ("weight", "bias"):
            if (name := f"{prefix}{part}.{kind}") in weights:
                whole = weights[name]
                weights[name] = whole.reshape(count, -1, *whole.shape[1:])[order].reshape(whole.shape)
    whole = weights[f"{prefix}output.weight"]  # (D, H * K)
    weights[f"{prefix}output.weight"] = whole.reshape(len(whole), count, -1)[:, order].reshape(whole.shape)
