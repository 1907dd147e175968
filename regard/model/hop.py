"""A place where a look at a story can be recorded."""

from collections.abc import Callable

from torch import Tensor, nn


class Hop(nn.Module):
    """One look of the question at the story; tells whoever listens what it looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.record: Callable[[Tensor], None] | None = None  # set by look.record_attention while somebody looks

    def forward(self, weights: Tensor) -> None:
        """weights (B, H, M): of each head (or of each of several networks) over the sentences."""
        if self.record is not None:
            self.record(weights)
