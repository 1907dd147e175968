"""Tokenizers in Hugging Face's folders: ours are told to `AutoTokenizer`, theirs are read. Imports no torch."""

import json
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Pieces
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from regard.errors import FolderError
from regard.text.sentencepieces import SentencePieces
from regard.text.tokenizer import FILE, Tokenizer


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


def translator_config(tokenizer: Tokenizer | SentencePieces, max_length: int) -> dict[str, Any]:
    """What tokenizer_config.json says of a translator's."""
    told = tokenizer_config(max_length, eos_token="</s>", unk_token="<unk>", pad_token="<pad>")
    if isinstance(tokenizer, SentencePieces):
        return told | {"tokenizer_class": "MarianTokenizer", "separate_vocabs": False}
    return told


def read_tokenizer(folder: Path) -> Tokenizer | SentencePieces:
    """The tokenizer of somebody's folder: tokenizer.json, vocab.txt, vocab.json with merges.txt or with two .spm."""
    if (folder / FILE).is_file():
        return Tokenizer.load(folder / FILE)
    if all((folder / name).is_file() for name in SentencePieces.FILES):
        return SentencePieces(folder)
    try:
        if (folder / "vocab.txt").is_file():
            return Tokenizer(_wordpieces(folder))
        if (folder / "vocab.json").is_file() and (folder / "merges.txt").is_file():
            return Tokenizer(_byte_pairs(folder))
    except Exception as problem:
        raise FolderError(f"{folder}: its vocabulary cannot be read: {problem}") from None
    raise FolderError(f"{folder} has no tokenizer.json, vocab.txt or vocab.json with merges.txt")


def _wordpieces(folder: Path) -> Pieces:
    """BERT's: words in pieces, between [CLS] and [SEP]."""
    config = folder / "tokenizer_config.json"
    told = json.loads(config.read_bytes()) if config.is_file() else {}
    is_lower = bool(told.get("do_lower_case", True))
    model = models.WordPiece.from_file(str(folder / "vocab.txt"), unk_token="[UNK]")
    pieces = Pieces(model)
    pieces.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    pieces.normalizer = normalizers.BertNormalizer(
        lowercase=is_lower, strip_accents=told.get("strip_accents"),
        handle_chinese_chars=bool(told.get("tokenize_chinese_chars", True)),
    )  # fmt: skip
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.decoder = decoders.WordPiece()
    first, last = ((name, int(pieces.token_to_id(name) or 0)) for name in ("[CLS]", "[SEP]"))
    pieces.post_processor = processors.BertProcessing(last, first)
    return pieces


def _byte_pairs(folder: Path) -> Pieces:
    """GPT-2's: byte-level BPE that knows no space before the first word."""
    pieces = Pieces(models.BPE.from_file(str(folder / "vocab.json"), str(folder / "merges.txt")))
    pieces.add_special_tokens(["<|endoftext|>"])
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    return pieces
