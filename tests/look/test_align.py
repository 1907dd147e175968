"""Which words belong together: counted by spaces, read from the step after a token, the best head chosen."""

import subprocess
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import regard
from regard.alignment.heads import choose_heads, select_heads
from regard.alignment.learn import learn_lexicon
from regard.alignment.lexical_table import FILE, LexicalTable
from regard.alignment.links import AlignmentScore, align_words, read_pharaoh, symmetrise, to_pharaoh, words_of
from regard.data.tokens import EncodedPairs, TokenLists
from regard.errors import FolderError
from regard.formats.ctranslate2 import _move_to_front
from regard.model.transformer import EncoderDecoder

pytestmark = pytest.mark.usefixtures("as_for_users")


@given(st.lists(st.text(alphabet="ab .\u00a0", max_size=4), max_size=12))
def test_tokens_are_counted_to_the_words_of_the_text_they_make(tokens):
    words, place = "".join(tokens).split(), 0
    for token, word in zip(tokens, words_of(tokens), strict=True):
        if token.strip():
            assert word is not None and token.split()[0] in words[word]
        else:
            assert word is None
        place += len(token)
    found = [word for word in words_of(tokens) if word is not None]
    assert found == sorted(found) and (not words or found[-1] <= len(words) - 1)


SOURCE, TARGET = [" a", " red", " ho", "use"], [" ein", " ro", "tes", " Haus"]
ATTENTION = [
    [0.9, 0.0, 0.1, 0.0, 0.0],
    [0.0, 0.8, 0.2, 0.0, 0.0],
    [0.0, 0.7, 0.1, 0.2, 0.0],
    [0.0, 0.1, 0.1, 0.3, 0.5],  # the end is nothing to align with
]


def test_words_are_aligned_by_what_their_tokens_looked_at():
    assert to_pharaoh(align_words(ATTENTION, SOURCE, TARGET)) == "0-0 1-1 2-2"
    assert align_words(ATTENTION[:3], SOURCE, TARGET) == [(0, 0), (1, 1), (2, 1)]  # of "Haus" nothing is known
    assert align_words([], SOURCE, TARGET) == align_words(ATTENTION, [], TARGET) == []


def test_a_source_word_that_is_left_goes_to_whoever_looked_at_it_unless_that_was_faint():
    source, target = [" want", " to", " go"], [" veut", " aller"]
    assert align_words([[0.7, 0.3, 0.0, 0.0], [0.0, 0.05, 0.95, 0.0]], source, target) == [(0, 0), (1, 0), (2, 1)]
    assert align_words([[0.97, 0.03, 0.0, 0.0], [0.0, 0.05, 0.95, 0.0]], source, target) == [(0, 0), (2, 1)]


def test_a_lexicon_corrects_what_was_looked_at():
    source, target, attention = [" a", " b"], [" x"], [[0.6, 0.4, 0.0]]
    assert align_words(attention, source, target, [[0.9, 0.9]]) == align_words(attention, source, target)
    assert (1, 0) in align_words(attention, source, target, [[1e-6, 0.9]])
    assert (0, 0) not in align_words(attention, source, target, [[1e-6, 0.9]])


def test_marks_do_not_speak_for_words():
    """A question mark is not what "Est-ce" comes from, nor where the last word of a question goes."""
    source, target = [" Does", " he", " sleep", "?"], [" Est", "-", "ce", " qu'", "il", " dort", " ?"]
    attention = [
        [0.1, 0.1, 0.1, 0.7, 0.0],
        [0.1, 0.1, 0.1, 0.7, 0.0],
        [0.1, 0.1, 0.1, 0.7, 0.0],
        [0.1, 0.6, 0.1, 0.2, 0.0],
        [0.1, 0.8, 0.1, 0.0, 0.0],
        [0.0, 0.0, 0.9, 0.1, 0.0],
        [0.0, 0.0, 0.1, 0.9, 0.0],
    ]
    evenly = [[0.5] * 4 for _ in target]
    evenly[0] = [0.5, 0.1, 0.1, 0.5]
    evenly[2] = [0.5, 0.1, 0.1, 0.5]
    assert to_pharaoh(align_words(attention, source, target, evenly)) == "0-0 1-1 2-2 2-3"


def test_a_lexicon_may_tell_what_was_not_looked_at_at_all():
    source, target, attention = [" because", " the"], [" que"], [[0.0, 1.0, 0.0]]
    assert (1, 0) in align_words(attention, source, target)
    assert (0, 0) in align_words(attention, source, target, [[0.5, 0.0001]])


TOKENS = st.lists(st.text("ab ,.?", min_size=1, max_size=4), min_size=1, max_size=6)


@given(TOKENS, TOKENS, st.integers(0, 10**6), st.booleans())
def test_every_word_that_was_said_is_linked_and_links_are_between_words_that_are_there(source, target, seed, is_known):
    torch.manual_seed(seed)
    attention = torch.rand(len(target), len(source) + 1).tolist()
    chances = torch.rand(len(target), len(source)).tolist() if is_known else None
    links = align_words(attention, source, target, chances)
    mine, theirs = ({word for word in words_of(side) if word is not None} for side in (source, target))
    assert links == sorted(set(links)) and all(s in mine and t in theirs for s, t in links)
    assert {t for _, t in links} == (theirs if mine else set())


LINKS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=15, unique=True)


@given(LINKS, LINKS)
def test_symmetrised_links_are_between_what_both_and_what_either_has(forward, backward):
    found = set(symmetrise(forward, backward))
    assert set(forward) & set(backward) <= found <= set(forward) | set(backward)
    assert symmetrise(forward, forward) == sorted(forward)


def test_links_grow_from_the_common_ones_to_neighbours_and_to_words_left_alone():
    forward, backward = [(0, 0), (1, 1), (2, 1), (5, 5)], [(0, 0), (1, 1), (1, 2), (4, 5)]
    assert symmetrise(forward, backward) == [(0, 0), (1, 1), (1, 2), (2, 1), (5, 5)]


@given(LINKS)
def test_links_are_written_and_read_again(links):
    sure, every = read_pharaoh(to_pharaoh(sorted(links)))
    assert sure == every == sorted(links)


def test_gold_links_are_sure_or_possible():
    assert read_pharaoh("0-0 1?2 2p1") == ([(0, 0)], [(0, 0), (1, 2), (2, 1)])
    agreement = AlignmentScore()
    agreement.add([(0, 0), (1, 2), (3, 3)], *read_pharaoh("0-0 1?2 2-2"))
    assert agreement.scores == {"aer": 1 - (1 + 2) / (3 + 2), "precision": 2 / 3, "recall": 1 / 2}


def test_the_chosen_heads_make_the_target_likeliest(translator, pairs):
    sides = [translator.tokenizer.encode_all(pairs[side].read_text().splitlines()) for side in ("source", "target")]
    size = translator.tokenizer.vocab_size
    lexicon = learn_lexicon(EncodedPairs(*map(TokenLists.of, sides)), size, torch.ones(size, dtype=torch.bool)).kept()
    examples = list(zip(*sides, strict=True))[:40]
    chosen = choose_heads(translator.model, examples, lexicon)
    assert translator.info.alignment.keys() == chosen.keys() and chosen["likelihood"] < 0
    other = EncoderDecoder(translator.model.config, translator.model.pad_id)  # the same with its heads in another order
    weights, order = translator.model.state_dict(), [2, 0, 3, 1]
    _move_to_front(weights, f"decoder.blocks.{chosen['layer']}.cross_attention.", order, 4)
    other.load_state_dict(weights)
    again = choose_heads(other, examples, lexicon)
    assert sorted(order[head] for head in again["heads"]) == chosen["heads"] and again["layer"] == chosen["layer"]
    assert again["is_after"] == chosen["is_after"]


def test_a_head_that_looks_elsewhere_is_left_out_and_those_that_differ_little_stay():
    right, wrong = torch.eye(5) * 0.9 + 0.02, torch.eye(5).roll(2, 1) * 0.9 + 0.02
    chances = [torch.eye(5) * 0.99 + 0.002]
    likelihood, chosen = select_heads([torch.stack([right, wrong, right * 0.98])], chances, 3)
    assert chosen == [0, 2]
    alone, both = (select_heads([torch.stack(maps)], chances, len(maps))[0] for maps in ([right], [right, wrong]))
    assert alone == pytest.approx(both) and likelihood == pytest.approx(alone, abs=0.01)


def test_a_lexicon_is_kept_and_read_without_torch(translator, folder):
    kept = LexicalTable.read((folder / FILE).read_bytes())
    ids = translator.tokenizer.encode("The dog sleeps.")[:-1]
    rows = kept.of(ids, ids)
    assert rows.shape == (len(ids), len(ids)) and (rows > 0).all() and (rows <= 1).all()
    assert LexicalTable.read((folder / FILE).read_bytes()).pack() == (folder / FILE).read_bytes()
    code = (
        "import sys; from regard.alignment.lexical_table import LexicalTable;"
        "LexicalTable.read(open(sys.argv[1], 'rb').read()); print('torch' in sys.modules)"
    )
    said = subprocess.run([sys.executable, "-c", code, folder / FILE], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


def test_pairs_are_aligned_together_as_each_is_alone(translator, folder):
    kept, draw = LexicalTable.read((folder / FILE).read_bytes()), np.random.default_rng(0)
    ids = sorted(kept.sources)
    pairs = [(draw.choice(ids, source).tolist(), draw.choice(ids, target).tolist())
             for source in (0, 1, 4, 4, 7) for target in (0, 1, 4, 6)]  # fmt: skip
    for pair, together in zip(pairs, kept.of_all(pairs), strict=True):
        np.testing.assert_allclose(together, kept.of(*pair), rtol=1e-4)
    lines = [
        "The dog sleeps.",
        "A cat.",
        "The dog sees the old cat, and the cat sleeps.",
        "",
        "The dog sees a man.",
    ] * 3
    found = [one.alignment for one in translator.translate_all(lines, alignments=True)]
    assert found == [translator.translate(line, alignments=True).alignment for line in lines] and any(found)


def test_given_translations_are_aligned_and_scored_against_gold(translator, pairs, tmp_path):
    sources, targets = (pairs[side].read_text().splitlines()[:6] for side in ("source", "target"))
    found = translator.align(sources, targets)
    for links, source, target in zip(found, sources, targets, strict=True):
        assert links and all(s < len(source.split()) and t < len(target.split()) for s, t in links)
    for name, lines in (("a.en", sources), ("a.fr", targets), ("gold", [to_pharaoh(links) for links in found])):
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    report = translator.evaluate(tmp_path / "a.en", tmp_path / "a.fr", gold=tmp_path / "gold")
    assert report["aer"] == 0 and report["precision"] == report["recall"] == 1 and report["aligned_pairs"] == 6
    (tmp_path / "gold").write_text("0-0\nx\n" * 3)
    with pytest.raises(regard.CorpusError, match="line 2: 'x' is not links"):
        translator.evaluate(tmp_path / "a.en", tmp_path / "a.fr", gold=tmp_path / "gold")
    (tmp_path / "gold").write_text("0-0\n")
    with pytest.raises(regard.CorpusError, match="has 1 lines of links"):
        translator.evaluate(tmp_path / "a.en", tmp_path / "a.fr", gold=tmp_path / "gold")
    with pytest.raises(regard.ConfigError, match="give gold links"):
        translator.evaluate(tmp_path / "a.en", tmp_path / "a.fr", reverse=translator)


@pytest.mark.parametrize(
    "odd", [{"sources": np.zeros((1, 2), np.int32)}, {"targets": np.array([-1], np.int32)},
            {"chances": np.array([1], np.int32)}, {"back": np.zeros(2, np.float32)}, {"jumps": np.zeros(3)}],
    ids=lambda one: next(iter(one)),
)  # fmt: skip
def test_a_lexicon_of_odd_columns_is_refused(odd):
    from safetensors.numpy import save

    from regard.alignment.hmm import WIDEST

    ids, table = np.zeros(1, np.int32), np.ones(1, np.float32)
    right = {"sources": ids, "targets": ids, "chances": table, "back": table,
             "jumps": np.ones((2, 2 * WIDEST + 1), np.float32)}  # fmt: skip
    LexicalTable.read(save(right))
    with pytest.raises(FolderError, match="not a lexicon we can read"):
        LexicalTable.read(save(right | odd))
