"""Our fillers as Hugging Face's `BertForMaskedLM`. Knows dictionaries and tensors, no files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from regard.config import ModelConfig
from regard.errors import FolderError
from regard.formats.keys import Keys, take
from regard.formats.names import drop_known, plain, read_renamed, rename, with_prefix
from regard.formats.shapes import config_keys, read_settings, write_settings
from regard.formats.weights import Shapes, Weights

if TYPE_CHECKING:
    from torch import Tensor

NAMES = (
    ("embedding.table.weight", "bert.embeddings.word_embeddings.weight"),
    ("token_types.weight", "bert.embeddings.token_type_embeddings.weight"),
    ("stack.positions.table", "bert.embeddings.position_embeddings.weight"),
    ("stack.input_norm.", "bert.embeddings.LayerNorm."),
    ("stack.blocks.", "bert.encoder.layer."),
    ("cross_attention.output.", "crossattention.output.dense."),
    ("cross_attention.query.", "crossattention.self.query."),
    ("cross_attention.key.", "crossattention.self.key."),
    ("cross_attention.value.", "crossattention.self.value."),
    ("cross_residual.norm.", "crossattention.output.LayerNorm."),
    ("self_attention.output.", "attention.output.dense."),
    ("self_attention.query.", "attention.self.query."),
    ("self_attention.key.", "attention.self.key."),
    ("self_attention.value.", "attention.self.value."),
    ("self_residual.norm.", "attention.output.LayerNorm."),
    ("feed_residual.norm.", "output.LayerNorm."),
    ("feed_forward.up.", "intermediate.dense."),
    ("feed_forward.down.", "output.dense."),
    ("head_norm.", "cls.predictions.transform.LayerNorm."),
    ("head_dense.", "cls.predictions.transform.dense."),
    ("output.weight", "cls.predictions.decoder.weight"),  # where output embeddings are not tied
)
# The pooler and the next-sentence head belong to another task; position ids are a range.
UNUSED = r"^bert\.pooler\.|^cls\.seq_relationship\.|\.position_ids$"
BIAS, DECODER_BIAS = "cls.predictions.bias", "cls.predictions.decoder.bias"  # one, unless there are two tables
USED = {
    "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
    "intermediate_size": 3072, "hidden_act": "gelu", "hidden_dropout_prob": 0.1, "max_position_embeddings": 512,
    "layer_norm_eps": 1e-12,
}  # fmt: skip
SETTINGS = {
    "vocab_size": "vocab_size", "width": "hidden_size", "layers": "num_hidden_layers", "heads": "num_attention_heads",
    "ffn_width": "intermediate_size", "activation": "hidden_act", "dropout": "hidden_dropout_prob",
    "max_positions": "max_position_embeddings", "epsilon": "layer_norm_eps",
}  # fmt: skip
# transformers has no other positions any more; a folder that asks for relative ones was made for an older version.
ABSOLUTE = ("absolute", None)
KEYS = config_keys(
    "BertConfig", USED | {"type_vocab_size": 2, "tie_word_embeddings": True},
    "attention_probs_dropout_prob directionality pooler_fc_size pooler_type pooler_num_attention_heads "
    "pooler_num_fc_layers pooler_size_per_head",
    position_embedding_type=ABSOLUTE,
)  # fmt: skip
SHAPE = {"norm": "post", "norm_kind": "layer", "is_gated": False, "has_bias": True, "positions": "learned"}


def export_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights under the names of BERT."""
    renamed = plain({their_name(name): tensor for name, tensor in weights.items()})
    return renamed | ({DECODER_BIAS: renamed[BIAS].clone()} if "output.weight" in weights else {})


def import_weights(weights: Weights, shapes: Shapes) -> Weights:
    """Their weights under our names."""
    weights = {modern(name): array for name, array in weights.items()}
    weights = with_prefix(weights, "bert.", ("embeddings.", "encoder.", "pooler."))
    tied = {"cls.predictions.decoder.weight": "bert.embeddings.word_embeddings.weight", DECODER_BIAS: BIAS}
    if "output.weight" in shapes:
        tied = {}
        if DECODER_BIAS in weights:  # the one that is added there
            weights[BIAS] = weights.pop(DECODER_BIAS)
    weights = drop_known(weights, UNUSED if "bias" in shapes else rf"{UNUSED}|^cls\.", tied)
    return read_renamed(weights, shapes, their_name)


def export_config(model: ModelConfig, pad_id: int) -> dict[str, Any]:
    """The config.json of a model."""
    return {
        "architectures": ["BertForMaskedLM"],
        "model_type": "bert",
        **write_settings(model, SETTINGS),
        "attention_probs_dropout_prob": 0.0,
        "type_vocab_size": model.token_types,
        "tie_word_embeddings": model.tie_embeddings,
        "pad_token_id": pad_id,
        "dtype": "float32",
    }


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape in a config.json."""
    return read_shape(config, KEYS)


def read_shape(config: dict[str, Any], keys: Keys) -> ModelConfig:
    """The shape of a BERT or a BertGeneration, whose config.json have the same keys."""
    given = take(config, keys)
    if given.get("type_vocab_size") == 0:
        raise FolderError("config.json has type_vocab_size=0, and a BERT adds a token type's vector to each token; "
                          "it must be at least 1")  # fmt: skip
    return read_settings(
        given,
        SETTINGS,
        kind="bert" if "type_vocab_size" in given else "bert-generation",
        token_types=given.get("type_vocab_size", 0),
        tie_embeddings=given.get("tie_word_embeddings", True),
        **SHAPE,
    )


def their_name(name: str) -> str:
    """A name of ours as BERT has it."""
    return BIAS if name == "bias" else rename(name, NAMES)


def modern(name: str) -> str:
    """Norms had other names in the first checkpoints."""
    return name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
