"""Pictures in a few lines of SVG: lines, boxes, words, and charts made of them. Knows numbers and strings, no model.

What can be counted carries a class (`line`, `cell`, `glimpse`, …); nothing is loaded from elsewhere.
"""

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path

# Okabe and Ito's colours, safe for the colour-blind; each line has its own dashes too, for a print in grey.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#000000", "#cc79a7"]
DASHES = ["none", "8 3", "3 3", "10 3 2 3", "1 3"]
GREY, SIZE = "#666666", 13


class Picture:
    """A white sheet to put marks on; y grows downwards."""

    def __init__(self, width: int, height: int, title: str) -> None:
        size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        self.parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="sans-serif" font-size="{SIZE}">',
                      f"<title>{escape(title)}</title>",
                      f'<rect class="sheet" width="{width}" height="{height}" fill="#ffffff"/>']  # fmt: skip

    def text(self, x: float, y: float, words: str, *, anchor: str = "start", colour: str = "#000000") -> None:
        """Words that start, end or have their middle at x, above y."""
        place = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
        self.parts.append(f'<text {place} fill="{colour}">{escape(words)}</text>')

    def line(self, points: Sequence[tuple[float, float]], *, kind: str, colour: str = GREY, dashes: str = "none",
             width: float = 1) -> None:  # fmt: skip
        """Straight from point to point."""
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        look = f'fill="none" stroke="{colour}" stroke-width="{width}" stroke-dasharray="{dashes}"'
        self.parts.append(f'<polyline class="{kind}" points="{path}" {look}/>')

    def box(self, x: float, y: float, width: float, height: float, *, kind: str, fill: str = "none",
            edge: str | None = None, edge_width: float = 1) -> None:  # fmt: skip
        """A rectangle with its upper left corner at (x, y)."""
        place = f'x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"'
        look = f'fill="{fill}"' + (f' stroke="{edge}" stroke-width="{edge_width}"' if edge else "")
        self.parts.append(f'<rect class="{kind}" {place} {look}/>')

    def dot(self, x: float, y: float, *, kind: str, colour: str) -> None:
        """A small disc."""
        self.parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="{colour}"/>')

    def save(self, to: str | Path) -> None:
        """Writes the file."""
        Path(to).write_text("\n".join([*self.parts, "</svg>", ""]), encoding="utf-8")


def line_chart(picture: Picture, left: float, top: float, width: float, height: float, *, title: str, across: str,
               places: Sequence[str], lines: Mapping[str, Sequence[float]]) -> None:  # fmt: skip
    """Shares from 0 to 1 over named places, one line per name; `legend` says which is which."""
    picture.text(left, top - 12, title)
    for share in (0, 0.25, 0.5, 0.75, 1):
        y = top + height * (1 - share)
        picture.line([(left, y), (left + width, y)], kind="grid", colour="#dddddd")
        picture.text(left - 6, y + 4, f"{share:.0%}", anchor="end", colour=GREY)
    step = width / max(1, len(places) - 1)
    for i, place in enumerate(places):
        picture.text(left + step * i, top + height + 18, place, anchor="middle", colour=GREY)
    picture.text(left + width / 2, top + height + 38, across, anchor="middle", colour=GREY)
    for number, shares in enumerate(lines.values()):
        points = [(left + step * i, top + height * (1 - share)) for i, share in enumerate(shares)]
        picture.line(points, kind="line", colour=COLOURS[number], dashes=DASHES[number], width=2.5)
        for x, y in points:
            picture.dot(x, y, kind="dot", colour=COLOURS[number])


def legend(picture: Picture, left: float, top: float, names: Sequence[str]) -> None:
    """Which line is which, below each other."""
    for number, name in enumerate(names):
        y = top + 22 * number
        picture.line([(left, y), (left + 34, y)], kind="key", colour=COLOURS[number], dashes=DASHES[number], width=2.5)
        picture.dot(left + 17, y, kind="key", colour=COLOURS[number])
        picture.text(left + 42, y + 4, name)


def heat_map(picture: Picture, left: float, top: float, cell: float, weights: Sequence[Sequence[float]], *,
             wide: float = 1.0, darkest: float = 1.0) -> None:  # fmt: skip
    """A cell for every weight that is not zero, darker for more, up to `darkest`; `wide` times as wide as high."""
    for y, row in enumerate(weights):
        for x, weight in enumerate(row):
            if weight:
                place, size = (left + wide * cell * x, top + cell * y), (wide * cell - 0.5, cell - 0.5)
                picture.box(*place, *size, kind="cell", fill=shade(weight / darkest))
    picture.box(left, top, wide * cell * len(weights[0]), cell * len(weights), kind="frame", edge=GREY)


def shade(share: float) -> str:
    """From nearly white (0) to dark blue (1): they differ in lightness alone."""
    share = min(1.0, max(0.0, share))
    ends = ((244, 8), (247, 48), (251, 107))  # red, green, blue
    return "#" + "".join(f"{round(light + (dark - light) * share):02x}" for light, dark in ends)
