"""What a search found. Imports no torch, so that any engine can say it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Hypothesis:
    """One answer of a search."""

    ids: list[int]  # without the end
    score: float  # sum of log-probabilities, the end included
    is_finished: bool  # False: cut off at its limit
    # If somebody asked, where the step after each token looked, (T, S); that step was not taken after a cut.
    looks: list[list[float]] = field(default_factory=list)
    notes: tuple[str, ...] = ()  # what whoever reads it should know

    def rank(self, length_penalty: float) -> float:
        """Higher is better."""
        return self.score / (len(self.ids) + self.is_finished) ** length_penalty


# What was found for each row, best first, in the order in which it was found; asking for it waits for it.
Finding = Callable[[], Iterator[tuple[int, list[Hypothesis]]]]
