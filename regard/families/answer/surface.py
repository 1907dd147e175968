"""answer from outside: `regard answer`, `regard train answer`, POST /api/answer."""

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from pydantic import AfterValidator

from regard.families.options import Glob, Json, Model, Valid
from regard.families.surface import Body, LookBody, Served, Surface, Terminal, Text, Texts
from regard.text.stories import read_sentences, split_sentences

MOST_SHOWN, LEAST_SHOWN = 4, 0.05  # sentences of a hop, and the least attention of one


def command(
    out: Terminal,
    model: Model,
    story: Annotated[
        Path, typer.Argument(help="File of a story, one sentence per line; - for standard input.", show_default=False)
    ],
    question: Annotated[str | None, typer.Argument(help="The question.", show_default=False)] = None,
    as_json: Json = False,
) -> None:
    """Answer a question about a story, and show the attention of each hop; unknown where the story has no answer.

    Example:
      regard answer models/stories story.txt "Where is Mary?"
    """
    if question is None:
        raise typer.BadParameter(f"a story and a question are wanted, and {str(story)!r} alone was given; name the "
                                 f"story's file before the question, or - where the story is piped in, as in: regard "
                                 f'answer {model} story.txt "Where is Mary?"')  # fmt: skip
    answerer = out.open(model)
    found = answerer.answer(read_sentences(None if str(story) == "-" else story), question)
    for note in found.notes:
        out.status(f"Note: {note}")
    out.data(json.dumps(as_fields(found), ensure_ascii=False) if as_json else describe_answer(found))


def as_fields(answer: Any) -> dict[str, Any]:
    """An answer as JSON has it."""
    return asdict(answer) | {"abstained": answer.abstained}


def describe_answer(answer: Any) -> str:
    """An answer, and below it the sentences with most attention of each hop."""
    lines = [f"{answer.text}  {answer.probability:.1%}" + ("  the story has no answer" if answer.abstained else "")]
    for number, weights in enumerate(answer.hops, start=1):
        lines.append(f"hop {number}")
        best = sorted(zip(weights, answer.sentences, strict=True), reverse=True)[:MOST_SHOWN]
        lines += [f"  {weight:6.1%}  {sentence}" for weight, sentence in best if weight >= LEAST_SHOWN]
    return "\n".join(lines)


def train(
    stories: Annotated[
        list[Path], typer.Argument(help="Files of stories in bAbI format, or folders of them.", show_default=False)
    ],
    valid: Valid = [],  # noqa: B006
    glob: Glob = [],  # noqa: B006
) -> dict[str, Any]:
    """Train a Transformer or a memory network to answer questions about stories, of one bAbI task or of many together.

    Example:
      regard train answer qa1_train.txt qa2_train.txt --to models/stories
    """
    return {"stories": stories, "valid": valid, "glob": glob}


def _sentences(story: str | list[str]) -> tuple[str, ...]:
    """The sentences of a story: a text is split as everywhere else, a list is taken as it is."""
    sentences = tuple(split_sentences(story) if isinstance(story, str) else story)
    if not any(sentence.strip() for sentence in sentences):
        raise ValueError("the story has no sentence")
    return sentences


Story = Annotated[Texts, AfterValidator(_sentences)]


class AnswerBody(Body):
    """A story, as a text or a list of sentences, and a question about it."""

    story: Story
    question: Text


class AnswerLook(LookBody):
    """The question is `text`."""

    story: Story


async def story_size(served: Served, story: Sequence[str], question: str) -> int:
    """What a story costs: all its sentences are computed as long as the longest."""
    limits = served.limits
    limits.check_texts([*story, question], limits.lines)
    longest = max(await served.sizes([*story, question]))
    limits.check_count("a sentence of the story, or the question", longest, limits.sentence_tokens)
    limits.check_count("the story", longest * len(story), limits.story_tokens)
    return longest * (len(story) + 1)


async def look_size(served: Served, asked: AnswerLook) -> int:
    """The same, of what is looked into."""
    return await story_size(served, asked.story, asked.text)


async def answer(served: Served, asked: AnswerBody) -> dict[str, Any]:
    """The answer to a question about a story, and the attention of each hop; unknown where the story has none."""
    size = await story_size(served, asked.story, asked.question)
    return as_fields((await served.ask(compute, [(asked.story, asked.question)], [size], {}))[0])


def compute(opened: Any, items: list[Any], is_wanted: Callable[[int], bool]) -> list[Any]:
    """The answer to each question about its story."""
    return [opened.answer(story, question) for story, question in items]


ANSWER = Surface(
    command,
    train,
    AnswerBody,
    answer,
    look=AnswerLook,
    look_size=look_size,
    page="regard.families.answer:answer.js",
    engine="regard.families.answer:answerer.js",
)
