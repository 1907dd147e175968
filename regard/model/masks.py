"""Attention masks. True = may attend; every query may attend to at least one key.

Each mask broadcasts to (B, H, T, S): rows are queries, columns are keys. Drawn with # for True.
"""

from collections.abc import Iterable

import torch
from torch import Tensor


def padding_mask(is_pad: Tensor) -> Tensor:
    """No query attends to padding. is_pad (B, S) -> (B, 1, 1, S)

    Two rows, of three tokens and of one:   ###   #..
    A row of nothing but padding may attend to its first place, so that softmax is defined.
    """
    may_attend = ~is_pad
    may_attend[:, 0] |= is_pad.all(dim=1)
    return may_attend[:, None, None, :]


def causal_mask(queries: int, keys: int | None = None, *, device: torch.device | None = None) -> Tensor:
    """No query attends to later places. -> (1, 1, T, S)

    #...      With more keys than queries, the queries are the last places:   ###.
    ##..                                                                      ####
    ###.
    ####
    """
    keys = queries if keys is None else keys
    mask = torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)
    return mask[None, None]


def graph_mask(edges: Iterable[tuple[int, int]], nodes: int, *, both_ways: bool = True) -> Tensor:
    """A node attends to itself and along its edges. -> (1, 1, nodes, nodes)

    0 - 1 - 2     ##.
                  ###
                  .##
    """
    mask = torch.eye(nodes, dtype=torch.bool)
    for start, end in edges:
        mask[start, end] = True
        if both_ways:
            mask[end, start] = True
    return mask[None, None]
