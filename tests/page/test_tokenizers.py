"""The tokenizer of the page against the library, id by id, for every one that is trained here; in node and Chromium."""

import json

import test_vectors
from nasty import ODD, nasty_texts
from tokenizers import Regex, pre_tokenizers

import regard
from regard.look.live import describe_tokenizer, roles_of
from regard.text.vocabulary import (
    learn_bytes,
    learn_characters,
    learn_masked,
    learn_pairs,
    learn_running,
    learn_wordpieces,
    learn_words,
)  # fmt: skip

page = test_vectors.page  # the fixture


def trained(texts: list[str]) -> dict:
    return {
        "pairs": learn_pairs(texts, 500),
        "running": learn_running(texts, 500),
        "bytes": learn_bytes(),
        "characters": learn_characters([*texts, "".join(ODD[:20])]),
        "wordpieces": learn_wordpieces(texts, 300, lowercase=False),
        "wordpieces in lower case": learn_wordpieces(texts, 300, lowercase=True),
        "masked": learn_masked(texts, 500),
        "words": learn_words(texts, ["apple,football"]),
    }


def case(name: str, tokenizer, texts: list[str]) -> dict:
    encoded = tokenizer.encode_all(texts)
    rows = [
        {"text": text, "ids": ids, "decoded": tokenizer.decode(ids), "tokens": tokenizer.tokens(ids)}
        for text, ids in zip(texts, encoded, strict=True)
    ]
    described = json.loads(describe_tokenizer(tokenizer))
    return {"name": name, "described": described, "roles": roles_of(tokenizer), "texts": rows}


def test_every_tokenizer_that_is_trained_gives_the_same_ids_and_texts(tmp_path, page):
    phrases = regard.phrasebook("de", "fr", 200)
    texts = [phrase.source for phrase in phrases] + [phrase.target for phrase in phrases]
    nasty = nasty_texts(600, " ".join(texts).split())
    test_vectors.run(
        tmp_path, page, tokenizers=[case(name, tokenizer, nasty) for name, tokenizer in trained(texts).items()]
    )


def test_classes_of_characters_are_those_of_the_library(tmp_path, page):
    """Every character there is, by the expression that splits words."""
    everything = [chr(code) for code in range(0x110000) if not 0xD800 <= code <= 0xDFFF]
    pattern = r"[\p{L}\p{M}]+|\p{N}|\s"
    splitter = pre_tokenizers.Split(Regex(pattern), "isolated")
    described = dict.fromkeys(["normalizer", "post_processor", "decoder"]) | {
        "model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"},
        "added_tokens": [],
        "pre_tokenizer": {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False},
    }
    rows = []
    for start in range(0, len(everything), 4096):
        text = "".join(everything[start : start + 4096])
        count = len(splitter.pre_tokenize_str(text))
        rows.append({"text": text, "ids": [0] * count, "decoded": " ".join("?" * count), "tokens": ["?"] * count})
    test_vectors.run(
        tmp_path, page, tokenizers=[{"name": "characters", "described": described, "roles": {}, "texts": rows}]
    )
