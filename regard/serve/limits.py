"""How much one request may ask for, and all together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from regard.errors import RegardError


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
    samples: int = 8  # ways to go on
    written: int = 2048  # tokens of a text that is written
    look_letters: int = 2000  # of a text that is looked into, with all that belongs to it; of a forced beginning
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

    def check_looked_at(self, name: str, text: str) -> None:
        """Raises what is too long to be looked into."""
        if len(text) > self.look_letters:
            raise RequestError(
                413, f"{name} of {len(text)} characters; at most {self.look_letters} are looked into or forced"
            )

    def check_number(self, name: str, value: float, least: float, most: float) -> None:
        """Raises what is out of its bounds."""
        if not least <= value <= most:
            raise RequestError(422, f"{name} is {value}; it must be from {least} to {most}")
