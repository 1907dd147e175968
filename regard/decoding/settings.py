"""How to search and how to sample. Imports no torch, so that it can be said before anything heavy is there."""

from dataclasses import dataclass

from regard.errors import ConfigError


@dataclass(frozen=True)
class Search:
    """Which sequences are looked for."""

    beams: int = 1  # sequences kept alive; 1 is greedy
    length_penalty: float = 1.0  # finished ones are ranked by score / length^penalty
    n_best: int = 1  # how many are wanted; at most `beams`
    with_scores: bool = True  # whether to tell how likely each is; a greedy search is a little faster without
    return_attention: bool = False  # whether to tell where each token was read from
    is_fast: bool = False  # whether to choose among the likely words of a source only


@dataclass(frozen=True)
class Sampling:
    """From which tokens the next one is drawn, and how boldly."""

    temperature: float = 1.0  # 0 takes the likeliest; below 1 is careful, above 1 is bold
    top_k: int | None = None  # only the k likeliest
    top_p: float | None = None  # only the likeliest that together have this probability

    def __post_init__(self) -> None:
        if self.temperature < 0:
            raise ConfigError(f"temperature={self.temperature} is below 0; 0 takes the likeliest, 1 draws as it is")
        if self.top_k is not None and self.top_k < 1:
            raise ConfigError(f"top_k={self.top_k}: at least 1 token must be left to draw from")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p={self.top_p} is not a share above 0 and up to 1")
