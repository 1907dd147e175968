"""Maps with labels as SVG. Knows numbers and strings, no model."""

from collections.abc import Sequence
from html import escape

from regard.look.labels import readable, width

CELL = 22  # of the SVG, in pixels
MARK = 'data-generator="regard"'  # by which the SVG is known for ours


def draw_svg(weights: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]) -> str:
    """A map as a picture that needs nothing else: darker is more; each cell shows its weight on hover."""
    labels, heads = [readable(label) for label in rows], [readable(label) for label in columns]
    left = 16 + 8 * max(map(width, labels))
    above = 16 + 8 * max(map(width, heads))
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
