"""Lessons as they are in their folder: text, a prediction, a question, lines of Python, and a script beside it.

A lesson's file is a small part of Markdown: a heading, paragraphs, `code`, *emphasis*, and the sections Predict, Found,
Check and Python. Knows no model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape
from importlib.resources import files

SECTIONS = ("", "Predict", "Found", "Check", "Python")
CHOICE = re.compile(r"- \[([ x])\] (.+)")


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked, what can be answered, and which of it is right (of a prediction: what usually comes out)."""

    ask: str
    choices: tuple[str, ...]
    right: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class Lesson:
    """One lesson of the course."""

    name: str
    title: str
    needs: str | None  # the family of the model that its experiment runs on
    text: str
    predict: Question
    found: str
    check: Question
    python: str
    script: str


def read_lessons() -> list[Lesson]:
    """All lessons in their order."""
    folder = files("regard.course").joinpath("lessons")
    names = sorted(one.name.removesuffix(".md") for one in folder.iterdir() if one.name.endswith(".md"))
    return [
        parse_lesson(
            name.partition("-")[2],
            folder.joinpath(f"{name}.md").read_text(encoding="utf-8"),
            folder.joinpath(f"{name}.js").read_text(encoding="utf-8"),
        )
        for name in names
    ]


def parse_lesson(name: str, text: str, script: str) -> Lesson:
    """A lesson from its text; one without all of its parts is an error of ours."""
    first, *rest = re.split(r"^## ", text, flags=re.M)
    parts = {head: body.strip() for head, _, body in (one.partition("\n") for one in rest)}
    assert tuple(parts) == SECTIONS[1:], f"{name}: sections {', '.join(parts)}"
    title, _, body = first.strip().partition("\n")
    needs = re.search(r"^needs: (\w+)\n", body, re.M)
    python = re.fullmatch(r"```python\n(.*)\n```", parts["Python"], re.S)
    assert title.startswith("# ") and python is not None, name
    return Lesson(
        name, title[2:], needs[1] if needs else None, body.replace(needs[0], "", 1).strip() if needs else body.strip(),
        _question(parts["Predict"]), parts["Found"], _question(parts["Check"]), python[1], script,
    )  # fmt: skip


def _question(body: str) -> Question:
    choices = CHOICE.findall(body)
    (right,) = [place for place, (mark, _) in enumerate(choices) if mark == "x"]
    before, after = body[: body.index("- [")], body[body.rindex(choices[-1][1]) + len(choices[-1][1]) :]
    return Question(before.strip(), tuple(text for _, text in choices), right, after.strip())


def to_html(lesson: Lesson, number: int, before: Lesson | None = None, after: Lesson | None = None) -> str:
    """A lesson as an element of the page, to be brought to life by course.js; before, after: what it leads to."""
    return f"""<article id="{lesson.name}" data-needs="{lesson.needs or ""}" hidden>
<h2>{number}. {to_inline(lesson.title)}</h2>
{_paragraphs(lesson.text)}
<p class="missing" hidden>This experiment runs on a model to {lesson.needs}, and the page was written without
one. Train it with <code>regard learn --prepare</code>, or name one of your own:
<code>regard learn models/mine</code>.</p>
<section class="predict"><h3>Predict</h3>{_paragraphs(lesson.predict.ask)}
{_choices(lesson.predict, f"predict-{lesson.name}", "data-usual")}
<button type="button" data-act="measure" disabled>Measure</button>
<div class="measured" aria-live="polite" hidden></div></section>
<section class="found" hidden>{_paragraphs(lesson.found)}</section>
<section class="experiment" hidden><h3>Try it</h3><div class="box"></div></section>
<section class="check"><h3>Check</h3>{_paragraphs(lesson.check.ask)}
{_choices(lesson.check, f"check-{lesson.name}", "data-right")}
<p class="verdict" aria-live="polite"></p><div class="why" hidden>{_paragraphs(lesson.check.why)}</div></section>
<section class="python"><h3>The same in Python</h3><pre><code>{escape(lesson.python)}</code></pre></section>
<p class="turn">{_link(before, f"← {number - 1}.")}{_link(after, f"{number + 1}.", " →")}</p>
</article>
"""


def _link(lesson: Lesson | None, front: str, end: str = "") -> str:
    return f'<a href="#{lesson.name}">{front} {to_inline(lesson.title)}{end}</a>' if lesson else ""


def _choices(question: Question, name: str, mark: str) -> str:
    rows = [
        f'<label><input type="radio" name="{name}" value="{place}"{f" {mark}" if place == question.right else ""}> '
        f"{to_inline(text)}</label>"
        for place, text in enumerate(question.choices)
    ]
    return f'<div class="options">{"".join(rows)}</div>'


def _paragraphs(text: str) -> str:
    parts = [one.strip() for one in re.split(r"\n\s*\n", text) if one.strip()]
    kinds = [' class="formula"' if re.fullmatch(r"`[^`]+`", one) else "" for one in parts]
    return "\n".join(f"<p{kind}>{to_inline(one)}</p>" for kind, one in zip(kinds, parts, strict=True))


def to_inline(text: str) -> str:
    """A line with its code and emphasis as elements, and everything else as text."""
    safe = escape(" ".join(text.split()), quote=False)
    safe = re.sub(r"`([^`]+)`", r"<code>\1</code>", safe)
    return re.sub(r"(?<![\w*])\*([^*\s](?:[^*]*[^*\s])?)\*(?![\w*])", r"<em>\1</em>", safe)
