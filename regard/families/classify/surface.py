"""classify from outside: `regard classify`, `regard train classify`, POST /api/classify."""

import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import Field

from regard.errors import ConfigError
from regard.families.encode.surface import embed
from regard.families.options import Columns, Json, Keys, Model, Separator, Valid, choose_columns
from regard.families.surface import Served, Share, Surface, Terminal, TextBody, Whole
from regard.text.given import stdin_lines

TOP = 5  # labels of an answer
NONE = "-"  # in place of a label, where it is unsure


def command(
    out: Terminal,
    model: Model,
    text: Annotated[str | None, typer.Argument(help="A text; default: the lines of standard input.")] = None,
    top: Annotated[int, typer.Option(min=1, help="Labels to print for each text, likeliest first.")] = 1,
    unsure: Annotated[float, typer.Option(min=0, max=1, help=f"Print {NONE} below this probability.")] = 0.0,
    nearest: Annotated[
        list[Path],
        typer.Option(help="Labelled texts, as it was trained on: the nearest to TEXT are printed too. Repeatable."),
    ] = [],  # noqa: B006
    as_json: Json = False,
) -> None:
    """Classify texts: for each line of standard input a line with its label and the probability of it.

    Example:
      regard classify models/reviews < reviews.txt
    """
    if nearest and text is None:
        raise ConfigError("--nearest shows the texts that are nearest to one; give that TEXT as an argument")
    classifier = out.open(model)
    out.hint("Type a text; Ctrl-D ends.") if text is None else None
    lines = [text] if text is not None else stdin_lines(out.status)
    together = 1 if sys.stdin.isatty() or text is not None else 1024
    unlike = 0
    for found in classifier.each(lines, top=top, unsure=unsure, together=together):
        unlike += found.is_unlike
        near = classifier.nearest(text, *nearest) if nearest else []
        if as_json:
            rows = {"nearest": [asdict(one) for one in near]} if nearest else {}
            out.data(json.dumps(describe(found) | rows, ensure_ascii=False))
            continue
        out.data(in_words(found, top))
        for one in near:
            out.data(f"{one.score:.4f}\t{', '.join(one.labels)}\t{one.text}")
    if unlike:
        out.status(f"Note: most words of {unlike} of the texts were never seen in training; their labels are guesses")


def in_words(found: Any, top: int) -> str:
    """A line: the label and its probability; or several of them. Of a text without words, an empty one."""
    if not found.labels:
        return ""
    if top == 1:
        return f"{', '.join(found.given) or NONE}\t{found.labels[0].probability:.4f}"
    likeliest = [f"{label.name}\t{label.probability:.4f}" for label in found.labels]
    return "\t".join(likeliest if found.given else [NONE, *likeliest])


def describe(found: Any) -> dict[str, Any]:
    """The same as an object."""
    return {"label": found.label, **asdict(found)}


def train(
    text: Annotated[
        list[Path],
        typer.Argument(
            help="Tables of label and text, a file of lines for each label, or folders.", show_default=False
        ),
    ],
    valid: Valid = [],  # noqa: B006
    columns: Columns = None,
    keys: Keys = None,
    separator: Separator = None,
) -> dict[str, Any]:
    """Train a classifier on texts with labels: of a table (.tsv, .csv, .jsonl, …) the columns label and text, else a
    file of lines for each label, or a folder with a folder of texts for each.

    Example:
      regard train classify reviews.tsv --to models/reviews
    """
    return {"text": text, "valid": valid or None, "separator": separator, **choose_columns(columns, keys)}


class ClassifyBody(TextBody):
    """A text, or several, and how much is wanted of each."""

    top: Whole = Field(TOP, ge=1, le=100)
    unsure: Share = Field(0.0, ge=0, le=1)


async def answer(served: Served, asked: ClassifyBody) -> dict[str, Any]:
    """The labels of each text, with their probabilities."""
    served.limits.check_texts(asked.texts)
    sizes = await served.sizes(asked.texts)
    found = await served.ask(compute, asked.texts, sizes, {"top": asked.top, "unsure": asked.unsure})
    return {"model": served.name, "texts": [describe(one) for one in found]}


def compute(opened: Any, texts: list[str], is_wanted: Callable[[int], bool], top: int, unsure: float) -> list[Any]:
    """Each text classified."""
    found: list[Any] = opened.classify_all(texts, top=top, unsure=unsure)
    return found


def describe_live(opened: Any) -> dict[str, Any]:
    """What the page's script needs to know: no more; it computes n-grams."""
    if opened.has_encoder:
        raise ConfigError("a page computes classifiers of n-grams, and this one has an encoder; `regard serve` it "
                          "instead, or record what it does with a text: --recorded")  # fmt: skip
    return {}


CLASSIFY = Surface(
    command, train, ClassifyBody, answer, offers={"embedding": embed}, shares_batches=True,
    page="regard.families.classify:classify.js", engine="regard.families.classify:classifier.js",
    live=describe_live,
)  # fmt: skip
