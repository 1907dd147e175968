"""What was seen as a file of its own: numbers (JSON), a page (HTML) that needs nothing else, a picture (PNG)."""

from __future__ import annotations

import base64
import json
import re
import zlib
from dataclasses import asdict
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from regard import __version__
from regard.errors import ConfigError
from regard.look.marks import MARKS, PNG_MARK
from regard.look.measure import argmax_overlap

if TYPE_CHECKING:
    from regard.look.inspection import Inspection, Kind

STEPS = 65535  # of a weight between 0 and 1, in a page
POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:"
SCRIPTS = (
    "data", "colors", "says", "fragment", "heads", "story", "text", "matrix", "paint", "beside", "picture", "lines",
    "overview", "probabilities", "beam", "why", "keys", "page",
)  # fmt: skip
HEIGHT = 760  # of the frame in a notebook, in pixels


def describe(seen: Inspection) -> dict[str, Any]:
    """Everything but the weights themselves."""
    kinds = {
        name: {
            "rows": kind.rows,
            "columns": kind.columns,
            "row_words": kind.row_words,
            "column_words": kind.column_words,
            "layers": kind.weights.shape[0],
            "heads": kind.weights.shape[1],
            "entropy": _rounded(seen.facts[name]["entropy"]),
            "sink": seen.facts[name]["sink"],
        }
        for name, kind in seen.kinds.items()
    }
    return {
        "regard": __version__,
        "task": seen.task,
        "text": seen.text,
        "answer": seen.answer,
        "notes": seen.notes,
        "kinds": kinds,
        "token_scores": [score._asdict() for score in seen.token_scores],
        "alignment": seen.alignment,
        "aligning": seen.aligning,
        "head_roles": seen.head_roles,
        "logit_lens": seen.logit_lens,
        "why": _why(seen),
    }


def to_json(seen: Inspection) -> str:
    """Weights as nested lists: kinds[name].weights[layer][head][row][column]; rollout[row][column]."""
    page = describe(seen)
    for name in seen.kinds:
        page["kinds"][name]["rollout"] = _rounded(seen.facts[name]["rollout"].tolist())
    kinds = [
        f'{json.dumps(name)}: {json.dumps(about, ensure_ascii=False)[:-1]}, "weights": {_listed(seen.kinds[name])}}}'
        for name, about in page.pop("kinds").items()
    ]
    return f'{json.dumps(page, ensure_ascii=False)[:-1]}, "kinds": {{{", ".join(kinds)}}}}}\n'


def _listed(kind: Kind) -> str:
    """The weights, a head at a time: a whole inspection at once would keep every other thread waiting."""
    layers = [", ".join(json.dumps(_rounded(head.tolist())) for head in layer) for layer in kind.weights]
    return f"[{', '.join(f'[{heads}]' for heads in layers)}]"


def to_html(seen: Inspection) -> str:
    """One file; what is shown first comes first in it, so that it is painted before the rest is read."""
    page = describe(seen)
    maps = {name: _maps(seen, name) for name in seen.kinds}
    first = next(iter(maps))
    scripts = [shrink(read_part(f"{script}.js")) for script in SCRIPTS]
    head = make_head(seen.text[:60], read_part("look.css"))
    body = [head, make_data("seen", json.dumps(page, ensure_ascii=False))]
    body += [make_data(f"{first}-mean", maps[first].pop("mean"))]
    body += ["<script>\n", "\n".join(scripts), "\nregard.show(document.querySelector('main'));\n</script>\n"]
    body += [make_data(f"{name}-{key}", packed) for name, packs in maps.items() for key, packed in packs.items()]
    return "".join([*body, "</body>\n</html>\n"])


def shrink(script: str) -> str:
    """One of our scripts without comments of whole lines, types and indentation: what a browser needs of it."""
    lines = (re.sub(r"/\*\* .*?\*/ ?", "", line).strip() for line in script.splitlines())
    return "\n".join(line for line in lines if line and not line.startswith("//")) + "\n"


def make_head(title: str, style: str, policy: str = POLICY) -> str:
    """The beginning of a page; policy: what it may do."""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f"{MARKS['.html'].decode()}\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape(f'{title} · regard', quote=True)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n"
        "<main></main>\n"
    )


def to_frame(page: str) -> str:
    """A page in a frame, as notebooks show it."""
    page = escape(page, quote=True)
    return f'<iframe srcdoc="{page}" style="width:100%;height:{HEIGHT}px;border:0" sandbox="allow-scripts"></iframe>'


def to_png(svg: str) -> bytes:
    """A picture of dots from one of lines."""
    try:
        import resvg_py
    except ImportError:
        raise ConfigError("a .png is drawn by resvg, which is not installed: pip install regard[png]; "
                          "or write an .svg, which needs nothing") from None  # fmt: skip
    picture = bytes(resvg_py.svg_to_bytes(svg_string=svg))
    chunk = len(PNG_MARK[4:]).to_bytes(4, "big") + PNG_MARK + zlib.crc32(PNG_MARK).to_bytes(4, "big")
    return picture[:33] + chunk + picture[33:]  # after the signature and the header


def _maps(seen: Inspection, name: str) -> dict[str, str]:
    """Every map of a kind, packed: mean, those of single heads by layer-head from 1, rollout, alignment."""
    weights = seen.kinds[name].weights  # (layers, H, T, S)
    found = {"mean": _pack(weights.mean((0, 1))), "rollout": _pack(seen.facts[name]["rollout"])}
    if name == "cross" and seen.aligning:
        found["alignment"] = _pack(torch.tensor(seen.map("cross", head="alignment")))
    for layer, heads in enumerate(weights, start=1):
        for head, one in enumerate(heads, start=1):
            found[f"{layer}-{head}"] = _pack(one)
    return found


def _pack(weights: Tensor) -> str:
    """Two bytes a weight, little end first, as base64."""
    steps = (weights.clamp(0, 1) * STEPS).round().to(torch.int32)
    low, high = steps & 255, steps >> 8
    return base64.b64encode(torch.stack([low, high], dim=-1).to(torch.uint8).numpy().tobytes()).decode()


def _why(seen: Inspection) -> dict[str, Any] | None:
    if seen.why is None:
        return None
    found: dict[str, Any] = asdict(seen.why)
    found = {name: _rounded(value) for name, value in found.items()}
    first = next(iter(seen.kinds))
    if seen.why.gradient:
        rows = seen.map(first, head="alignment" if seen.aligning else None)
        attended = [rows[row] for row in seen.why.rows]
        found["argmax_overlap"] = {
            name: round(argmax_overlap(attended, getattr(seen.why, name)), 4) for name in ("left_out", "gradient")
        }
    return found


def _rounded(value: Any) -> Any:
    """Six digits are enough for weights."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    return value


def make_data(name: str, content: str) -> str:
    """Inert content in a page: no text in it can close the element or open another."""
    safe = content.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
    return f'<script type="application/json" id="regard-{name}">{safe}</script>\n'


def read_part(name: str) -> str:
    """A file of the page."""
    return files("regard.look").joinpath("page", name).read_text(encoding="utf-8")
