"""The network of a translator, read from its folder; or made of two models, an encoder and a decoder."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.engines.described import TRANSLATORS
from regard.engines.network import build_empty, fill, read_network, shapes_of
from regard.engines.stored import choose_layout, read_shape, refuse_small_table, rows_of
from regard.engines.weights import list_for, read_for
from regard.errors import ConfigError
from regard.families.pipeline import generation_of
from regard.folder import ModelFolder
from regard.formats import encoder_decoder
from regard.formats.detect import PLAIN
from regard.formats.tokenizers import read_tokenizer
from regard.model.transformer import EncoderAndDecoder, EncoderDecoder
from regard.text.tokenizer import Tokenizer

SIDES = {"encoder": (*PLAIN, "BertGenerationEncoder"), "decoder": (*PLAIN, "BertGenerationDecoder")}
SAMPLE = "Été, der KÖNIG: (naïve) 東京 don't"  # what tokenizers with one vocabulary may still split differently


def read(folder: ModelFolder, tokenizer: Tokenizer) -> nn.Module:
    """The network in a translator's folder."""
    if folder.config.get("model_type") == "encoder-decoder":
        return _read_pair(folder, tokenizer)
    generation = generation_of(folder, tokenizer, is_translator=True)

    def build(config: ModelConfig, tokenizer: Tokenizer) -> nn.Module:
        if config.encoder:
            return EncoderAndDecoder(config, tokenizer.pad_id, generation.suppressed)
        return EncoderDecoder(config, tokenizer.pad_id, generation.start, generation.suppressed)

    return read_network(folder, tokenizer, choose_layout(folder, TRANSLATORS), build)


def _read_pair(folder: ModelFolder, tokenizer: Tokenizer) -> nn.Module:
    """An encoder and a decoder that were put together."""
    shape, generation = (
        read_shape(folder, encoder_decoder.import_config),
        generation_of(folder, tokenizer, is_translator=True),
    )
    config: ModelConfig = shape.model_copy(update={"start_id": generation.start})
    listed = list_for(folder, *_sides(config, tokenizer))
    model = build_empty(lambda: EncoderAndDecoder(config, tokenizer.pad_id, generation.suppressed))
    found = encoder_decoder.import_weights(read_for(folder, listed, shapes_of(model)), shapes_of(model), config)
    return fill(model, found)


def put_together(encoder: ModelFolder, decoder: ModelFolder) -> tuple[ModelConfig, Tokenizer, dict[str, Tensor]]:
    """The shape, the tokenizer and the weights of a translator of these two; weights that neither has are not there.

    Each side keeps its class; a plain BERT that becomes a decoder gets fresh cross-attention.
    """
    folders = {"encoder": encoder, "decoder": decoder}
    shapes = {side: _shape(folder, side) for side, folder in folders.items()}
    tokenizer = _one_tokenizer(folders)
    marks = tokenizer.encode("")
    if len(marks) < 2:
        raise ConfigError(f"the tokenizer of {decoder.folder} puts no mark such as [CLS] before a text, which a "
                          f"translation could start with")  # fmt: skip
    config = encoder_decoder.join(shapes["encoder"], shapes["decoder"]).model_copy(update={"start_id": marks[0]})
    _sides(config, tokenizer)
    model = build_empty(lambda: EncoderAndDecoder(config, tokenizer.pad_id))
    found: dict[str, Tensor] = {}
    for side, folder in folders.items():
        part: nn.Module = getattr(model, side)
        read = read_for(folder, list_for(folder, shapes[side]), shapes_of(part))
        mine = encoder_decoder.load_partial_side(read, shapes_of(part), shapes[side].kind)
        found |= {f"{side}.{name}": torch.from_numpy(array).float() for name, array in mine.items()}
    return config, tokenizer, found


def _sides(config: ModelConfig, tokenizer: Tokenizer) -> tuple[ModelConfig, ModelConfig]:
    """Both shapes, each with a row for every piece."""
    assert config.encoder is not None
    for shape in (config.encoder, config):
        refuse_small_table(shape, tokenizer)
    return config.encoder, config


def _shape(folder: ModelFolder, side: str) -> ModelConfig:
    named = folder.config.get("architectures")
    architecture = named[0] if isinstance(named, list) and named else None
    if architecture not in SIDES[side]:
        raise ConfigError(f"{folder.folder} is of the architecture {architecture!r}; a translator's {side} is made "
                          f"from one of {', '.join(SIDES[side])}")  # fmt: skip
    is_plain_decoder = side == "decoder" and architecture in PLAIN
    config = folder.config | ({"is_decoder": True, "add_cross_attention": True} if is_plain_decoder else {})
    return encoder_decoder.import_side(config, side)


def _one_tokenizer(folders: dict[str, ModelFolder]) -> Any:
    mine, other = (
        read_tokenizer(folder.path, folder.config if folder.info.foreign else None, rows_of(folder))
        for folder in folders.values()
    )
    if mine.pieces != other.pieces or mine.encode(SAMPLE) != other.encode(SAMPLE):
        names = " and ".join(str(folder.folder) for folder in folders.values())
        raise ConfigError(f"{names} split text differently; an encoder and a decoder need one tokenizer, such as that "
                          f"of a BERT of both languages")  # fmt: skip
    return other
