"""Running text as one stream of ids."""

from collections.abc import Callable, Iterator

from torch import Tensor

from regard.data.tokens import TokenLists
from regard.text.running import split_lines
from regard.text.tokenizer import Tokenizer

LINES = 10_000  # lines that are encoded between two checks whether to stop


def encode_stream(texts: list[str], tokenizer: Tokenizer, check: Callable[[], None] = lambda: None) -> Tensor:
    """Documents as one stream of ids (N,): an end before the first, and one after each."""

    def parts() -> Iterator[list[int]]:
        yield [tokenizer.begin_id]
        for text in texts:
            lines = split_lines(text)
            for start in range(0, len(lines), LINES):
                check()
                yield from tokenizer.encode_all(lines[start : start + LINES], is_part=True)
            yield [tokenizer.end_id]

    return TokenLists.of(parts()).flat
