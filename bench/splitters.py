"""Draws tokenizers as folders of Hugging Face have them: several kinds, names of special tokens and options at random.
Used by bench/strangers.py.
"""

import json
import random
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Pieces
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors, trainers

TEXT = [
    "The old dog sees a cat.",
    "A man reads the red book in the house.",
    "Élan vital, naïve café: 12 + 30 = 42!",
    "Does the woman sleep? No, she isn't here.",
    "def read(path):\n    return open(path)",
] * 3
SEQ2SEQ = ("MarianMTModel", "PegasusForConditionalGeneration")
NAMES = (  # of special pieces
    ("<s>", "</s>", "<unk>", "<pad>"),
    ("<|begin_of_text|>", "<|eot_id|>", "<unk>", "<|pad|>"),
    ("<pad>", "</s>", "<unk>", "<s>"),
    ("<|im_end|>", "<|endoftext|>", "</s>", "<s>", "<pad>"),
)
ROLES = {  # the first of these that there is has the role
    "bos": ("[CLS]", "<s>", "<|begin_of_text|>", "<|endoftext|>"),
    "eos": ("[SEP]", "<|im_end|>", "</s>", "<|eot_id|>", "<|endoftext|>"),
    "pad": ("[PAD]", "<pad>", "<|pad|>", "<|endoftext|>"),
}


def draw_tokenizer(
    folder: Path, rng: random.Random, architecture: str, description: list[str]
) -> tuple[int, dict[str, int]]:
    """Some tokenizer in the folder; how many pieces it has, and the ids of its special ones."""
    folder.mkdir(parents=True, exist_ok=True)
    is_bert = architecture.startswith("Bert") or architecture == "EncoderDecoderModel"
    kind = _draw_kind(rng, architecture, is_bert)
    description.append(kind)
    names = _draw_names(rng, kind)
    pieces = MAKERS[kind](rng, names)
    chosen = {name: next(one for one in some if one in names) for name, some in ROLES.items()}
    config = _draw_options(rng, kind, pieces, chosen, is_bert)
    if kind in ("bytes", "plain", "marks") and rng.random() < 0.4:
        if architecture in SEQ2SEQ:
            pieces.post_processor = processors.TemplateProcessing(
                single=f"$A {chosen['eos']}", special_tokens=[(chosen["eos"], pieces.token_to_id(chosen["eos"]))]
            )
        else:
            config |= {"add_bos_token": rng.random() < 0.5, "add_eos_token": rng.random() < 0.2}
    description.append(json.dumps(config))
    if kind == "files":
        pieces.model.save(str(folder))
    elif kind == "word file":
        ordered = sorted(pieces.get_vocab(), key=pieces.token_to_id)
        (folder / "vocab.txt").write_text("\n".join(ordered) + "\n", encoding="utf-8")
    else:
        pieces.save(str(folder / "tokenizer.json"))
    if config or rng.random() < 0.5:
        (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return pieces.get_vocab_size(), {name: pieces.token_to_id(one) for name, one in chosen.items()}


def _draw_kind(rng: random.Random, architecture: str, is_bert: bool) -> str:
    kind = rng.choice(["words", "word file"] if is_bert else ["bytes", "marks", "plain"])
    if architecture == "GPT2LMHeadModel":
        return rng.choice([kind, "files"])
    return rng.choice(["bytes", "marks"]) if architecture in SEQ2SEQ else kind


def _draw_names(rng: random.Random, kind: str) -> list[str]:
    """Names of special pieces, in some order."""
    bert = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    fixed = {"words": bert, "word file": bert, "files": ["<|endoftext|>"]}.get(kind)
    names = list(fixed or rng.choice(NAMES))
    rng.shuffle(names)
    return names


def _draw_options(
    rng: random.Random, kind: str, pieces: Pieces, chosen: dict[str, str], is_bert: bool
) -> dict[str, Any]:
    """What tokenizer_config.json says."""
    config: dict[str, Any] = {f"{name}_token": chosen[name] for name in chosen if rng.random() < 0.9 or is_bert}
    config |= {"tokenizer_class": "PreTrainedTokenizerFast"}
    if kind in ("words", "word file"):
        lowercase = pieces.normalizer.lowercase
        others = [{"strip_accents": False}, {"tokenize_chinese_chars": False}, {"model_max_length": 20}]
        other = kind == "word file" or rng.random() < 0.1
        config = {"do_lower_case": lowercase, "tokenizer_class": "BertTokenizer"}
        config |= rng.choice([{}, *others, {"do_lower_case": not lowercase}] if other else [{}])
    if kind == "files":
        config = rng.choice([{}, {"add_prefix_space": True}, {"add_bos_token": True}, {"unk_token": "<|endoftext|>"}])
    return config | rng.choice(
        [
            {},
            {},
            {"split_special_tokens": True},
            {"clean_up_tokenization_spaces": True},
            {"padding_side": "left"},
            {"chat_template": "{{ x }}"},
        ]
    )


def _trained(pieces: Pieces, trainer: Any) -> Pieces:
    pieces.train_from_iterator(TEXT, trainer)
    return pieces


def _bytes(rng: random.Random, names: list[str]) -> Pieces:
    pieces = Pieces(models.BPE())
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    pieces.decoder = decoders.ByteLevel()
    return _trained(
        pieces,
        trainers.BpeTrainer(
            vocab_size=300,
            special_tokens=names,
            show_progress=False,
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        ),
    )


def _marks(rng: random.Random, names: list[str]) -> Pieces:
    pieces = Pieces(models.BPE(unk_token="<unk>" if "<unk>" in names else None, fuse_unk=True))
    pieces.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme=rng.choice(["first", "always", "never"]))
    pieces.decoder = decoders.Metaspace("▁")
    return _trained(pieces, trainers.BpeTrainer(vocab_size=120, special_tokens=names, show_progress=False))


def _plain(rng: random.Random, names: list[str]) -> Pieces:
    pieces = Pieces(models.WordLevel(unk_token=names[0]))
    pieces.normalizer, pieces.pre_tokenizer = normalizers.NFC(), pre_tokenizers.Whitespace()
    return _trained(pieces, trainers.WordLevelTrainer(special_tokens=names, show_progress=False))


def _words(rng: random.Random, names: list[str]) -> Pieces:
    pieces = Pieces(models.WordPiece(unk_token="[UNK]"))
    pieces.normalizer, pieces.decoder = normalizers.BertNormalizer(lowercase=rng.random() < 0.7), decoders.WordPiece()
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces = _trained(pieces, trainers.WordPieceTrainer(vocab_size=120, special_tokens=names, show_progress=False))
    marks = [(name, pieces.token_to_id(name)) for name in ("[CLS]", "[SEP]")]
    pieces.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=marks)
    return pieces


MAKERS = {"bytes": _bytes, "files": _bytes, "marks": _marks, "plain": _plain, "words": _words, "word file": _words}
