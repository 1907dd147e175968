"""What the fast engine is to run, from a model's folder and without torch: weights, vocabulary and settings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.engines.layout import default_limit
from regard.engines.stored import Layout, alignment_of, choose_layout, longest_source, read_shape, refuse_small_table
from regard.engines.weights import list_for, read_for
from regard.errors import ConfigError
from regard.formats import ctranslate2, gpt2, llama, marian, own
from regard.text.tokenizer import name_rows

if TYPE_CHECKING:
    from regard.cache import Numbers
    from regard.config import ModelConfig
    from regard.folder import ModelFolder
    from regard.formats.generation import Generation
    from regard.formats.records import Described
    from regard.formats.weights import Shapes, Weights

MOST_WAVES = 2**24  # numbers in a computed table of positions
TRANSLATORS: dict[str, Layout] = {"marian": marian, "pegasus": marian, "regard-translate": own}  # by model_type
WRITERS: dict[str, Layout] = {"gpt2": gpt2, "llama": llama, "regard-write": own}


def describe_translator(folder: ModelFolder, tokenizer: Any, generation: Generation) -> tuple[Described, Numbers]:
    """A translator, and how many positions and rows it has."""
    if folder.config.get("model_type") == "encoder-decoder":
        raise ConfigError("CTranslate2 has no translator of this shape")
    layout = choose_layout(folder, TRANSLATORS)
    config: ModelConfig = read_shape(folder, layout.import_config)
    refuse_small_table(config, tokenizer)
    places = max(config.max_positions, default_limit(longest_source(folder.info)))
    if not ctranslate2.can_translate(config) or places * config.width > MOST_WAVES:
        raise ConfigError("CTranslate2 has no translator of this shape")
    weights = _read(folder, config, layout, ctranslate2.translator_shapes(config))
    pieces = name_rows(tokenizer.pieces, config.vocab_size)
    made = ctranslate2.describe_translator(
        config, weights, pieces, generation, tokenizer.pad_id, places, alignment_of(folder.info, config)
    )
    return made, {"places": [places], "rows": [len(pieces)]}


def describe_writer(folder: ModelFolder, tokenizer: Any, generation: Generation) -> tuple[Described, Numbers]:
    """A writer, its context length and how many rows it has."""
    layout = choose_layout(folder, WRITERS)
    config: ModelConfig = read_shape(folder, layout.import_config)
    refuse_small_table(config, tokenizer)
    if not ctranslate2.can_write(config):
        raise ConfigError("CTranslate2 has no writer with post-norm layers; only pre-norm ones")
    if config.positions == "sinusoidal" and config.max_positions * config.width > MOST_WAVES:
        raise ConfigError("CTranslate2 has no writer of this shape")
    weights = _read(folder, config, layout, ctranslate2.writer_shapes(config))
    pieces = name_rows(tokenizer.pieces, config.vocab_size)
    made = ctranslate2.describe_writer(config, weights, pieces, generation)
    return made, {"room": [config.max_positions], "rows": [len(pieces)]}


def _read(folder: ModelFolder, config: ModelConfig, layout: Layout, shapes: Shapes) -> Weights:
    return layout.import_weights(read_for(folder, list_for(folder, config), shapes), shapes)
