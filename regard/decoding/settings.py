"""Settings of search and sampling. Imports no torch."""

from dataclasses import dataclass

from regard.errors import ConfigError

# The defaults of the library, the command line and the page; OpenAI's route has OpenAI's.
BEAM = 4  # beam width of a translation
TOKENS, TEMPERATURE = 200, 0.8  # of a text that is written
SUPPRESSED_LOGIT = -1e9  # a logit so low that its probability is exactly 0; finite, so that sums stay finite


CONSENSUS_TEMPERATURE = 0.5  # of translations that are sampled, of which one is taken (bench/consensus.py)


def refuse_below_one(**numbers: int | None) -> None:
    """Counts must be at least 1."""
    for name, number in numbers.items():
        if number is not None and number < 1:
            raise ConfigError(f"{name}={number}: it must be at least 1")


@dataclass(frozen=True)
class Search:
    """Settings of greedy and beam search."""

    beams: int = 1  # beam width; 1 is greedy search
    length_penalty: float = 1.0  # hypotheses are ranked by score / length^penalty
    n_best: int = 1  # hypotheses returned; at most `beams`
    with_scores: bool = True  # whether scores are computed; greedy search is a little faster without
    return_attention: bool = False  # whether the attention of each step is returned
    is_fast: bool = False  # whether a shortlist of the source's likely translations is used
    samples: int = 0  # so many are sampled instead
    seed: int = 0  # of samples


@dataclass(frozen=True)
class Sampling:
    """Settings of sampling."""

    temperature: float = TEMPERATURE  # 0 is greedy; below 1 sharpens the distribution, above 1 flattens it
    top_k: int | None = None  # sample among the k likeliest
    top_p: float | None = None  # nucleus sampling: among the likeliest that together have this probability

    def __post_init__(self) -> None:
        if self.temperature < 0:
            raise ConfigError(f"temperature={self.temperature} is below 0; 0 takes the likeliest, 1 draws as it is")
        if self.top_k is not None and self.top_k < 1:
            raise ConfigError(f"top_k={self.top_k}: at least 1 token must be left to draw from")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ConfigError(f"top_p={self.top_p} is not a share above 0 and up to 1")
