"""How large a network is: one way to count, for plans, cards, `regard info` and benchmarks."""

from torch import nn

from regard.model.memory import MemoryNetwork


def count_parameters(model: nn.Module) -> int:
    """Numbers that are learned, a shared table once; of networks trained side by side, those of the one to keep."""
    side_by_side = model.config.restarts if isinstance(model, MemoryNetwork) else 1
    return sum(parameter.numel() for parameter in model.parameters()) // side_by_side
