"""How much one request may ask for, and all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import RegardError

SMALL_BODY, MOST_STRINGS, MOST_STRUCTURE = 2**16, 5000, 2**16


class RequestError(RegardError):
    """A request that is not served, with the status that says so."""

    def __init__(self, status: int, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.status, self.retry_after = status, retry_after


@dataclass(frozen=True)
class Limits:
    """Every number a request can multiply its work by has an upper bound."""

    body_bytes: int = 2 * 2**20
    held_bytes: int = 64 * 2**20  # of bodies that are still coming, of all requests
    head_seconds: float = 10.0  # for the head of a request to come
    body_seconds: float = 30.0  # for its body
    read_seconds: float = 60.0  # for its answer to be read
    texts: int = 256  # in a request
    lines: int = 4096  # of all of them
    letters: int = 20_000  # of a text, or of all texts together times ten
    beams: int = 16
    samples: int = 8  # continuations of a prompt
    written: int = 2048  # tokens of a text that is written
    prefix_tokens: int = 256  # of a forced beginning
    look_tokens: int = 512  # of a text that is inspected, with all that belongs to it
    why_tokens: int = 128  # the same, with attributions of each word and head
    look_weights: int = 1_500_000  # in one inspection
    sentence_tokens: int = 400  # of a sentence of a story
    story_tokens: int = 20_000  # of a story, each sentence as long as the longest
    gaps: int = 2000  # times the candidates for each
    translated_tokens: int = 200_000  # of a translation, times n_best
    queued_tokens: int = 100_000  # that wait, of all requests
    seconds: float = 60.0  # until an answer is no longer waited for

    def check_texts(self, texts: Sequence[str], most: int | None = None) -> None:
        """Raises what is too much."""
        if len(texts) > (most or self.texts):
            raise RequestError(413, f"{len(texts)} texts in one request; at most {most or self.texts} are taken")
        longest = max(map(len, texts), default=0)
        if longest > self.letters:
            raise RequestError(413, f"a text of {longest} characters; at most {self.letters} are taken")
        if sum(map(len, texts)) > 10 * self.letters:
            raise RequestError(413, f"more than {10 * self.letters} characters in one request")

    def check_count(self, what: str, count: int, most: int, unit: str = "tokens") -> None:
        """Raises what has too many tokens, which is what it costs, or too much of something else."""
        if count > most:
            raise RequestError(413, f"{what}: {count} {unit}; at most {most} are taken")

    def check_number(self, name: str, value: float, least: float, most: float) -> None:
        """Raises what is out of its bounds."""
        if not least <= value <= most:
            raise RequestError(422, f"{name} is {value}; it must be from {least} to {most}")


def check_shape(body: bytes) -> None:
    """Raises if a large body is not mostly text: a million little values take long to parse."""
    if len(body) <= SMALL_BODY:
        return
    plain = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # all quotes that are left begin or end a text
    between = plain.split(b'"', 2 * (MOST_STRINGS + 1))[::2]
    if len(between) > MOST_STRINGS + 1 or sum(map(len, between)) > MOST_STRUCTURE:
        raise RequestError(
            413, f"a request of {len(body)} bytes with more than {MOST_STRINGS} texts, or mostly no text"
        )
