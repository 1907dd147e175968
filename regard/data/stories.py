"""Stories with questions as ids, and as batches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import torch

from regard.data.batch import StoryBatch
from regard.data.collate import collate_stories
from regard.data.tokens import EncodedStories, TokenLists
from regard.data.unanswerable import Unanswerable
from regard.text.stories import Story, answer_text
from regard.text.tokenizer import Tokenizer

ROWS = 128  # questions that are answered together
CHUNK = 1000  # questions that are encoded between two checks whether to stop


def encode_stories(
    stories: Sequence[Story], tokenizer: Tokenizer, check: Callable[[], None] = lambda: None
) -> EncodedStories:
    """Stories as ids; words never seen are left out, and an answer never seen is the unknown."""
    numbers: dict[str, int] = {}
    tales: list[list[int]] = []
    for place, story in enumerate(stories):
        if place % CHUNK == 0:
            check()
        tales.append([numbers.setdefault(sentence, len(numbers) + 1) for sentence in story.sentences])
    sentences = TokenLists.of([[], *_known(numbers, tokenizer)])
    answers = [tokenizer.id_of(answer_text(story)) for story in stories]
    return EncodedStories(
        sentences.pad(torch.arange(len(sentences)), tokenizer.pad_id),
        TokenLists.of(tales),
        TokenLists.of(_known((story.question for story in stories), tokenizer)),
        torch.tensor([tokenizer.unknown_id if answer is None else answer for answer in answers]),
    )


def story_batches(stories: EncodedStories, pad_id: int) -> Iterator[StoryBatch]:
    """All questions once, in order."""
    for indexes in torch.arange(len(stories)).split(ROWS):
        yield collate_stories(stories, indexes, pad_id)


def made_batches(stories: EncodedStories, pad_id: int, make: Unanswerable) -> list[StoryBatch]:
    """Questions that were made unanswerable, one of each where it is known how."""
    found = []
    for indexes in torch.arange(len(stories)).split(ROWS):
        made = collate_stories(stories, indexes, pad_id, seed=int(indexes[0]), unanswerable=(make, 1.0))
        if (is_made := made.answers == make.answer).any():
            kept = {part: getattr(made, part)[is_made] for part in ("sentences", "ages", "questions", "answers")}
            found.append(replace(made, **kept))
    return found


def _known(texts: Iterable[str], tokenizer: Tokenizer) -> list[list[int]]:
    found = tokenizer.encode_all(list(texts), is_part=True)
    return [[number for number in ids if number != tokenizer.unknown_id] for ids in found]
