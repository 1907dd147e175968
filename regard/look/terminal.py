"""Maps with labels in a terminal: shades under heads that are written across. Knows numbers and strings, no model."""

import shutil
from collections.abc import Sequence

from regard.look.labels import cut, pad, readable, width

SHADES = " ░▒▓█"
LEGEND = "Rows attend to columns. ░ ▒ ▓ █: more than 20, 40, 60, 80 % of the largest weight of the row."
TURNED = "Columns attend to rows. ░ ▒ ▓ █: more than 20, 40, 60, 80 % of the largest weight of the column."
FEWEST, MOST = 4, 14  # letters of a column head; below the fewest, columns are drawn in parts
Cells = list[list[str]]


def draw_terminal(
    weights: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str], room: int | None = None
) -> str:
    """A map in shades, with what it shows; room: columns of the terminal, of the one it runs in if not given.

    A full block is the largest weight of its row, so each row shows what it attends to most. A map of few rows and long
    column labels, as that of a story, is turned.
    """
    room = room or shutil.get_terminal_size((100, 24)).columns
    labels, heads = [readable(label) for label in rows], [readable(label) for label in columns]
    cells = [_shade(row) for row in weights]
    if len(labels) < len(heads) and max(map(width, heads)) > MOST >= max(map(width, labels)):
        turned = [list(column) for column in zip(*cells, strict=True)]
        return "\n".join([*_draw(turned, heads, labels, room), TURNED])
    return "\n".join([*_draw(cells, labels, heads, room), LEGEND])


def _shade(row: Sequence[float]) -> list[str]:
    top = max(row) or 1.0
    return [SHADES[min(len(SHADES) - 1, int(weight / top * len(SHADES)))] for weight in row]


def _draw(cells: Cells, labels: list[str], heads: list[str], room: int) -> list[str]:
    """Lines of shades: all columns side by side, or in parts that fit."""
    margin = min(max(map(width, labels)), max(8, room // 2))
    labels = [pad(cut(label, margin), margin, is_right=True) for label in labels]
    left = room - margin - 2
    longest = max((most for most in range(2, MOST + 1) if _needed(heads, most) <= left), default=0)
    whole = max(map(width, heads))
    if longest >= min(FEWEST, whole):
        return _lines(cells, labels, [cut(head, longest) for head in heads], range(len(heads)))
    heads = [cut(head, 2 * FEWEST) for head in heads]
    lines: list[str] = []
    start = 0
    while start < len(heads):
        end = start + 1
        while end < len(heads) and _needed(heads[start : end + 1], MOST) <= left:
            end += 1
        lines += [f"columns {start + 1} to {end} of {len(heads)}:", *_lines(cells, labels, heads, range(start, end))]
        start = end
    return lines


def _needed(heads: list[str], most: int) -> int:
    return sum(max(2, min(most, width(head))) + 1 for head in heads) - 1


def _lines(cells: Cells, labels: list[str], heads: list[str], places: range) -> list[str]:
    wide = [max(2, width(heads[place])) for place in places]
    lines = [" " * (width(labels[0]) + 2) + " ".join(pad(heads[p], w) for p, w in zip(places, wide, strict=True))]
    for label, row in zip(labels, cells, strict=True):
        lines.append(f"{label}  " + " ".join(row[p] * w for p, w in zip(places, wide, strict=True)))
    return [line.rstrip() for line in lines]
