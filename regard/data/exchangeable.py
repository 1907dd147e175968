"""Words that may change places in all stories without making any of them wrong, such as names. Knows ids, not text.

Two words are exchangeable if the training text would look the same with both exchanged throughout: each occurs beside
the same words, in the same places, in stories whose questions have the same answers, as often as the other. Then a
thousand stories about Mary are a thousand about any person: data augmentation.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, product

import torch
from torch import Tensor

from regard.data.tokens import EncodedStories

MOST_COUNTED = 2000  # questions
COMMON = 0.4  # a word in a larger share of the sentences links nothing
MOST_WORDS = 200  # that are compared, the most frequent
ENOUGH = 20  # tales with a word, of fewer nothing is known
UNLIKELY = 4.5  # standard errors
NUMBERED = {"when", "place", "question"}  # groups whose features are no words
PERIODS = 4  # of a tale, for when a word occurs

Features = dict[int, dict[tuple[str, int, object], Counter[int]]]  # of each word, in each way: how often in each tale
Tale = tuple[list[list[int]], list[tuple[list[int], int]]]  # sentences, questions with their answers


@dataclass(frozen=True)
class Exchangeable:
    """Exchanges words of the same class at random: the same throughout a story, its question and its answer."""

    classes: list[Tensor]  # (words,) each
    lists: dict[int, tuple[int, ...]]  # answers that are lists of words
    vocab_size: int

    @classmethod
    def learn(cls, stories: EncodedStories, lists: dict[int, tuple[int, ...]], vocab_size: int) -> Exchangeable:
        """Which words are exchangeable, as far as the training text shows. lists: answers made of several words."""
        tales = list(_tales(stories, lists))
        features, found = _count(tales), list[list[int]]()
        for word in _candidates(tales):
            for kind in found:
                if all(_alike(features, word, other) for other in kind):
                    kind.append(word)
                    break
            else:
                found.append([word])
        return cls([torch.tensor(kind) for kind in found if len(kind) > 1], lists, vocab_size)

    def __call__(
        self, rows: tuple[Tensor, Tensor, Tensor], share: float, generator: torch.Generator
    ) -> tuple[Tensor, Tensor, Tensor]:
        """sentences (B, M, L) · questions (B, Q) · answers (B,) -> the same, exchanged in this share of the rows."""
        sentences, questions, answers = rows
        size = len(answers)
        becomes = torch.arange(self.vocab_size).repeat(size, 1)  # (B, V)
        is_chosen = torch.rand(size, 1, generator=generator) < share  # (B, 1)
        for words in self.classes:
            order = torch.rand(size, len(words), generator=generator).argsort(dim=1)  # (B, words)
            becomes[:, words] = torch.where(is_chosen, words[order], words)
        made = becomes.gather(1, answers[:, None]).squeeze(1)  # (B,)
        numbers = {parts: number for number, parts in self.lists.items()}
        for row, answer in enumerate(answers.tolist()):
            if answer in self.lists:
                parts = tuple(becomes[row, list(self.lists[answer])].tolist())
                if parts in numbers:
                    made[row] = numbers[parts]
                else:  # no answer that is known
                    becomes[row] = torch.arange(self.vocab_size)
        return becomes.gather(1, sentences.flatten(1)).view_as(sentences), becomes.gather(1, questions), made


def _tales(stories: EncodedStories, lists: dict[int, tuple[int, ...]]) -> Iterator[Tale]:
    """Stories with all their questions: one that begins with all of the one before is the same tale."""
    table = [[word for word in sentence if word] for sentence in stories.table.tolist()]
    before, asked = list[int](), list[tuple[list[int], int]]()
    for index in range(0, len(stories), -(-len(stories) // MOST_COUNTED)):
        numbers = stories.tales[index].tolist()
        if asked and numbers[: len(before)] != before:
            yield [table[number] for number in before], asked
            asked = []
        before = numbers
        answer = int(stories.answers[index])
        asked.append((stories.questions[index].tolist(), lists[answer][0] if answer in lists else answer))
    yield [table[number] for number in before], asked


def _candidates(tales: list[Tale]) -> list[int]:
    """Words that are stated, the most frequent first."""
    stated = Counter(word for sentences, _ in tales for word in {*chain.from_iterable(sentences)})
    return [word for word, count in stated.most_common(MOST_WORDS) if count >= ENOUGH]


def _count(tales: list[Tale]) -> Features:
    """How often each word was seen in each way, in each tale."""
    features: Features = defaultdict(lambda: defaultdict(Counter))
    often = Counter(word for sentences, _ in tales for sentence in sentences for word in {*sentence})
    common = {word for word, count in often.items() if count > COMMON * sum(len(tale[0]) for tale in tales)}
    for number, (sentences, asked) in enumerate(tales):
        linked = (_linked(sentences, [w for w in question if w not in common], answer) for question, answer in asked)
        for word, group, other, place in chain(_seen(sentences, asked), *linked):
            features[word][group, other, place][number] += 1
    return features


def _seen(sentences: list[list[int]], asked: list[tuple[list[int], int]]) -> Iterator[tuple[int, str, int, object]]:
    """(word, group of features, other word or number, place) of all that one tale shows."""
    after = list[int]()
    for number, sentence in reversed(list(enumerate(sentences))):
        for place, word in enumerate(sentence):
            yield word, "when", PERIODS * number // len(sentences), 0
            yield word, "place", place, 0
            for distance, other in enumerate(sentence, start=-place):
                if distance:
                    yield word, "beside", other, distance
            for other in after:
                yield word, "before", other, 0
                yield other, "after", word, 0
        after = sentence
    placed = {(word, place) for sentence in sentences for place, word in enumerate(sentence)}
    for question, answer in asked:
        yield answer, "answer", -1, 0
        for place, word in enumerate(question):
            yield word, "question", place, 0
            yield word, "answered", answer, place
            yield answer, "answers", word, place
            for other, there in placed:
                yield word, "asked of", other, (there, place)
        for other, there in placed:
            yield answer, "answer in", other, there
            yield other, "stated for", answer, there


def _linked(sentences: list[list[int]], question: list[int], answer: int) -> Iterator[tuple[int, str, int, object]]:
    """The words of sentences that share words with the question or the answer, alone and of two such sentences."""
    known = [answer, *question]
    links = []
    for sentence in sentences:
        shared = tuple(place for place, word in enumerate(known) if word in sentence)
        links.append((shared, {*sentence} - {*known}))
        for word in links[-1][1]:
            yield word, "linked", -1, shared
    answering = [link for link in links if link[0][:1] == (0,)]
    for shared, words in answering:
        for others_shared, others in links:
            if others_shared and others_shared[0] > 0:
                for word, other in product(words, others):
                    yield word, "answering beside", other, (shared, others_shared)
                    yield other, "asked beside", word, (shared, others_shared)


def _alike(features: Features, one: int, two: int) -> bool:
    """Whether both words are seen in every way equally often, within what is random.

    Where one is beside the other, the other is beside the one.
    """
    swap = {one: two, two: one}
    ones = features[one]
    twos = {(group, other if group in NUMBERED else swap.get(other, other), place): counts
            for (group, other, place), counts in features[two].items()}  # fmt: skip
    groups: list[defaultdict[str, Counter[int]]] = [defaultdict(Counter), defaultdict(Counter)]
    for group, side in zip(groups, (ones, twos), strict=True):
        for (name, _, _), counts in side.items():
            group[name].update(counts)
    return all(
        _difference(ones.get(key, Counter()), twos.get(key, Counter()), *(group[key[0]] for group in groups)) < UNLIKELY
        for key in ones.keys() | twos.keys()
    )


def _difference(ones: Counter[int], twos: Counter[int], all_ones: Counter[int], all_twos: Counter[int]) -> float:
    """How much two shares differ, in standard errors; each tale counts as one observation.

    ones, twos: of each tale, how often the words were seen so; of all times that they were seen in such a way.
    """
    first, second = all_ones.total(), all_twos.total()
    if not (first and second):
        return math.inf if max(len(ones), len(twos)) >= ENOUGH else 0.0
    share = (ones.total() + twos.total()) / (first + second)
    each = [
        (ones[tale] - share * all_ones[tale]) / first - (twos[tale] - share * all_twos[tale]) / second
        for tale in all_ones.keys() | all_twos.keys()
    ]
    return abs(sum(each)) / math.sqrt(sum(difference**2 for difference in each) or 1.0)
