"""One inspection of a text from those of its parts: between parts there is no attention. Knows no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import torch
from torch import Tensor

from regard.alignment.links import Links
from regard.errors import ConfigError
from regard.look.attribution import HeadAblation, Why
from regard.look.inspection import Inspection, Kind, TokenScore

MOST_TOKENS = 1024  # of a map's side: it is quadratic


def join_inspections(
    parts: Sequence[Inspection], text: str, answer: str, alignment: Links, notes: list[str]
) -> Inspection:
    """The parts one after another; text, answer, alignment and notes are those of the whole."""
    whole = replace(parts[0], text=text, answer=answer, alignment=alignment, notes=notes)
    if len(parts) == 1:
        return whole
    first = next(iter(whole.kinds))
    rows = [len(part.kinds[first].rows) for part in parts]
    if max(sum(rows), sum(len(part.kinds[first].columns) for part in parts)) > MOST_TOKENS:
        raise ConfigError(f"the text or its translation has more than {MOST_TOKENS} tokens in {len(parts)} parts; look "
                          f"at some of them")  # fmt: skip
    starts = list(accumulate(rows, initial=0))
    scores = [
        TokenScore(start + one.place, *one[1:])
        for part, start in zip(parts, starts, strict=False) for one in part.token_scores
    ]  # fmt: skip
    logit_lens = [
        [place for layer in layers for place in layer]
        for layers in zip(*(part.logit_lens for part in parts), strict=True)
    ]
    reasons = [part.why for part in parts if part.why is not None]
    kinds = {name: _join_kind([part.kinds[name] for part in parts]) for name in whole.kinds}
    why = _join_why(reasons, starts) if reasons else None
    return replace(whole, kinds=kinds, token_scores=scores, logit_lens=logit_lens, why=why)


def _join_kind(kinds: list[Kind]) -> Kind:
    """Weights (layers, H, T, S) of each part, along the diagonal."""
    layers, heads = kinds[0].weights.shape[:2]
    weights = torch.stack([
        torch.stack([torch.block_diag(*(kind.weights[layer, head] for kind in kinds)) for head in range(heads)])
        for layer in range(layers)
    ])  # fmt: skip
    return Kind(
        [token for kind in kinds for token in kind.rows], [token for kind in kinds for token in kind.columns], weights,
        _join_words([kind.row_words for kind in kinds]), _join_words([kind.column_words for kind in kinds]),
    )  # fmt: skip


def _join_words(parts: list[Sequence[int | None]]) -> list[int | None]:
    """The words of the whole: each part begins with a new one."""
    found: list[int | None] = []
    first = 0
    for words in parts:
        found += [None if word is None else first + word for word in words]
        first = 1 + max((word for word in found if word is not None), default=-1)
    return found


def _join_why(parts: list[Why], starts: list[int]) -> Why:
    def diagonal(maps: list[list[list[float]]]) -> list[list[float]]:
        joined: Tensor = torch.block_diag(*map(torch.tensor, maps))  # (T, S)
        rows: list[list[float]] = joined.tolist()
        return rows

    off = []
    for ablated in zip(*(part.off for part in parts), strict=True):
        probabilities = [one for part in ablated for one in part.probabilities]
        loss = sum(part.loss * len(part.probabilities) for part in ablated) / max(1, len(probabilities))
        instead = [token for part in ablated for token in part.instead]
        off.append(HeadAblation(ablated[0].kind, ablated[0].layer, ablated[0].head, loss, probabilities, instead))
    rows = [start + row for part, start in zip(parts, starts, strict=False) for row in part.rows]
    return Why(rows, diagonal([part.left_out for part in parts]), diagonal([part.gradient for part in parts]), off)
