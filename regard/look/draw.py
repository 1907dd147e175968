"""Maps with labels to pictures: for a terminal, and as SVG. Knows numbers and strings, no model."""

import unicodedata
from collections.abc import Sequence
from html import escape

SHADES = " ░▒▓█"
CELL = 22  # of the SVG, in pixels
MARK = 'data-generator="regard"'  # by which the SVG is known for ours


def draw_terminal(weights: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]) -> str:
    """A map in shades: one line per row label, column labels written downwards above it.

    A full block is the largest weight of its row, so each row shows where it looked most.
    """
    labels = [_readable(label) for label in rows]
    heads = [_readable(label) for label in columns]
    margin = max(map(_width, labels))
    height = max(map(len, heads))
    lines = [
        " " * (margin + 2)
        + " ".join(f"{head[i]:<2}"[:2] if i < len(head) else "  " for head in (h.rjust(height) for h in heads)).rstrip()
        for i in range(height)
    ]
    for label, row in zip(labels, weights, strict=True):
        top = max(row) or 1.0
        cells = " ".join(SHADES[min(len(SHADES) - 1, int(weight / top * len(SHADES)))] * 2 for weight in row)
        lines.append(" " * (margin - _width(label)) + f"{label}  {cells}".rstrip())
    return "\n".join(lines)


def draw_svg(weights: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]) -> str:
    """A map as a picture that needs nothing else: darker is more; each cell shows its weight on hover."""
    labels, heads = [_readable(label) for label in rows], [_readable(label) for label in columns]
    left = 16 + 8 * max(map(_width, labels))
    above = 16 + 8 * max(map(_width, heads))
    size = f'width="{left + CELL * len(heads) + 8}" height="{above + CELL * len(labels) + 8}"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} {MARK} font-family="sans-serif" font-size="13">',
             '<rect width="100%" height="100%" fill="#fff"/>']  # fmt: skip
    for x, head in enumerate(heads):
        place = f"translate({left + CELL * x + CELL // 2 + 4},{above - 6}) rotate(-90)"
        parts.append(f'<text transform="{place}">{escape(head)}</text>')
    for y, (label, row) in enumerate(zip(labels, weights, strict=True)):
        parts.append(f'<text x="{left - 6}" y="{above + CELL * y + 15}" text-anchor="end">{escape(label)}</text>')
        for x, weight in enumerate(row):
            # From white to a dark blue: lightness alone separates them for the colour-blind.
            red, green, blue = (round(255 + (end - 255) * weight) for end in (8, 48, 107))
            cell = f'x="{left + CELL * x}" y="{above + CELL * y}" width="{CELL - 1}" height="{CELL - 1}"'
            title = f"{escape(label)} attends to {escape(heads[x])}: {weight:.3f}"
            parts.append(f'<rect {cell} fill="rgb({red},{green},{blue})"><title>{title}</title></rect>')
    return "\n".join([*parts, "</svg>", ""])


def _readable(label: str) -> str:
    """A label on one line, with nothing a terminal would obey."""
    shown = label.strip(" ") or "␣"
    return "".join(
        "�" if unicodedata.category(letter)[0] == "C" or letter in "\u2028\u2029" else letter for letter in shown
    )


def _width(label: str) -> int:
    """Columns a label takes on a terminal."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in label)
