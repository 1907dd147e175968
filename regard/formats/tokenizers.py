"""Tokenizers in Hugging Face's folders: ours are written for `AutoTokenizer`, theirs are read as it reads them.

Imports no torch.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Pieces

from regard.errors import FolderError
from regard.files import parse_json, read_regular
from regard.formats.keys import Keys, take, words
from regard.text.bounds import check_vocabulary, most_bytes
from regard.text.sentencepieces import SentencePieces
from regard.text.tokenizer import FILE, Tokenizer

CONFIG, SPECIAL, ADDED = "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"
MOST_CONFIG_BYTES = 4 * 2**20
ROLES = ("bos_token", "eos_token", "pad_token", "unk_token", "mask_token", "cls_token", "sep_token")
OURS = {"bos_token": "begin", "eos_token": "end", "pad_token": "pad", "unk_token": "unknown", "mask_token": "mask"}
PLAIN = ("PreTrainedTokenizer", "TokenizersBackend")  # as tokenizer.json says
USUAL = {  # the class of a model's type where its files name none
    "bert": "BertTokenizer", "gpt2": "GPT2Tokenizer", "marian": "MarianTokenizer", "pegasus": "PegasusTokenizer",
    "bert-generation": "BertGenerationTokenizer",
}  # fmt: skip
USUAL_ROLES = {
    "BertTokenizer": {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]",
                      "mask_token": "[MASK]"},
    "GPT2Tokenizer": dict.fromkeys(("unk_token", "bos_token", "eos_token"), "<|endoftext|>"),
    "LlamaTokenizer": {"unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"},
    "PegasusTokenizer": {"unk_token": "<unk>", "pad_token": "<pad>", "eos_token": "</s>"},
}  # fmt: skip
KEYS = Keys(
    CONFIG,
    "PreTrainedTokenizerFast",
    used={
        **dict.fromkeys(ROLES), "additional_special_tokens": None, "extra_special_tokens": None,
        "added_tokens_decoder": {}, "tokenizer_class": None, "split_special_tokens": False,
        "clean_up_tokenization_spaces": None, "add_bos_token": None, "add_eos_token": None, "add_prefix_space": None,
        "do_lower_case": True, "strip_accents": None, "tokenize_chinese_chars": True, "separate_vocabs": False,
        "legacy": False,
    },
    only={
        "clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output": (None, False),
        "do_basic_tokenize": (None, True), "never_split": (None, []), "fix_mistral_regex": (None, False),
    },
    idle=words("""
        model_max_length max_len max_length padding_side truncation_side truncation truncation_strategy stride
        pad_to_multiple_of pad_token_type_id padding model_input_names name_or_path tokenizer_file vocab_file
        merges_file special_tokens_map_file errors chat_template backend is_local local_files_only
        use_default_system_prompt spaces_between_special_tokens sp_model_kwargs source_lang target_lang source_spm
        target_spm processor_class model_specific_special_tokens auto_map use_fast offset mask_token_sent
        trust_remote_code language response_schema init_inputs
    """),
)  # fmt: skip


def tokenizer_config(max_length: int, *, splits_special: bool = True, **roles: str) -> dict[str, Any]:
    """Roles are names of special tokens (eos_token, pad_token, …); if they are split, their names in a text are text.

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
    """The tokenizer_config.json of a translator."""
    if isinstance(tokenizer, Tokenizer) and tokenizer.id_of("[CLS]") is not None:  # a BERT's
        return tokenizer_config(max_length, splits_special=False) | bert_roles(tokenizer)
    names = {f"{role}_token": tokenizer.pieces[number] for role, number in (
        ("eos", tokenizer.end_id), ("unk", tokenizer.unknown_id), ("pad", tokenizer.pad_id))}  # fmt: skip
    config = tokenizer_config(max_length) | names
    if isinstance(tokenizer, SentencePieces):
        return config | {"tokenizer_class": "MarianTokenizer", "separate_vocabs": False}
    return config


def bert_roles(tokenizer: Tokenizer) -> dict[str, str]:
    """The names of BERT's special pieces that a tokenizer has, by role."""
    roles = {"cls": "[CLS]", "sep": "[SEP]", "pad": "[PAD]", "unk": "[UNK]", "mask": "[MASK]"}
    return {f"{role}_token": name for role, name in roles.items() if tokenizer.id_of(name) is not None}


def read_tokenizer(
    folder: Path, config: Mapping[str, Any] | None = None, rows: int | None = None
) -> Tokenizer | SentencePieces:
    """The tokenizer of a folder: of ours as it is; of others, whose config.json is given, as `AutoTokenizer` makes
    it of tokenizer.json, vocab.txt, vocab.json with merges.txt or with two .spm. rows: of the model's table.
    """
    if config is None:
        return SentencePieces(folder, rows) if _has_pieces(folder) else Tokenizer.load(folder / FILE, rows)
    try:
        return _read_theirs(folder, config, rows)
    except (TypeError, ValueError, KeyError, AttributeError, ArithmeticError) as problem:  # what is not of its kind
        raise FolderError(f"{folder}: its tokenizer cannot be read: {problem!r:.200}") from None


def _read_theirs(folder: Path, config: Mapping[str, Any], rows: int | None) -> Tokenizer | SentencePieces:
    given = _read(folder, CONFIG)
    settings = take(given | ({} if "added_tokens_decoder" in given else _read(folder, SPECIAL, ROLES)), KEYS)
    kind = _kind(config, settings)
    settings |= {role: settings[role] or name for role, name in USUAL_ROLES.get(kind, {}).items()}
    if (folder / FILE).exists() and (kind != "MarianTokenizer" or not _has_pieces(folder)):
        read = _unless_remade(folder, Tokenizer.load(folder / FILE, rows).backend, kind, settings)
    elif _has_pieces(folder):
        if settings["separate_vocabs"]:
            raise FolderError(f"{folder}: {CONFIG} has separate_vocabs=True, and only one vocabulary is supported")
        return SentencePieces(folder, rows)
    else:
        read = _from_vocabulary(folder, kind, settings, rows)
    return _with_roles(read, settings, is_made=kind == "GPT2Tokenizer" and not (folder / FILE).is_file())


def _kind(config: Mapping[str, Any], settings: Mapping[str, Any]) -> str:
    """The class that `AutoTokenizer` takes: the one that is named, or else that of the model's type."""
    side = config.get("encoder") if config.get("model_type") == "encoder-decoder" else config
    named = str(settings["tokenizer_class"] or config.get("tokenizer_class") or "").removesuffix("Fast")
    if named in PLAIN:
        return PLAIN[0]
    return named or USUAL.get(str(side.get("model_type")) if isinstance(side, dict) else "", PLAIN[0])


def _has_pieces(folder: Path) -> bool:
    return all((folder / name).exists() for name in SentencePieces.FILES)


def _read(folder: Path, name: str, only: tuple[str, ...] | None = None) -> dict[str, Any]:
    """The object in a JSON file, empty if there is no such file; the names of tokens are words."""
    if not (folder / name).exists():
        return {}
    try:
        content = parse_json(read_regular(folder / name, MOST_CONFIG_BYTES))
    except (OSError, ValueError) as problem:
        raise FolderError(f"{folder / name} is not a JSON file we can read: {problem}") from None
    if not isinstance(content, dict):
        raise FolderError(f"{folder / name} is not a JSON object; it was changed or damaged")
    return {key: _name(value) if key in ROLES else value for key, value in content.items() if not only or key in only}


def _name(token: Any) -> str | None:
    """A token's name, which may be inside an object with its properties."""
    found = token.get("content") if isinstance(token, dict) else token
    if found is not None and not isinstance(found, str):
        raise FolderError(f"{CONFIG} names a token {token!r:.80}, which is not a word")
    return found


def _from_vocabulary(folder: Path, kind: str, settings: dict[str, Any], rows: int | None) -> Pieces:
    """A tokenizer of a folder without tokenizer.json, by the class that would read it."""
    if _read(folder, ADDED):
        raise FolderError(f"{folder} has {ADDED} and no {FILE}; save its tokenizer with transformers to get one")
    try:
        if kind in ("BertTokenizer", "BertGenerationTokenizer") and (folder / "vocab.txt").exists():
            lines = _text(folder / "vocab.txt", rows).removesuffix("\n").split("\n")
            vocabulary = {line: number for number, line in enumerate(lines)}
            check_vocabulary(vocabulary, rows)
            return _bert(models.WordPiece(vocabulary, unk_token=settings["unk_token"] or "[UNK]"), settings)
        if kind == "GPT2Tokenizer" and (folder / "vocab.json").exists() and (folder / "merges.txt").exists():
            vocabulary = parse_json(_text(folder / "vocab.json", rows))
            check_vocabulary(vocabulary, rows)
            return _gpt2(models.BPE(vocabulary, _pairs(_text(folder / "merges.txt", rows))), settings)
    except Exception as problem:
        raise FolderError(f"{folder}: its vocabulary cannot be read: {problem}") from None
    raise FolderError(f"{folder} has no {FILE}; of a {kind}, that is needed (of a BertTokenizer vocab.txt does, of a "
                      f"GPT2Tokenizer vocab.json with merges.txt)")  # fmt: skip


def _text(path: Path, rows: int | None) -> str:
    return read_regular(path, most_bytes(rows)).decode("utf-8")


def _pairs(text: str) -> list[tuple[str, str]]:
    """Which pieces are put together, in this order."""
    lines = [line for line in text.split("\n") if line and not line.startswith("#version")]
    return [(first, second) for first, second in (line.split(" ") for line in lines)]


def _bert(model: Any, settings: Mapping[str, Any]) -> Pieces:
    """BERT's: WordPiece, between [CLS] and [SEP]."""
    pieces = Pieces(model)
    pieces.normalizer = normalizers.BertNormalizer(
        lowercase=settings["do_lower_case"], strip_accents=settings["strip_accents"],
        handle_chinese_chars=settings["tokenize_chinese_chars"],
    )  # fmt: skip
    pieces.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    pieces.decoder = decoders.WordPiece()
    marks = [
        (name, pieces.token_to_id(name))
        for name in (settings["cls_token"] or "[CLS]", settings["sep_token"] or "[SEP]")
    ]
    if any(number is None for _, number in marks):
        raise FolderError(f"its vocabulary has no {' or no '.join(name for name, number in marks if number is None)}")
    (first, _), (last, _) = marks
    pieces.post_processor = processors.TemplateProcessing(
        single=f"{first}:0 $A:0 {last}:0", pair=f"{first}:0 $A:0 {last}:0 $B:1 {last}:1", special_tokens=marks
    )
    return pieces


def _gpt2(model: Any, settings: Mapping[str, Any]) -> Pieces:
    """GPT-2's: byte-level BPE that knows no space before the first word, unless it is asked for."""
    pieces = Pieces(model)
    pieces.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=bool(settings["add_prefix_space"]))
    pieces.decoder = decoders.ByteLevel()
    return pieces


def _llama(model: Any, settings: Mapping[str, Any]) -> Pieces:
    """Llama's first: BPE whose spaces are marks."""
    pieces = Pieces(model)
    has_space = settings["add_prefix_space"] in (None, True)
    scheme = ("always" if settings["legacy"] else "first") if has_space else "never"
    pieces.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme=scheme, split=False)
    steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    pieces.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)] if has_space else steps)
    return pieces


# Classes that make all but the vocabulary anew: how, and what the model in tokenizer.json must be like.
REMADE: dict[str, tuple[Any, dict[str, Any]]] = {
    "BertTokenizer": (_bert, {"type": "WordPiece", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100}),
    "GPT2Tokenizer": (_gpt2, {"type": "BPE", "dropout": None, "unk_token": None, "byte_fallback": False,
                              "ignore_merges": False}),
    "LlamaTokenizer": (_llama, {"type": "BPE", "dropout": None, "byte_fallback": True, "fuse_unk": True,
                                "ignore_merges": False}),
}  # fmt: skip


def _unless_remade(folder: Path, pieces: Pieces, kind: str, settings: dict[str, Any]) -> Pieces:
    """A tokenizer.json, if the class that reads it leaves it as it is."""
    theirs_json = json.loads(pieces.to_str())
    if kind not in REMADE or (kind == "LlamaTokenizer" and '"ByteLevel"' in pieces.to_str()):
        return pieces
    make, model = REMADE[kind]
    remade = make(pieces.model, settings)
    pairs = [(f"model's {name}", theirs_json["model"].get(name), value) for name, value in model.items()]
    pairs += [(part, _state(getattr(pieces, part)), _state(getattr(remade, part)))
              for part in ("normalizer", "pre_tokenizer", "decoder")]  # fmt: skip
    if remade.post_processor is not None:
        pairs.append(("marks around a text", pieces.encode("").ids, remade.encode("").ids))
    for what, mine, theirs in pairs:
        if mine != theirs:
            raise FolderError(
                f"{folder}: {FILE} has as {what} {mine!s:.120}, and a {kind} makes {theirs!s:.120} of {CONFIG}; to "
                f"have it as {FILE} says, set tokenizer_class to PreTrainedTokenizerFast there"
            )
    return pieces


def _state(part: Any) -> Any:
    """The settings of a part of a tokenizer, without those that only concern offsets."""
    found = None if part is None else json.loads(part.__getstate__())
    return {name: value for name, value in found.items() if name != "trim_offsets"} if found else None


def _with_roles(pieces: Pieces, settings: dict[str, Any], is_made: bool) -> Tokenizer:
    """The same with its special tokens known. is_made: it was made of a vocabulary by a class that puts no marks around
    a text but those that tokenizer_config.json asks for; a tokenizer.json says itself which.
    """
    extra = settings["extra_special_tokens"] or []
    extra = extra.values() if isinstance(extra, dict) else extra
    listed = [*(settings["additional_special_tokens"] or []), *extra]
    known = {one.content: one for one in pieces.get_added_tokens_decoder().values()}
    named = dict.fromkeys([*(settings[role] for role in ROLES), *map(_name, listed)])
    there = [token for token in named if token is not None and pieces.token_to_id(token) is not None]  # has a row
    # All at once: each call goes through those that are there, and a stranger's folder may list every piece.
    pieces.add_special_tokens(
        [known.get(token) or AddedToken(token, special=True, normalized=False) for token in there]
    )
    for number, token in settings["added_tokens_decoder"].items():
        if pieces.token_to_id(str(_name(token))) != int(number):
            raise FolderError(f"{CONFIG} adds a token {_name(token)!r:.60} with the id {number}, and {FILE} has not")
    if is_made and (settings["add_bos_token"] is not None or settings["add_eos_token"] is not None):
        pieces.post_processor = _marked(pieces, settings)
    roles = {ours: pieces.token_to_id(settings[name]) for name, ours in OURS.items() if settings[name] is not None}
    return Tokenizer(
        pieces, {name: number for name, number in roles.items() if number is not None},
        splits_special=settings["split_special_tokens"],
        cleans=bool(settings["clean_up_tokenization_spaces"]) and not isinstance(pieces.model, models.BPE),
    )  # fmt: skip


def _marked(pieces: Pieces, settings: Mapping[str, Any]) -> Any:
    """A post-processor that puts a begin before a text, an end after it, or neither."""
    names = {"add_bos_token": settings["bos_token"], "add_eos_token": settings["eos_token"]}
    marks = {key: name for key, name in names.items() if settings[key] and name is not None}
    if missing := [name for name in marks.values() if pieces.token_to_id(name) is None]:
        raise FolderError(f"{CONFIG} asks for {missing[0]!r:.60} around each text, and the vocabulary does not have it")
    before, after = (f"{marks[key]}:0" if key in marks else "" for key in names)
    return processors.TemplateProcessing(
        single=" ".join(part for part in (before, "$A:0", after) if part),
        special_tokens=[(n, pieces.token_to_id(n)) for n in {*marks.values()}],
    )
