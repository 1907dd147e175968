"""A module whose attention over a story can be recorded."""

from torch import Tensor, nn

from regard.model.taps import WEIGHTS


class Hop(nn.Module):
    """One hop: the question attends to the story; its weights can be recorded."""

    def forward(self, weights: Tensor) -> None:
        """weights (B, H, M): of each head (or of each of several networks) over the sentences."""
        WEIGHTS(self, weights)
