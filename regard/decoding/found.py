"""The result of a search. Imports no torch, so that any engine can return it."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Hypothesis:
    """One sequence that a search returned."""

    ids: list[int]  # without the end token
    score: float  # sum of log-probabilities, the end included
    is_finished: bool  # False: cut off at its limit
    # With return_attention: the cross-attention of each decoding step, (T, S); a sequence cut off lacks its last step.
    attention: list[list[float]] = field(default_factory=list)
    notes: tuple[str, ...] = ()  # warnings for the user

    def rank(self, length_penalty: float) -> float:
        """Higher is better."""
        return self.score / (len(self.ids) + self.is_finished) ** length_penalty


# The hypotheses of each row, best first, in the order in which rows finish; iterating waits for them.
Finding = Callable[[], Iterator[tuple[int, list[Hypothesis]]]]


def hold(wait: Finding, given: Mapping[int, list[int]]) -> Finding:
    """The same, where some rows are known: what they were made to begin with is all that is wanted of them."""

    def work() -> Iterator[tuple[int, list[Hypothesis]]]:
        for row, found in wait():
            if row not in given:
                yield row, found
                continue
            ids, attention = given[row], found[0].attention
            yield row, [Hypothesis(ids, 0.0, True, attention[: len(ids) + 1])]  # a prefix is not scored

    return work
