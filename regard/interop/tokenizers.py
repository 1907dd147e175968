"""tokenizer_config.json: how `AutoTokenizer` is told what our tokenizer.json is."""

from typing import Any


def tokenizer_config(max_length: int, *, splits_special: bool = True, **roles: str) -> dict[str, Any]:
    """Roles are names of special pieces (eos_token, pad_token, …); if they are split, their names in a text are text.

    Without the class's name, that of the model's own family would be taken.
    """
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        **roles,
        "model_max_length": max_length,
        "clean_up_tokenization_spaces": False,
        "split_special_tokens": splits_special,
    }
