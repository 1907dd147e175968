"""A folder of Hugging Face's that regard did not make: which family it belongs to. Imports no torch."""

from pathlib import Path
from typing import Any

from regard.errors import ConfigError, FolderError

# architecture -> the family that opens it
FAMILIES = {
    "GPT2LMHeadModel": "write",
    "LlamaForCausalLM": "write",
    "BertForMaskedLM": "fill",
    "BertForPreTraining": "fill",
    "BertModel": "encode",
    "BertGenerationEncoder": "encode",
    "BertGenerationDecoder": "decode",
    "EncoderDecoderModel": "translate",
    "MarianMTModel": "translate",
    "PegasusForConditionalGeneration": "translate",
}
PLAIN = ("BertForMaskedLM", "BertForPreTraining", "BertModel")  # can be opened as an encoder or as a decoder
# What one is opened as -> the family, and the class of transformers whose numbers it gives.
PARTS = {
    "encoder": ("encode", "BertModel"),
    "generation-encoder": ("encode", "BertGenerationEncoder"),  # without token types
    "decoder": ("decode", "BertGenerationDecoder"),
}
PICKLED = ("pytorch_model.bin", "model.pt", "pytorch_model.bin.index.json")
WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"


def describe(folder: Path, config: dict[str, Any]) -> dict[str, Any]:
    """The metadata that regard.json would hold, as far as config.json has it. Of Hugging Face's folders only."""
    named = config.get("architectures")
    architecture = named[0] if isinstance(named, list) and named else None
    if not isinstance(architecture, str) or architecture not in FAMILIES:
        raise FolderError(f"{folder} has no regard.json, and its config.json is of the architecture {architecture!r}; "
                          f"of other people's models, {', '.join(FAMILIES)} are opened")  # fmt: skip
    if not (folder / WEIGHTS).is_file() and not (folder / INDEX).is_file():
        _refuse_pickles(folder, architecture)
    return {
        "task": FAMILIES[architecture],
        "foreign": architecture,
        "settings": {"train": {"mask_rate": 0.15, "whole_words": False}},
        "data": {"longest_source": config.get("max_position_embeddings") or 512},
    }


def take_part(config: dict[str, Any], part: str) -> dict[str, str]:
    """What changes in that metadata where a plain BERT is opened as an encoder, or as a decoder."""
    if part not in PARTS:
        raise ConfigError(f"part={part} is not one of {', '.join(PARTS)}")
    if (config.get("architectures") or [None])[0] not in PLAIN:
        raise ConfigError(f"only a plain BERT ({', '.join(PLAIN)}) is opened as an encoder or a decoder")
    task, architecture = PARTS[part]
    return {"task": task, "part": part, "architecture": architecture}


def _refuse_pickles(folder: Path, architecture: str) -> None:
    pickled = next((name for name in PICKLED if (folder / name).exists()), None)
    if pickled is None:
        raise FolderError(f"{folder} has no {WEIGHTS}; the folder is not whole, copy or download it again")
    raise FolderError(
        f"{folder} holds {pickled}, and pickled weights can run any code when opened: they are never read here. Where "
        f"you trust it, convert it: "
        f"transformers.{architecture}.from_pretrained({str(folder)!r}).save_pretrained({str(folder) + '-safe'!r}), "
        f"and the same with transformers.AutoTokenizer"
    )
