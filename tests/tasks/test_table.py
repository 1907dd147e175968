"""The table of defaults has an answer for every corpus, and answers that can be trained with."""

import pytest

from regard.config import merge, resolve
from regard.tasks import TASKS
from regard.tasks.table import TABLE, choose, choose_vocab_size, count_words


@pytest.mark.parametrize("task", sorted(TABLE))
def test_every_size_of_corpus_has_a_row_that_resolves(task):
    limits = [row.below for row in TABLE[task]]
    assert limits == sorted(limits) and limits[-1] == float("inf")
    weights = []
    for words in (1, 10_000, 1_000_000, 30_000_000, 10**10):
        chosen = choose(task, words)
        shape = TASKS[task].sizes[chosen["size"]]
        config = resolve(merge(shape, chosen | {"task": task}))
        weights.append(config.model.layers * config.model.width**2 + config.text.vocab_size * config.model.width)
    assert weights == sorted(weights)  # more text, a larger network


def test_vocabulary_grows_with_the_corpus_within_bounds():
    sizes = [choose_vocab_size(words) for words in (100, 10_000, 750_000, 5_000_000, 10**9)]
    assert sizes == sorted(sizes) and sizes[0] == 600 and sizes[-1] == 32_000 and sizes[2] in range(5_000, 7_001)


def test_words_are_counted_where_no_spaces_are_written():
    assert count_words(["one two three"]) == 3
    assert count_words(["字" * 60]) == 10
