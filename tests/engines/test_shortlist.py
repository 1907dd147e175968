"""A lexicon finds which words belong together, and a shortlist keeps everything that must stay within reach."""

import random

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import regard
from regard.alignment.learn import Lexicon, learn_lexicon
from regard.alignment.shortlist import make_shortlist
from regard.data.tokens import EncodedPairs, TokenLists
from regard.decoding.settings import Search

pytestmark = pytest.mark.usefixtures("as_for_users")

SIZE = 40  # ids 1 to 19 are words of one language, 20 to 38 of the other, 0 is the end


def corpus(count: int, seed: int) -> EncodedPairs:
    """Each word n has one translation, n + 19, and the order is anybody's guess."""
    draw = random.Random(seed)
    sources = [[draw.randint(1, 19) for _ in range(draw.randint(1, 6))] for _ in range(count)]
    targets = [draw.sample([word + 19 for word in words], len(words)) for words in sources]
    return EncodedPairs(*(TokenLists.of([*words, 0] for words in side) for side in (sources, targets)))


def learned(pairs: EncodedPairs) -> Lexicon:
    return learn_lexicon(pairs, SIZE, torch.ones(SIZE, dtype=torch.bool))


@given(st.integers(0, 10**6))
@settings(max_examples=20)
def test_a_lexicon_finds_every_word_of_a_language_that_is_a_code(seed):
    pairs = corpus(300, seed)
    lexicon = learned(pairs)
    seen = set(pairs.sources.flat.tolist()) - {0}
    assert {word: likely[0] for word, likely in lexicon.likely(1).items() if word} == {word: word + 19 for word in seen}
    for source in seen:
        assert abs(float(lexicon.probabilities[lexicon.keys // SIZE == source].sum()) - 1) < 1e-4
        assert abs(float(lexicon.back[lexicon.keys % SIZE == source + 19].sum()) - 1) < 1e-4
        assert int(lexicon.kept().of([source], list(range(SIZE))).argmax()) == source + 19


def test_words_that_always_stand_beside_each_other_are_told_from_the_frequent_one_by_their_order():
    """Word 1 becomes 20 and 21, one after the other; word 2 is in every text, and becomes 22 somewhere else."""
    draw = random.Random(1)
    sides: tuple[list[list[int]], list[list[int]]] = ([], [])
    for _ in range(400):
        rest = [draw.randint(4, 12) for _ in range(3)]
        first = [[draw.choice([1, 3])], *([word] for word in rest), [2]]
        others = {1: [20, 21], 3: [23], 2: [22]} | {word: [word + 20] for word in rest}
        sides[0].append([*(word for one in first for word in one), 0])
        sides[1].append([*(said for one in first for said in others[one[0]]), 0])
    kept = learned(EncodedPairs(*map(TokenLists.of, sides))).kept()
    told = kept.of([1, 5, 6, 7, 2], [20, 21, 25, 26, 27, 22])  # (T, S)
    assert told.argmax(1).tolist() == [0, 0, 1, 2, 3, 4]


def test_a_mark_is_not_what_a_word_comes_from():
    """Both stand in every text that begins with word 1; only one of them has letters."""
    is_word = torch.ones(SIZE, dtype=torch.bool)
    is_word[[2, 22]] = False
    draw = random.Random(1)
    rows = [([1, *(draw.randint(4, 12) for _ in range(3)), 2, 0]) for _ in range(200)]
    rows += [[*(draw.randint(4, 12) for _ in range(4)), 0] for _ in range(200)]
    targets = [[*((20, 22) if word == 2 else (word + 20,) for word in row if word > 1)] for row in rows]
    sides = rows, [[*(said for one in target for said in one), 0] for target in targets]
    kept = learn_lexicon(EncodedPairs(*map(TokenLists.of, sides)), SIZE, is_word).kept()
    told = kept.of([1, 5, 6, 7, 2], [25, 26, 27, 20, 22])
    assert told.argmax(1).tolist() == [1, 2, 3, 0, 4]


def test_a_shortlist_has_the_likely_words_copies_and_what_must_stay():
    pieces = [f"p{number}" for number in range(SIZE - 1)]
    pairs = corpus(300, 1)
    lines = make_shortlist(learned(pairs), pairs, pieces, [0, 7], most=2).splitlines()
    listed = {line.split("\t")[0]: set(line.split("\t")[1].split()) for line in lines}
    assert {"p0", "p7"} <= listed[""]
    for word in range(1, 20):
        assert {pieces[word], pieces[word + 19]} <= listed.get(pieces[word], set()) | listed[""]


def test_fast_chooses_within_the_shortlist_and_says_the_same_where_that_is_enough(folder, translator, pairs):
    listed = {}
    for line in (folder / "shortlist.txt").read_text(encoding="utf-8").splitlines():
        source, _, targets = line.partition("\t")
        listed[source] = set(targets.split(" "))
    names, same = translator.tokenizer.pieces, 0
    for line in pairs["source"].read_text().splitlines()[:60]:
        within = listed[""].union(*(listed.get(names[i], ()) for i in translator.tokenizer.encode(line)))
        full, fast = (
            [names[i] for i in said.ids]
            for said in (
                translator.run([translator.tokenizer.encode(line)], [30], Search(is_fast=is_fast))[0][0]
                for is_fast in (False, True)
            )
        )
        assert set(fast) <= within
        if set(full) <= within:
            same += 1
            assert fast == full
    assert same > 5


def test_only_a_model_with_a_shortlist_on_the_fast_engine_is_fast(folder):
    with pytest.raises(regard.ConfigError, match="run by torch"):
        regard.load(folder, engine="torch")("The dog.", fast=True)
