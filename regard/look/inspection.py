"""What a model attended to and generated: tokens, weights and probabilities, ready to be drawn. Knows no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from regard.alignment.links import Links, words_of
from regard.errors import ConfigError
from regard.files import write_whole
from regard.look.draw import draw_svg
from regard.look.export import to_frame, to_html, to_json, to_png
from regard.look.marks import MARKS, refuse_file_of_others
from regard.look.measure import measure
from regard.look.roles import Roles
from regard.look.terminal import draw_terminal

if TYPE_CHECKING:
    from regard.look.attribution import Why

ALIGNING = "alignment"  # in place of a head: those that align words best


class Kind(NamedTuple):
    """One kind of attention: queries (rows), keys (columns) and weights, of all layers and heads."""

    rows: list[str]  # T labels
    columns: list[str]  # S labels
    weights: Tensor  # (layers, H, T, S)
    row_words: Sequence[int | None]  # of each row, the word it belongs to; None: to none
    column_words: Sequence[int | None]


class TokenScore(NamedTuple):
    """A token that was generated or read, its probability, and the likeliest alternatives."""

    place: int  # the row that predicted it
    token: str
    probability: float
    alternatives: list[tuple[str, float]]


@dataclass(frozen=True)
class Inspection:
    """All layers and heads of every kind of attention, the most informative first; and the probabilities of tokens.

    Of a translator: cross (the translation attends to the source), encoder, decoder. Of a writer and a filler: text. Of
    an answerer: hops (the question attends to the story; a hop is a layer). Row t of a translator's and a writer's map
    is the step that generated or read token t.
    """

    task: str
    text: str  # what the model was given
    answer: str  # what it generated
    kinds: dict[str, Kind]
    token_scores: list[TokenScore] = field(default_factory=list)
    alignment: Links = field(default_factory=list)  # of a translator: (word of the source, word of the translation)
    aligning: dict[str, Any] | None = None  # of a translator: the layer and the heads, from 0, that the alignment is of
    logit_lens: list[list[list[tuple[str, float]]]] = field(default_factory=list)  # of each layer and place
    why: Why | None = None  # attribution and head ablation, on request
    notes: list[str] = field(default_factory=list)  # what of the text is not shown, or was not known
    head_roles: Roles | None = None  # what each head does, as scored at the end of training

    def __repr__(self) -> str:
        what = f"{self.text!r:.60} -> {self.answer!r:.60}"
        return f"<Inspection of a model to {self.task}: {what}, {', '.join(self.kinds)}>"

    def map(
        self,
        kind: str | None = None,
        layer: int | None = None,
        head: int | str | None = None,
        *,
        words: bool = False,
    ) -> list[list[float]]:
        """One map, rows are queries: of a layer and a head counted from 1, or the mean over those not given.

        head "alignment": the attention of the step after each token, by the heads that align best. words: between
        words, the mean over the tokens of a row's word and the sum over those of a column's.
        """
        chosen = self._kind(kind)
        weights = self._aligning() if head == ALIGNING else _pick(chosen.weights, layer, head)  # (T, S)
        if words:
            weights = _by_words(weights, chosen.row_words, chosen.column_words)
        rows: list[list[float]] = weights.tolist()
        return rows

    def labels(self, kind: str | None = None, *, words: bool = False) -> tuple[list[str], list[str]]:
        """What the rows and the columns of a map stand for."""
        chosen = self._kind(kind)
        if not words:
            return chosen.rows, chosen.columns
        return _join(chosen.rows, chosen.row_words), _join(chosen.columns, chosen.column_words)

    def to_text(
        self, layer: int | None = None, head: int | str | None = None, kind: str | None = None, *, words: bool = False
    ) -> str:
        """A map for a terminal."""
        return draw_terminal(self.map(kind, layer, head, words=words), *self.labels(kind, words=words))

    def to_svg(
        self, layer: int | None = None, head: int | str | None = None, kind: str | None = None, *, words: bool = False
    ) -> str:
        """A map as a picture."""
        return draw_svg(self.map(kind, layer, head, words=words), *self.labels(kind, words=words))

    def to_json(self) -> str:
        """Everything, as numbers."""
        return to_json(self)

    def to_html(self) -> str:
        """A page that shows everything and needs nothing else: no network, no other file."""
        return to_html(self)

    def save(self, path: Path | str, **chosen: Any) -> None:
        """Writes .html (everything), .json (everything, as numbers), .svg or .png (one map; options as of `map`)."""
        path = Path(path)
        if path.suffix in MARKS:
            refuse_file_of_others(path)
        match path.suffix:
            case ".html":
                write_whole(path, self.to_html())
            case ".json":
                write_whole(path, self.to_json())
            case ".svg":
                write_whole(path, self.to_svg(**chosen))
            case ".png":
                write_whole(path, to_png(self.to_svg(**chosen)))
            case _:
                raise ConfigError(f"{path} does not end in {', '.join(MARKS)}; these can be written")

    def _repr_html_(self) -> str:
        return to_frame(to_html(self))

    @cached_property
    def facts(self) -> dict[str, Any]:
        """Of each kind of attention: rollout, and how spread and how stuck each head is."""
        return {name: measure(self, name) for name in self.kinds}

    def _aligning(self) -> Tensor:
        if self.aligning is None or "cross" not in self.kinds:
            raise ConfigError("only a translator has heads that align")
        weights = self.kinds["cross"].weights[self.aligning["layer"]][self.aligning["heads"]].mean(0)  # (T, S)
        if not self.aligning.get("is_after", True):
            return weights
        # The step after a token attends to its source; after the last there is none, so its own is shown.
        return weights[[*range(1, len(weights)), len(weights) - 1]]

    def _kind(self, name: str | None) -> Kind:
        name = next(iter(self.kinds)) if name is None else name
        if name not in self.kinds:
            raise ConfigError(f"there is no attention called {name}; this model has {', '.join(self.kinds)}")
        return self.kinds[name]


def make_kind(rows: list[str], columns: list[str], weights: Tensor, special: frozenset[str]) -> Kind:
    """A kind of attention between tokens; special ones belong to no word."""
    return Kind(rows, columns, weights, _words(rows, special), _words(columns, special))


def _words(tokens: list[str], special: frozenset[str]) -> list[int | None]:
    """The word of each token; a space that is a token belongs to the word after it."""
    words = words_of([" " if token in special else token for token in tokens])
    for place in range(len(tokens) - 2, -1, -1):
        if words[place] is None and tokens[place] not in special:
            words[place] = words[place + 1]
    return words


def _pick(weights: Tensor, layer: int | None, head: int | str | None) -> Tensor:
    for name, wanted, there in (("layer", layer, weights.shape[0]), ("head", head, weights.shape[1])):
        if wanted is not None and (not isinstance(wanted, int) or not 1 <= wanted <= there):
            raise ConfigError(f"{name}={wanted}, but the model has {there} of them, counted from 1")
    chosen = weights.mean(0) if layer is None else weights[layer - 1]  # (H, T, S)
    return chosen.mean(0) if not isinstance(head, int) else chosen[head - 1]  # (T, S)


def _groups(words: Sequence[int | None]) -> list[list[int]]:
    """Places that belong together: of one word, or a special token for itself."""
    groups: list[list[int]] = []
    last: int | None = None
    for place, word in enumerate(words):
        if word is None or word != last:
            groups.append([])
        groups[-1].append(place)
        last = word
    return groups


def _by_words(weights: Tensor, row_words: Sequence[int | None], column_words: Sequence[int | None]) -> Tensor:
    columns = torch.stack([weights[:, group].sum(1) for group in _groups(column_words)], dim=1)  # (T, words)
    return torch.stack([columns[group].mean(0) for group in _groups(row_words)])  # (words, words)


def _join(tokens: list[str], words: Sequence[int | None]) -> list[str]:
    return ["".join(tokens[place] for place in group).strip() or " " for group in _groups(words)]
