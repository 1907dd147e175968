"""How a family is used from outside: its command, its route and its page, declared once for `cli` and `serve`.

What serves a model and what writes to a terminal are handed in: this room knows neither.
"""

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeVar

import typer
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, Strict

from regard.families.options import Json, Model, Valid
from regard.text.given import stdin_lines

T = TypeVar("T")


def _whole(value: Any) -> Any:
    """A form has numbers as digits."""
    is_digits = isinstance(value, str) and len(value) < 10 and value.strip().isascii() and value.strip().isdigit()
    return int(value) if is_digits else value


def _whole_characters(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("it has half a character (a lone surrogate)") from None
    return text


Text = Annotated[str, Strict(), AfterValidator(_whole_characters)]
Texts = Text | list[Text]
Whole = Annotated[int, BeforeValidator(_whole), Strict()]
Share = Annotated[float, Strict(), Field(allow_inf_nan=False)]


class Body(BaseModel):
    """What every request may hold."""

    model_config = ConfigDict(defer_build=True)  # commands have no bodies, and building these takes as long as a line

    model: Text | None = None  # its name; else the first that can do it


class TextBody(Body):
    """A text, or several."""

    text: Texts

    @property
    def texts(self) -> list[str]:
        """All of them."""
        return [self.text] if isinstance(self.text, str) else self.text


class LookBody(Body):
    """What is looked into."""

    text: Text
    why: Annotated[bool, Strict()] = False  # also what each word and head is worth


class Served(Protocol):
    """A model behind its queue, as `serve` has it."""

    name: str
    opened: Any
    limits: Any

    async def sizes(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text."""

    async def ask(
        self, compute: "Compute", items: Sequence[Any], sizes: list[int], options: Mapping[str, Any], cost: int = 1
    ) -> list[Any]:
        """What `compute` gives for the items, run in batches that requests with equal options share."""

    async def aside(self, work: Callable[[], T], letters: int) -> T:
        """Python work on so many letters, beside the event loop where that takes long."""

    async def aside_in_pieces(self, work: Callable[[list[str]], T], texts: Sequence[str]) -> list[T]:
        """The same on some texts after others."""

    def check_room(self, items: int, tokens: int, cost: int) -> None:
        """Refuses at once what the queue cannot take."""


class Terminal(Protocol):
    """The command line, as `cli` has it."""

    def open(self, folder: Path, engine: str | None = None, precision: str | None = None) -> Any:
        """The model in a folder, which must be of the command's family."""

    def data(self, line: str) -> None:
        """A line on stdout."""

    def stream(self, text: str) -> None:
        """A part of a line, shown at once."""

    def status(self, line: str) -> None:
        """A line on stderr."""

    def hint(self, line: str) -> None:
        """A line for a person who types."""


# Of a model, some items, whether an item is still waited for, and options: an answer to each item.
Compute = Callable[..., list[Any]]


async def text_size(served: Served, asked: LookBody) -> int:
    """Tokens of all texts that are looked into."""
    texts = [value for name, value in asked if isinstance(value, str) and name != "model"]
    served.limits.check_texts(texts)
    tokens = sum(await served.sizes(texts))
    most = served.limits.why_tokens if asked.why else served.limits.look_tokens
    served.limits.check_count("what is looked into", tokens, most)
    return tokens


@dataclass(frozen=True)
class Surface:
    """One family, from outside. What is None it does not have."""

    command: Callable[..., None] | None = None  # regard NAME …: a function for typer, but for its terminal `out`
    train: Callable[..., dict[str, Any]] | None = None  # regard train NAME …: the same; what training is given
    body: type[Body] | None = None  # fields of POST /api/NAME
    answer: Callable[[Any, Any], Awaitable[Mapping[str, Any]]] | None = None  # of a served model and a body
    offers: Mapping[str, Callable[..., Any]] = field(default_factory=dict)  # for protocols of others, such as OpenAI's
    look: type[LookBody] | None = LookBody  # fields of POST /api/look
    look_size: Callable[[Any, Any], Awaitable[int]] = text_size  # what a look costs, in tokens; refuses too much
    facts: Callable[[Any], dict[str, Any]] = lambda opened: {}  # of GET /api/models, beside the rest
    # How many threads run it together, where costly requests (True) have a process and a copy of their own.
    workers: Callable[[Any, bool], int] | None = None
    shares_batches: bool = False  # whether items of several requests are computed together
    page: str | None = None  # a script of the page, as package:file; else the plain one
    engine: str | None = None  # the script that runs it in a page, as package:file; None: only a server does
    live: Callable[[Any], dict[str, Any]] = lambda opened: {}  # what that script needs to know beside shape and weights


def run_texts(opened: Any, texts: list[str], is_wanted: Callable[[int], bool]) -> list[Any]:
    """What a model that is called with a text gives for each."""
    return [opened(text) for text in texts]


async def answer_texts(served: Served, asked: TextBody) -> dict[str, Any]:
    """Text in, text out."""
    served.limits.check_texts(asked.texts)
    sizes = await served.sizes(asked.texts)
    return {"model": served.name, "texts": await served.ask(run_texts, asked.texts, sizes, {})}


def run_command(
    out: Terminal,
    model: Model,
    text: Annotated[str | None, typer.Argument(help="A text; default: the lines of standard input.")] = None,
    as_json: Json = False,
) -> None:
    """Text in, text out: each line of standard input, or the text that is given."""
    opened = out.open(model)
    out.hint("Type a line; Ctrl-D ends.") if text is None else None
    for line in [text] if text is not None else stdin_lines(out.status):
        answer = opened(line)
        out.data(json.dumps({"text": line, "answer": answer}, ensure_ascii=False) if as_json else str(answer))


def train_texts(
    text: Annotated[list[Path], typer.Argument(help="Files of text, or folders of them.", show_default=False)],
    valid: Valid = [],  # noqa: B006
) -> dict[str, Any]:
    """Train on text."""
    return {"text": text, "valid": valid}


PLAIN = Surface(run_command, train_texts, TextBody, answer_texts)
