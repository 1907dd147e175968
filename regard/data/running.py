"""Running text as one stream of ids."""

from collections.abc import Callable, Iterable, Iterator

import numpy as np
import torch
from torch import Tensor

from regard.data.tokens import TokenLists
from regard.text.running import split_lines
from regard.text.tokenizer import Tokenizer

LINES = 10_000  # lines that are encoded between two checks whether to stop


def encode_lines(lines: Iterable[str | None], tokenizer: Tokenizer) -> list[list[int]]:
    """Lines as ids; None is the end of a document, but at the beginning that of the one before."""
    given = list(lines)
    found = iter(tokenizer.encode_all([line for line in given if line is not None], is_part=True))
    ids = [[tokenizer.end_id] if line is None else next(found) for line in given]
    if given and given[0] is None:
        ids[0] = [tokenizer.begin_id]
    return ids


def encode_stream(texts: list[str], tokenizer: Tokenizer, check: Callable[[], None] = lambda: None) -> Tensor:
    """Documents as one stream of ids (N,): an end before the first, and one after each."""

    def parts() -> Iterator[list[int]]:
        yield [tokenizer.begin_id]
        for text in texts:
            lines = split_lines(text)
            for start in range(0, len(lines), LINES):
                check()
                yield from encode_lines(lines[start : start + LINES], tokenizer)
            yield [tokenizer.end_id]

    return torch.from_numpy(TokenLists.of(parts()).flat.astype(np.int64))
