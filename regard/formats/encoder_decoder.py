"""`EncoderDecoderModel`: an encoder and a decoder put together, each side a BERT or a BertGeneration.

A side keeps its class: a BERT has token types and a transform in its head, a BertGeneration has neither.
Knows dictionaries and tensors, no files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy

from regard.config import ModelConfig
from regard.errors import FolderError
from regard.formats import bert, bert_generation
from regard.formats.keys import refuse_others, take
from regard.formats.names import plain
from regard.formats.shapes import CONFIG, config_keys
from regard.formats.weights import Shapes, Weights

if TYPE_CHECKING:
    from torch import Tensor

Item = TypeVar("Item")

LAYOUTS: dict[str, Any] = {"bert": bert, "bert-generation": bert_generation}
CLASSES = {
    ("bert", "encoder"): "BertModel",
    ("bert", "decoder"): "BertLMHeadModel",
    ("bert-generation", "encoder"): "BertGenerationEncoder",
    ("bert-generation", "decoder"): "BertGenerationDecoder",
}
BRIDGE, THEIR_BRIDGE = "bridge.", "enc_to_dec_proj."  # between sides of unequal width
LOOKING = ("is_decoder", "add_cross_attention")
KEYS = config_keys(
    "EncoderDecoderConfig", {"encoder": {}, "decoder": {}}, is_encoder_decoder=(True, None), tie_word_embeddings=(True,)
)
# What a plain BERT may lack.
CROSS, HEAD = (".cross_attention.", ".cross_residual."), ("head_dense.", "head_norm.", "bias")


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape of the decoder in a config.json, with that of the encoder inside."""
    given = take(config, KEYS)
    return join(import_side(given["encoder"], "encoder"), import_side(given["decoder"], "decoder"))


def import_side(config: dict[str, Any], side: str) -> ModelConfig:
    """The shape of one side; a decoder must have cross-attention."""
    kind, where = config.get("model_type"), f"{CONFIG}, {side},"
    refuse_others(where, {"model_type": kind}, model_type=tuple(LAYOUTS))
    if side == "decoder":
        for name in LOOKING:
            refuse_others(where, {name: config.get(name)}, **{name: (True,)})
        config = {name: value for name, value in config.items() if name not in LOOKING}
        refuse_others(where, {"tie_word_embeddings": True} | config, tie_word_embeddings=(True,))
        refuse_others(where, {"cross_attention_hidden_size": None} | config, cross_attention_hidden_size=(None,))
    found: ModelConfig = LAYOUTS[str(kind)].import_config(config)
    return found


def join(encoder: ModelConfig, decoder: ModelConfig) -> ModelConfig:
    """The shape of both together."""
    return decoder.model_copy(update={"encoder": encoder})


def export_config(model: ModelConfig, end_id: int, pad_id: int) -> dict[str, Any]:
    """The config.json of a model."""
    assert model.encoder is not None and model.start_id is not None
    marks = {"bos_token_id": model.start_id, "eos_token_id": end_id, "pad_token_id": pad_id}
    sides = {}
    for side, shape in (("encoder", model.encoder), ("decoder", model)):
        settings = bert.export_config(shape, pad_id) | marks | {
            "architectures": [CLASSES[shape.kind, side]],
            "model_type": shape.kind,
            "is_decoder": side == "decoder",
            "add_cross_attention": side == "decoder",
        }  # fmt: skip
        sides[side] = (
            settings if shape.kind == "bert" else {n: v for n, v in settings.items() if n != "type_vocab_size"}
        )
    return {
        "architectures": ["EncoderDecoderModel"],
        "model_type": "encoder-decoder",
        "is_encoder_decoder": True,
        **sides,
        **marks,
        "decoder_start_token_id": model.start_id,
        "dtype": "float32",
    }


def import_weights(weights: Weights, shapes: Shapes, model: ModelConfig) -> Weights:
    """Weights of both sides under our names."""
    assert model.encoder is not None
    theirs = {name.replace(THEIR_BRIDGE, BRIDGE): array for name, array in weights.items()}
    kinds = {"encoder.": model.encoder.kind, "decoder.": model.kind}
    between = {name for name in shapes if name.startswith(BRIDGE)}
    unknown = [name for name in theirs if not name.startswith((*kinds, BRIDGE))]
    if unknown or between != {name for name in theirs if name.startswith(BRIDGE)}:
        odd = unknown or sorted(name for name in theirs.keys() | between if name.startswith(BRIDGE))
        raise FolderError(f"weights do not fit config.json: {', '.join(sorted(odd)[:5])} unknown or missing")
    found = {name: theirs[name] for name in between}
    for side, kind in kinds.items():
        mine = LAYOUTS[kind].import_weights(_part(theirs, side), _part(shapes, side))
        found |= {side + name: array for name, array in mine.items()}
    return found


def export_weights(weights: dict[str, Tensor], model: ModelConfig) -> dict[str, Tensor]:
    """Weights of both sides under their names; of a BERT encoder also an unused pooler: `transformers` would
    otherwise report it as missing.
    """
    assert model.encoder is not None
    encoder, decoder = (
        LAYOUTS[shape.kind].export_weights(_part(weights, side))
        for side, shape in (("encoder.", model.encoder), ("decoder.", model))
    )
    found = {f"encoder.{name.removeprefix('bert.')}": tensor for name, tensor in encoder.items()}
    found |= {f"decoder.{name}": tensor for name, tensor in decoder.items()}
    found |= {THEIR_BRIDGE + name: tensor for name, tensor in plain(_part(weights, BRIDGE)).items()}
    if model.encoder.kind == "bert":
        width, like = model.encoder.width, weights["encoder.embedding.table.weight"].cpu()
        found["encoder.pooler.dense.weight"] = like.new_zeros(width, width)
        found["encoder.pooler.dense.bias"] = like.new_zeros(width)
    return found


def load_partial_side(weights: Weights, shapes: Shapes, kind: str) -> Weights:
    """Of a model by itself what one side of a pair is; a plain BERT has no cross-attention for a decoder, and a bare
    one no head: these alone may be missing, and stay fresh.
    """
    if kind != "bert":
        return bert_generation.import_weights(weights, shapes)
    there = {bert.modern(name).removeprefix("bert.") for name in weights}
    fresh = {
        name: shape
        for name, shape in shapes.items()
        if (any(part in name for part in CROSS) or name.startswith(HEAD))
        and bert.their_name(name).removeprefix("bert.") not in there
    }
    whole = weights | {bert.their_name(name): numpy.zeros(shape, numpy.float32) for name, shape in fresh.items()}
    return {name: array for name, array in bert.import_weights(whole, shapes).items() if name not in fresh}


def _part(weights: dict[str, Item], side: str) -> dict[str, Item]:
    return {name.removeprefix(side): one for name, one in weights.items() if name.startswith(side)}
