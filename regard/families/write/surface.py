"""write from outside: `regard write`, `regard train write`, POST /api/write, and what completions are made of."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import Field

from regard.decoding.settings import TEMPERATURE, TOKENS, Sampling
from regard.errors import ConfigError
from regard.families.options import Columns, Engine, Glob, Json, Keys, Model, Precision, Valid, choose_columns
from regard.families.surface import Body, Served, Share, Surface, Terminal, Text, Whole
from regard.text.given import read_stdin


def command(
    out: Terminal,
    model: Model,
    prompt: Annotated[str, typer.Argument(help="Prompt; - reads it from standard input.")] = "",
    tokens: Annotated[int, typer.Option(min=1, help="Most tokens to generate.")] = TOKENS,
    temperature: Annotated[float, typer.Option(help="Sampling temperature; 0 is greedy decoding.")] = TEMPERATURE,
    top_k: Annotated[int | None, typer.Option(help="Sample from the k likeliest tokens.")] = None,
    top_p: Annotated[
        float | None, typer.Option(help="Sample from the likeliest tokens with this total probability.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Random seed; the same seed generates the same text.")] = None,
    stop: Annotated[list[str], typer.Option(help="Stop before this string; repeatable.")] = [],  # noqa: B006
    samples: Annotated[int, typer.Option(min=1, help="Number of continuations; a blank line between them.")] = 1,
    engine: Engine = None,
    precision: Precision = None,
    as_json: Json = False,
) -> None:
    """Generate text from a prompt, printed as it is generated.

    Example:
      regard write models/tales "Once upon a time" --tokens 100 --top-p 0.9 --seed 1
    """
    Sampling(temperature, top_k, top_p)  # wrong values are refused before the model is opened
    if temperature == 0 and (top_k or top_p):
        raise ConfigError("--top-k and --top-p are about what is drawn; --temperature 0 draws nothing, leave them out")
    writer = out.open(model, engine, precision)
    if prompt == "-":
        out.hint("Type what the text begins with; Ctrl-D ends it.")
        prompt = read_stdin("a prompt")
    how = {"tokens": tokens, "temperature": temperature, "top_k": top_k, "top_p": top_p, "stop": stop}
    if as_json:
        for text in writer.samples(prompt, count=samples, seed=seed, **how):
            out.data(json.dumps({"prompt": prompt, "text": text}, ensure_ascii=False))
        return
    for number in range(samples):
        pieces = writer.stream(prompt, seed=None if seed is None else seed + number, **how)
        first = next(pieces, "")  # errors come before anything is written
        out.stream((prompt if number == 0 else "\n" + prompt) + first)
        for piece in pieces:
            out.stream(piece)
        out.data("")


def train(
    text: Annotated[
        list[Path],
        typer.Argument(help="Files of running text, one document each, or folders of them.", show_default=False),
    ],
    valid: Valid = [],  # noqa: B006
    glob: Glob = [],  # noqa: B006
    columns: Columns = None,
    keys: Keys = None,
) -> dict[str, Any]:
    """Train a causal language model on running text.

    Example:
      regard train write books/ --to models/tales --epochs 10
    """
    return {"text": text, "valid": valid, "glob": glob, **choose_columns(columns, keys)}


class WriteBody(Body):
    """A text and how to continue it."""

    text: Text = ""
    tokens: Whole = Field(TOKENS, ge=1, le=2048)
    temperature: Share = Field(TEMPERATURE, ge=0, le=2)
    top_p: Share = Field(1.0, gt=0, le=1)
    seed: Whole | None = Field(None, ge=0, lt=2**31)


async def answer(served: Served, asked: WriteBody) -> dict[str, Any]:
    """One continuation."""
    served.limits.check_texts([asked.text])
    options = {"tokens": asked.tokens, "temperature": asked.temperature, "stop": (), "seed": asked.seed}
    options |= {"top_p": asked.top_p} if asked.top_p < 1 else {}
    (found,) = await complete(served, asked.text, 1, options)
    return {"model": served.name, "text": found.text, "reason": found.reason, "unknown": found.unknown,
            "notes": found.notes}  # fmt: skip


async def complete(served: Served, prompt: str, samples: int, options: dict[str, Any]) -> Sequence[Any]:
    """Continuations of a text: texts, tokens and log-probabilities of each."""
    size = (await served.sizes([prompt]))[0] + int(options["tokens"])
    seed = options["seed"]
    items = [(prompt, None if seed is None else seed + number) for number in range(samples)]
    return await served.ask(sample, items, [size] * samples, options | {"seed": None})


async def stream(served: Served, prompt: str, options: dict[str, Any], push: Callable[[str], bool]) -> str:
    """Continues a text and pushes each piece until `push` returns False. Returns why it ended."""
    size = (await served.sizes([prompt]))[0] + int(options["tokens"])
    items = [(prompt, options["seed"], push)]
    return str((await served.ask(push_sample, items, [size], options | {"seed": None}))[0])


def sample(opened: Any, items: list[Any], is_wanted: Callable[[int], bool], **options: Any) -> list[Any]:
    """One continuation of each prompt."""
    return [
        opened.sample(prompt, push=lambda _, place=place: is_wanted(place), **options | {"seed": seed})
        for place, (prompt, seed) in enumerate(items)
    ]


def push_sample(opened: Any, items: list[Any], is_wanted: Callable[[int], bool], **options: Any) -> list[Any]:
    """The same, each piece pushed as it is generated; why it ended."""
    ((prompt, seed, push),) = items
    sampled = opened.sample(prompt, push=lambda piece: push(piece) and is_wanted(0), **options | {"seed": seed})
    return [sampled.reason]


WRITE = Surface(
    command, train, WriteBody, answer, offers={"completion": complete, "stream": stream},
    page="regard.families.write:write.js", engine="regard.families.write:writer.js",
)  # fmt: skip
