"""Questions whose story has no answer to them, made of those whose story has one. Knows ids, not text.

What a question asks about fills a slot of it: "where is _", asked with several words that its story always has.
Without that word, or without what links it to the answer, the story answers nothing. Which slots these are is counted
in the training text; labels of supporting sentences are not used.
"""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.data.tokens import EncodedStories

ALWAYS, ASKED = 0.99, 8  # a slot's word is in the story: in this share of so many questions at least
COMMON = 0.5  # a word in a larger share of the sentences links nothing
MOST_COUNTED = 20000  # questions
SLOT = -1

Slot = tuple[int, ...]  # a question whose word in one place is SLOT


@dataclass(frozen=True)
class Unanswerable:
    """Makes questions that their story does not answer; their answer is the word for that."""

    answer: int  # the word for it
    words: dict[Slot, frozenset[int]]  # that stand in each slot and are always in the story
    has_answer: frozenset[Slot]  # slots of questions whose answer is always in the story
    is_common: Tensor  # (V,) words in most sentences

    @classmethod
    def learn(cls, stories: EncodedStories, answer: int, vocab_size: int) -> Unanswerable:
        """What questions ask about, counted in the training text."""
        asked, named, answered = Counter[Slot](), Counter[Slot](), Counter[Slot]()
        words: defaultdict[Slot, set[int]] = defaultdict(set)
        sentences = [frozenset(sentence) for sentence in stories.table.tolist()]
        for index in range(0, len(stories), -(-len(stories) // MOST_COUNTED)):
            story = frozenset().union(*(sentences[number] for number in stories.tales[index]))
            question = stories.questions[index].tolist()
            for slot, word in _slots(question):
                asked[slot] += 1
                named[slot] += word in story
                answered[slot] += int(stories.answers[index]) in story
                words[slot].add(word)
        always = [slot for slot, count in asked.items() if count >= ASKED and named[slot] >= ALWAYS * count]
        several = {slot: frozenset(words[slot]) for slot in always if len(words[slot]) > 1}
        has_answer = frozenset(slot for slot in several if answered[slot] >= ALWAYS * asked[slot])
        often = np.bincount(stories.tales.flat, minlength=len(sentences))  # (different sentences + 1,)
        share = torch.zeros(vocab_size)
        for sentence, count in zip(sentences, often.tolist(), strict=True):
            share[list(sentence)] += count / max(1, often.sum())
        return cls(answer, several, has_answer, share > COMMON)

    def __call__(
        self, stories: EncodedStories, share: float, draw: random.Random, rows: tuple[Tensor, Tensor, Tensor]
    ) -> None:
        """Makes this share of the rows unanswerable, where it is known how, in place.

        rows: numbers of the sentences (B, M), 0 where there is none · questions (B, Q), 0 at padding · answers (B,)
        """
        numbers, questions, answers = rows
        for row in range(len(numbers)):
            if draw.random() >= share or int(answers[row]) == self.answer:
                continue
            question = [word for word in questions[row].tolist() if word]
            slots = [(slot, word) for slot, word in _slots(question) if slot in self.words]
            if not slots:
                continue
            slot, word = draw.choice(slots)
            sentences = stories.table[numbers[row]]  # (M, L)
            asked, is_gone = self._change(slot, word, sentences, int(answers[row]), draw)
            numbers[row, is_gone] = 0
            questions[row] = 0
            questions[row, : len(asked)] = torch.tensor(asked)
            answers[row] = self.answer

    def _change(
        self, slot: Slot, word: int, sentences: Tensor, answer: int, draw: random.Random
    ) -> tuple[list[int], Tensor]:
        """The question, and which sentences are left out (M,), so that there is no answer."""
        same = [word if one == SLOT else one for one in slot]
        about = (sentences == word).any(dim=1)  # (M,) which sentences are about the word
        nothing = torch.zeros_like(about)
        others = sorted(self.words[slot] - set(sentences.flatten().tolist()))
        ways = [
            (same, about),  # the story has no sentence about it
            ([one for one in slot if one != SLOT], nothing),  # it is a word that was never seen, and left out
        ]
        if others:
            other = draw.choice(others)
            ways.append(([other if one == SLOT else one for one in slot], nothing))  # another one, that is not in it
        if slot in self.has_answer and not (sentences[about] == answer).any():
            link = sentences[about].unique()  # the words in its sentences
            link = link[~self.is_common[link] & (link > 0)]
            ways.append((same, ~about & torch.isin(sentences, link).any(dim=1)))  # no other sentence has these
        return draw.choice(ways)


def _slots(question: list[int]) -> Iterator[tuple[Slot, int]]:
    """Each place of a question: the question without it, and its word."""
    for place, word in enumerate(question):
        yield (*question[:place], SLOT, *question[place + 1 :]), word
