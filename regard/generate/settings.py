"""How to search. Imports no torch, so that it can be said before anything heavy is there."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Search:
    """Which sequences are looked for."""

    beams: int = 1  # sequences kept alive; 1 is greedy
    length_penalty: float = 1.0  # finished ones are ranked by score / length^penalty
    n_best: int = 1  # how many are wanted; at most `beams`
