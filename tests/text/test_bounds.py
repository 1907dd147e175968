"""A tokenizer from a stranger costs no more than its text is worth, or is refused by name."""

import base64
import json
import shutil

import pytest
from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors
from tokenizers import Tokenizer as Pieces

import regard
from regard.errors import ConfigError, FolderError
from regard.files import hash_file
from regard.formats.tokenizers import read_tokenizer
from regard.text.bounds import FAMOUS, check_pieces, check_tokenizer
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import (
    learn_bytes,
    learn_characters,
    learn_masked,
    learn_pairs,
    learn_wordpieces,
    learn_words,
)

WORDS = {word: number for number, word in enumerate(["[UNK]", "a", "b", "ab", "</s>", "<pad>"])}


def told(**parts) -> dict:
    """A small tokenizer.json that is fine, but for these parts."""
    pieces = Pieces(models.WordLevel(WORDS, unk_token="[UNK]"))
    pieces.pre_tokenizer = pre_tokenizers.Whitespace()
    return json.loads(pieces.to_str()) | parts


def copied(folder, place):
    return shutil.copytree(folder, place, ignore=shutil.ignore_patterns("run", "ctranslate2*"))


def reseal(folder):
    """regard.json lists the files as they are now."""
    about = json.loads((folder / "regard.json").read_text())
    about["files_sha256"] = {name: hash_file(folder / name) for name in about["files_sha256"]}
    (folder / "regard.json").write_text(json.dumps(about))


def replace(pattern, content):
    return {"type": "Replace", "pattern": pattern, "content": content}


def chain(role, parts):
    return {"type": "Sequence", role: parts}


def added(number, content):
    return [{"id": number, "content": content, "special": True}
            | dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)]  # fmt: skip


def template(single, marks=1):
    mark = {"id": "</s>", "ids": [4] * marks, "tokens": ["</s>"] * marks}
    return {"type": "TemplateProcessing", "single": single, "pair": [], "special_tokens": {"</s>": mark}}


def nested(depth):
    return chain("normalizers", [nested(depth - 1)] if depth else [])


TEN = [replace({"String": letter}, other * 10) for letter, other in ("ab", "bc", "cd", "de", "ef", "fg", "gh", "hi")]
TABLE = (4).to_bytes(4, "little") + (2**30).to_bytes(4, "little") + b"a\0"
BACKTRACKS = {"type": "Split", "pattern": {"Regex": "(a+)+b"}, "behavior": "Isolated", "invert": False}
ASTRAY = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(TABLE).decode()}
ENDS = [{"SpecialToken": {"id": "</s>", "type_id": 0}}] * 10**5
SWELLS = (1024).to_bytes(4, "little") + b"\0" * 1024 + b"a" * 20 + b"\0"  # a table whose longest entry has 20 letters
SWELLING = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(SWELLS).decode()}
TWICE = [{"Sequence": {"id": "A", "type_id": 0}}] * 2
WORDPIECE = {"type": "WordPiece", "vocab": WORDS, "unk_token": "[UNK]", "continuing_subword_prefix": "##"}
LEVEL = {"type": "WordLevel", "unk_token": "[UNK]"}
CRAFTED = {
    "replacements that multiply": told(normalizer=chain("normalizers", TEN)),
    "one replacement that swells": told(normalizer=replace({"String": "a"}, "b" * 10**6)),
    "a pattern that matches nothing": told(normalizer=replace({"String": ""}, "bb")),
    "a decoder that multiplies": told(decoder=chain("decoders", TEN)),
    "tables of normal forms, one after another": told(normalizer=chain("normalizers", [SWELLING] * 2)),
    "a table of normal forms and a replacement": told(normalizer=chain("normalizers", [SWELLING, TEN[0]])),
    "bytes as characters, again and again": told(normalizer=chain("normalizers", [{"type": "ByteLevel"}] * 9)),
    "a template that repeats the text": told(post_processor=template(TWICE)),
    "templates, one after another": told(post_processor=chain("processors", [template(TWICE[:1])] * 2)),
    "a replacement of nothing": told(normalizer=replace({"Regex": "x*"}, "a" * 32)),
    "a pattern that backtracks": told(pre_tokenizer=BACKTRACKS),
    "a prefix without end": told(normalizer={"type": "Prepend", "prepend": "a" * 10**6}),
    "an added id of 4e9": told(added_tokens=added(4_000_000_000, "x")),
    "an added piece that is empty": told(added_tokens=added(6, "")),
    "an added piece of a thousand letters": told(added_tokens=added(6, "x" * 1000)),
    "ids beyond any table": told(model=LEVEL | {"vocab": WORDS | {"far": 10**9}}),
    "a piece of a million letters": told(model=LEVEL | {"vocab": WORDS | {"a" * 10**6: 6}}),
    "a template a hundred thousand long": told(post_processor=template(ENDS)),
    "a mark of a million ids": told(post_processor=template([], 10**6)),
    "a table that leads astray": told(normalizer=ASTRAY),
    "words without end": told(model=WORDPIECE | {"max_input_chars_per_word": 10**9}),
    "dropout": told(model={"type": "BPE", "vocab": WORDS, "merges": [], "dropout": 0.5}),
    "an unknown part": told(normalizer={"type": "Explode"}),
    "nesting": told(normalizer=nested(20)),
    "many parts": told(normalizer=chain("normalizers", [{"type": "NFKD"}] * 1000)),
    "no object": [],
    "parts that are none": told(normalizer=5, decoder="x", model=None),
}


@pytest.mark.parametrize("what", CRAFTED)
def test_what_cannot_be_bounded_is_refused_in_one_line(what, tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps(CRAFTED[what]))
    with pytest.raises(FolderError, match=r"tokenizer\.json is not a tokenizer we can read") as problem:
        Tokenizer.load(tmp_path / "tokenizer.json")
    assert "\n" not in str(problem.value) and len(str(problem.value)) < 600


@pytest.mark.parametrize(
    "pattern",
    ["(a*)*", "(a|aa)+", "(?:a+)+", "a+b+c+", "(a*|b)(a*|c)", "a?" * 30 + "a" * 30, "(.*)x\\1", "a{0,99}a{0,99}b",
     "(?<=a+)b", "(a?){20}", "[[:alpha:]]+[a&&[b]]+", "(" * 100,
     "|".join([r"\w+\d"] * 170), r"\w+\d", "a+{9}[^a ]", r"\w{1,}{30}\d", r"\w+{20}\d", r"\w+?x", r"\w++", r"\w{2,}$",
     r"\w(?=\w*\d)", "(?:a|a)" * 20 + "b", r"\w{500}\d", "|".join("abcdefghi"), "[]a+]b", r"\X+", r"\c+x", r"(?:a+)b"],
)  # fmt: skip
def test_patterns_that_may_take_for_ever_are_refused(pattern):
    with pytest.raises(ValueError, match="take for ever"):
        check_tokenizer(told(pre_tokenizer={"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated"}))


@pytest.mark.parametrize(
    "pattern",
    [r"\s+", r"\n", " {2,}", r"[\s\S]", r"\w+|[^\w\s]+", r"\p{N}{1,3}", r"[0-9][0-9][0-9]", r"\s?\p{L}+", r"\d|\D+",
     r"[\p{L}\p{M}\p{N}'_-]+", "[一-龥ࠀ-一가-퟿]+", r"(?i:'s|'t)| ?\p{L}+"],
)  # fmt: skip
def test_patterns_that_repeat_only_what_they_end_with_are_taken(pattern):
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    check_tokenizer(told(pre_tokenizer=split, normalizer=replace({"Regex": pattern}, " ")))


def test_fixed_padding_and_truncation_of_a_file_do_nothing(tmp_path):
    padding = {"strategy": {"Fixed": 10**9}, "direction": "Right", "pad_to_multiple_of": None, "pad_id": 5,
               "pad_type_id": 0, "pad_token": "<pad>"}  # fmt: skip
    truncation = {"direction": "Right", "max_length": 1, "strategy": "LongestFirst", "stride": 0}
    (tmp_path / "tokenizer.json").write_text(json.dumps(told(padding=padding, truncation=truncation)))
    assert Tokenizer.load(tmp_path / "tokenizer.json").encode("a b") == [1, 2]


def test_an_unknown_piece_that_is_not_there_is_an_error_of_ours(tmp_path):
    model = {"type": "WordPiece", "vocab": {"a": 0}, "unk_token": "[gone]", "continuing_subword_prefix": "##",
             "max_input_chars_per_word": 100}  # fmt: skip
    (tmp_path / "tokenizer.json").write_text(json.dumps(told(model=model)))
    with pytest.raises(FolderError, match=r"tokenizer\.json"):
        Tokenizer.load(tmp_path / "tokenizer.json").encode("b")


def known_tokenizers():
    """Such as people have: the parts of GPT-2, Llama 2 and 3, BERT, T5 and Pegasus, Gemma, RoBERTa; and our own."""
    gpt2 = Pieces(models.BPE({"a": 0, "Ġ": 1}, []))
    gpt2.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    gpt2.decoder, gpt2.post_processor = decoders.ByteLevel(), processors.ByteLevel(trim_offsets=False)
    roberta = Pieces(models.BPE({"a": 0, "<s>": 1, "</s>": 2}, []))
    roberta.pre_tokenizer, roberta.post_processor = (
        gpt2.pre_tokenizer,
        processors.RobertaProcessing(("</s>", 2), ("<s>", 1)),
    )
    for number, pattern in enumerate(sorted(FAMOUS)):
        modern = Pieces(models.BPE({"a": 0, "<s>": 1}, []))
        split = pre_tokenizers.Split(Regex(pattern), "isolated")
        as_bytes = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        modern.pre_tokenizer = pre_tokenizers.Sequence([split, as_bytes])
        start = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", 1)])
        modern.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), start])
        yield f"modern {number}", modern
    llama = Pieces(models.BPE({"a": 0, "▁": 1, "<unk>": 2}, [], unk_token="<unk>", byte_fallback=True))
    llama.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    llama.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )
    pegasus = Pieces(models.Unigram([("<unk>", 0.0), ("▁a", -1.0)], 0, False))
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    pegasus.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    pegasus.pre_tokenizer, pegasus.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
    bert = Pieces(models.WordPiece({"[UNK]": 0, "a": 1, "[CLS]": 2, "[SEP]": 3}, unk_token="[UNK]"))
    bert.normalizer, bert.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    bert.post_processor, bert.decoder = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2)), decoders.WordPiece()
    yield from {"gpt2": gpt2, "roberta": roberta, "llama 2": llama, "pegasus": pegasus, "bert": bert}.items()
    texts = ["the dog sees the cat, 12 times", "Ünïcode too"]
    own = (learn_bytes(), learn_characters(texts), learn_masked(texts, 300), learn_pairs(texts, 300),
           learn_wordpieces(texts, 300, lowercase=True), learn_words(texts, ["a b"]))  # fmt: skip
    yield from ((f"own {number}", one._pieces) for number, one in enumerate(own))


@pytest.mark.parametrize(("name", "pieces"), known_tokenizers(), ids=lambda one: one if isinstance(one, str) else "")
def test_tokenizers_that_people_have_open_and_do_not_swell_on_any_text(name, pieces, tmp_path):
    (tmp_path / "tokenizer.json").write_text(pieces.to_str())
    opened = Tokenizer.load(tmp_path / "tokenizer.json")
    for text in ("a", "A man is here.", "a" * 5000, " " * 5000, "'" * 5000, " \n" * 2500, "1" * 5000, "ﷺ" * 1000):
        assert len(opened.encode(text)) <= 60 * len(text) + 10


def test_a_sentencepiece_model_is_looked_through_before_it_is_run():
    pytest.importorskip("sentencepiece")
    import io

    import sentencepiece

    model = io.BytesIO()
    texts = iter(["the dog sees the cat", "a cat is here", "ﬁne Ünïcode"] * 50)
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=texts, model_writer=model, vocab_size=40, hard_vocab_limit=False, minloglevel=3
    )
    check_pieces(model.getvalue())  # with the usual table of normal forms
    for cut in (1, 100, 1000, len(model.getvalue()) - 1):
        with pytest.raises(ValueError, match=r"protobuf|normal forms"):
            check_pieces(model.getvalue()[:cut])
    for crafted in (TABLE, (8).to_bytes(4, "little") + b"\0" * 8 + b"a" * 10**4 + b"\0", b"\xff" * 8,
                    (1024).to_bytes(4, "little") + b"\0" * 1024 + b"a" * 40 + b"\0"):  # fmt: skip
        spec = b"\x12" + bytes([len(crafted) & 127 | 128, len(crafted) >> 7]) + crafted
        with pytest.raises(ValueError, match="normal forms"):
            check_pieces(b"\x1a" + bytes([len(spec) & 127 | 128, len(spec) >> 7]) + spec)


def test_a_tokenizer_larger_than_the_table_of_its_model_is_refused_before_it_is_built(folder, tmp_path):
    trial = copied(folder, tmp_path / "m")
    content = json.loads((trial / "tokenizer.json").read_text())
    content["model"]["vocab"] |= {f"piece {number}": 10**4 + number for number in range(10**4)}
    (trial / "tokenizer.json").write_text(json.dumps(content))
    reseal(trial)
    with pytest.raises(FolderError, match=r"tokenizer\.json .* ids up to .* not of the same model"):
        regard.load(trial)
    (trial / "tokenizer.json").write_text(json.dumps(content) + " " * 6 * 2**20)
    reseal(trial)
    with pytest.raises(FolderError, match=r"tokenizer\.json"):
        regard.load(trial)


def test_a_character_of_more_tokens_than_the_model_has_positions_is_refused(folder, tmp_path):
    trial = copied(folder, tmp_path / "m")
    content = json.loads((trial / "tokenizer.json").read_text())
    content["normalizer"] = replace({"String": "q"}, "q" * 32)
    mark = {"id": "</s>", "ids": [0] * 60, "tokens": ["</s>"] * 60}
    ends = [{"SpecialToken": {"id": "</s>", "type_id": 0}}] * 60
    single = [{"Sequence": {"id": "A", "type_id": 0}}, *ends]
    content["post_processor"] = template(single) | {"special_tokens": {"</s>": mark}}
    (trial / "tokenizer.json").write_text(json.dumps(content))
    reseal(trial)
    with pytest.raises(ConfigError, match="positions"):  # in torch, those that are worked out have no end
        regard.load(trial, engine="ctranslate2")("q")


@pytest.mark.parametrize(
    "odd", [{"settings": {"source_language": ["x"]}}, {"settings": {"target_language": {"a": 1}}}, {"settings": []},
            {"alignment": []}],
)  # fmt: skip
@pytest.mark.parametrize("engine", ["torch", "ctranslate2"])
def test_languages_and_alignment_of_the_wrong_kind_are_refused_when_opening(folder, engine, odd, tmp_path):
    trial = copied(folder, tmp_path / "m")
    about = json.loads((trial / "regard.json").read_text())
    (trial / "regard.json").write_text(json.dumps(about | odd))
    with pytest.raises(FolderError, match=r"regard\.json (has|is not)"):
        regard.load(trial, engine=engine)


@pytest.mark.parametrize("roles", [{"pad": 10**9}, {"pad": -1}, {"end": 400}])
def test_a_role_of_an_id_that_no_token_has_is_refused(folder, roles, tmp_path):
    trial = copied(folder, tmp_path / "m")
    (trial / "roles.json").write_text(json.dumps(roles))
    with pytest.raises(FolderError, match=r"roles\.json gives a role to an id that no token has"):
        read_tokenizer(trial, rows=400)
