"""fill from outside: `regard fill`, `regard train fill`, POST /api/fill."""

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import Field

from regard.families.encode.surface import embed
from regard.families.fill import MASK, TOP
from regard.families.options import Columns, Glob, Json, Keys, Model, Valid, choose_columns
from regard.families.surface import Body, Served, Surface, Terminal, Text, Whole
from regard.text.given import name_unknown


def command(
    out: Terminal,
    model: Model,
    text: Annotated[str, typer.Argument(help=f"A text with {MASK} in place of each masked word.", show_default=False)],
    top: Annotated[int, typer.Option(min=1, help="Candidates for each mask.")] = TOP,
    as_json: Json = False,
) -> None:
    """Predict the masked words of a text, with their probabilities.

    Example:
      regard fill models/words "The dog [MASK] in the garden." --top 3
    """
    filled = out.open(model).fill(text, top=top)
    if filled.unknown:
        out.status(f"Note: {name_unknown(filled.unknown)}")
    if as_json:
        out.data(json.dumps(asdict(filled), ensure_ascii=False))
        return
    out.data(filled.text)
    for number, candidates in enumerate(filled.gaps, start=1):
        for candidate in candidates:
            out.data(f"gap {number}  {candidate.probability:6.1%}  {candidate.text}")


def train(
    text: Annotated[
        list[Path],
        typer.Argument(help="Text files, one or more sentences per line, or folders of them.", show_default=False),
    ],
    valid: Valid = [],  # noqa: B006
    glob: Glob = [],  # noqa: B006
    columns: Columns = None,
    keys: Keys = None,
) -> dict[str, Any]:
    """Train a masked language model on lines of text.

    Example:
      regard train fill sentences.txt --to models/words --minutes 20
    """
    return {"text": text, "valid": valid, "glob": glob, **choose_columns(columns, keys)}


class FillBody(Body):
    """A text with gaps."""

    text: Text
    top: Whole = Field(TOP, ge=1, le=100)


async def answer(served: Served, asked: FillBody) -> dict[str, Any]:
    """What may stand in the gaps of a text."""
    served.limits.check_texts([asked.text])
    served.limits.check_count("all gaps", asked.text.count(MASK) * asked.top, served.limits.gaps, "candidates")
    found = await served.ask(compute, [asked.text], await served.sizes([asked.text]), {"top": asked.top})
    return asdict(found[0])


def compute(opened: Any, texts: list[str], is_wanted: Callable[[int], bool], top: int) -> list[Any]:
    """Each text filled."""
    return [opened.fill(text, top=top) for text in texts]


FILL = Surface(
    command, train, FillBody, answer, offers={"embedding": embed}, page="regard.families.fill:fill.js",
    engine="regard.families.fill:filler.js",
)  # fmt: skip
