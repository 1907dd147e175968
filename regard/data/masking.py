"""Lines of text with some of their tokens masked: what a filler is trained and evaluated on."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch

from regard.data.batch import TextBatch
from regard.data.collate import TokenMasking, collate_masked
from regard.data.loader import Loader
from regard.data.tokens import TokenLists
from regard.text.tokenizer import Tokenizer

CHUNK = 1000  # lines encoded between two checks for a stop
TOKENS_PER_BATCH = 8192


def cut_texts(lines: list[str], tokenizer: Tokenizer, longest: int) -> Iterator[list[int]]:
    """Lines as ids between their marks; a line of more than `longest` tokens is cut into parts, nothing is lost."""
    start, end = tokenizer.encode("")
    for ids in tokenizer.encode_all(lines, is_part=True):
        for place in range(0, len(ids), longest - 2):
            yield [start, *ids[place : place + longest - 2], end]


def encode_texts(
    lines: list[str], tokenizer: Tokenizer, longest: int, check: Callable[[], None] = lambda: None
) -> TokenLists:
    """The same of many lines, packed."""

    def parts() -> Iterator[list[int]]:
        for first in range(0, len(lines), CHUNK):
            check()
            yield from cut_texts(lines[first : first + CHUNK], tokenizer, longest)

    return TokenLists.of(parts())


def make_masking(tokenizer: Tokenizer, share: float, whole_words: bool) -> TokenMasking:
    """Token masking for this tokenizer."""
    is_special = torch.zeros(tokenizer.vocab_size, dtype=torch.bool)
    is_special[list(tokenizer.special_ids)] = True
    starts = torch.tensor(list(tokenizer.starts_word())) if whole_words else None
    return TokenMasking(share, tokenizer.mask_id, is_special, starts)


def masked_batches(
    texts: TokenLists, tokenizer: Tokenizer, masking: TokenMasking, rounds: int = 1
) -> Iterator[TextBatch]:
    """All texts once, or several rounds with other tokens masked in each; the same ones in every call."""
    batches = Loader([texts.lengths], TOKENS_PER_BATCH, seed=0).epoch(0)
    for number, indexes in enumerate(batches * rounds):
        yield collate_masked(texts, indexes, tokenizer.pad_id, masking, number)
