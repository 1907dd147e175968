"""The table of defaults has an answer for every corpus, and answers that can be trained with."""

import pytest

from regard.config import merge, resolve
from regard.families import find_recipe
from regard.families.fill.settings import ROWS as FILL
from regard.families.table import choose, choose_vocab_size, count_words
from regard.families.translate.recipe import TRANSLATE
from regard.families.translate.settings import ROWS as PAIRS
from regard.families.write.settings import ROWS as WRITE
from regard.text.corpus import Pair
from regard.text.stream import ListedExamples
from regard.training.prepare import decide
from regard.training.recipe import Corpus

TABLE = {"translate": PAIRS, "write": WRITE, "fill": FILL}


@pytest.mark.parametrize("task", sorted(TABLE))
def test_every_size_of_corpus_has_a_row_that_resolves(task):
    limits = [row.below for row in TABLE[task]]
    assert limits == sorted(limits) and limits[-1] == float("inf")
    weights = []
    for words in (1, 10_000, 1_000_000, 30_000_000, 10**10):
        chosen = choose(TABLE[task], words)
        shape = find_recipe(task).sizes[chosen["size"]]
        config = resolve(merge(shape, chosen | {"task": task}))
        weights.append(config.model.layers * config.model.width**2 + config.text.vocab_size * config.model.width)
    assert weights == sorted(weights)  # more text, a larger network


def test_vocabulary_grows_with_the_corpus_within_bounds():
    sizes = [choose_vocab_size(words) for words in (100, 10_000, 750_000, 5_000_000, 10**9)]
    assert sizes == sorted(sizes) and sizes[0] == 600 and sizes[-1] == 32_000 and sizes[2] in range(5_000, 7_001)


def test_words_are_counted_where_no_spaces_are_written():
    assert count_words(["one two three"]) == 3
    assert count_words(["字" * 60]) == 10


@pytest.mark.parametrize("task", sorted(TABLE))
def test_who_has_less_time_never_gets_a_larger_network(task):
    for words in (1, 1_000_000, 3_000_000, 30_000_000, 10**10):
        places = [
            list(find_recipe(task).sizes).index(choose(TABLE[task], words, minutes)["size"])
            for minutes in (0.1, 10, 60, 600, None)
        ]
        assert places == sorted(places)


def test_a_run_of_minutes_on_much_text_takes_a_tiny_translator_and_a_long_one_a_small_one():
    pairs = [Pair("a b c d e f g h i j", "k l m n o p q r s t", 1)] * 150_000
    corpus = Corpus(ListedExamples(pairs, [], words=3_000_000), {})

    def size(**stop):
        config = decide(TRANSLATE, corpus, {"task": "translate", "device": "cpu", "stop": stop})
        return config.model.width, config.model.dropout, config.train.tokens_per_batch

    assert size(minutes=10) == (128, 0.2, 4096)
    assert size(minutes=200) == size(steps=100) == size() == (256, 0.1, 8192)


@pytest.mark.parametrize("task", sorted(TABLE))
def test_without_a_flag_no_run_takes_more_than_four_hours(task):
    """Nor a network that needs more; whoever sets an end or a size decides for himself."""
    corpus = Corpus(ListedExamples([], [], words=10**9), {})

    def end(**wanted):
        config = decide(find_recipe(task), corpus, {"task": task, "device": "cpu"} | wanted)
        return config.stop.minutes, config.model.width

    assert end() == (240, 256)
    assert end(size="base")[0] is None and end(stop={"epochs": 1})[0] is None
    assert end(stop={"minutes": 600}) == (600, end(size="base")[1])
