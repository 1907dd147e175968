"""What every config.json of Hugging Face's may hold beside its own keys, and how its values become a shape here."""

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from regard.config import ModelConfig, explain
from regard.errors import FolderError
from regard.formats.generation import GENERATION
from regard.formats.keys import Keys, words

CONFIG = "config.json"
# What activations are called there, and here.
ACTIVATIONS = {
    "relu": "relu",
    "gelu": "gelu",
    "gelu_python": "gelu",
    "gelu_new": "gelu_new",
    "gelu_fast": "gelu_new",
    "gelu_accurate": "gelu_new",
    "gelu_pytorch_tanh": "gelu_new",
    "gelu_python_tanh": "gelu_new",
    "silu": "silu",
    "swish": "silu",
}
# Names, training and return options: no output depends on them.
IDLE = words("""
    architectures model_type transformers_version name_or_path dtype torch_dtype use_bfloat16 use_cache torchscript
    output_hidden_states output_attentions output_past output_scores return_dict return_dict_in_generate
    tie_last_hidden_states id2label label2id num_labels problem_type finetuning_task task_specific_params
    initializer_range init_std gradient_checkpointing chunk_size_feed_forward attn_implementation
    experts_implementation tokenizer_class prefix cross_attention_hidden_size classifier_dropout unsloth_version
""")
# What transformers does with any architecture, unless it is left at this.
ONLY: dict[str, tuple[Any, ...]] = {
    "per_layer_config": (None, {}),
    "pruned_heads": (None, {}),
    "quantization_config": (None,),
    "tie_encoder_decoder": (None, False),
    "is_decoder": (None, False),
    "add_cross_attention": (None, False),
    "is_encoder_decoder": (None, False),
}
# The tokens that begin, end and fill a text; `generation.py` and the tokenizer read them.
TOKENS = frozenset({"bos_token_id", "eos_token_id", "pad_token_id", "sep_token_id", "decoder_start_token_id"})


def config_keys(
    reader: str,
    used: Mapping[str, Any],
    idle: str = "",
    names: Mapping[str, str] | None = None,
    **only: tuple[Any, ...],
) -> Keys:
    """The keys of a config.json: those of its architecture, and those that any may have."""
    known = {name: values for name, values in ONLY.items() if name not in used} | only
    rest = (
        IDLE | TOKENS | GENERATION.used.keys() | GENERATION.only.keys() | GENERATION.idle | set(idle.split())
    ) - set(used)
    return Keys(CONFIG, reader, used, known, frozenset(rest - known.keys()), names or {})


def read_settings(given: Mapping[str, Any], names: Mapping[str, str], **more: Any) -> ModelConfig:
    """The shape in the keys of a config.json; names: our settings -> their keys."""
    found = {ours: given[theirs] for ours, theirs in names.items()}
    if found["activation"] not in ACTIVATIONS:
        raise FolderError(f"{CONFIG} has {names['activation']}={found['activation']!r:.80}, and only "
                          f"{', '.join(ACTIVATIONS)} are supported")  # fmt: skip
    return make_shape(**found | {"activation": ACTIVATIONS[found["activation"]]} | more)


def write_settings(model: ModelConfig, names: Mapping[str, str]) -> dict[str, Any]:
    """The same keys of the config.json of a shape."""
    return {theirs: getattr(model, ours) for ours, theirs in names.items()}


def make_shape(**settings: Any) -> ModelConfig:
    """The shape these settings describe."""
    try:
        return ModelConfig.model_validate(settings, strict=True)  # "4" is no number, and neither is true
    except ValidationError as problem:
        raise FolderError(f"{CONFIG} describes a model that cannot be: {explain(problem, ModelConfig)}") from None
