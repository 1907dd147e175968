"""`regard look`: a model's attention, on the terminal or in a file."""

import inspect
from pathlib import Path
from pkgutil import resolve_name
from typing import Annotated, Any

import typer

from regard.cli.output import print_data, print_status
from regard.cli.settings import applying
from regard.errors import ConfigError
from regard.families.options import Model
from regard.files import write_whole
from regard.folder import RUN
from regard.load import load
from regard.look.marks import MARKS, refuse_file_of_others
from regard.look.roles import describe_head
from regard.text.stories import read_sentences
from regard.training.log import read_example, read_history

WHOLE = (".html", ".json")  # endings of files with everything in them
MOST = 96  # tokens up to which a page has attributions by default: each word and each head takes a forward pass


def look(
    model: Model,
    text: Annotated[
        list[str] | None,
        typer.Argument(help="Text to run the model on, or the question; without one, a page that holds the model."),
    ] = None,
    target: Annotated[str | None, typer.Option(help="Translation: force this target instead of decoding one.")] = None,
    story: Annotated[Path | None, typer.Option(help="Question answering: the story, one sentence per line.")] = None,
    kind: Annotated[str | None, typer.Option(help="Attention to show: cross, encoder, decoder, text, hops.")] = None,
    layer: Annotated[int | None, typer.Option(min=1, help="One layer; default: the mean of all.")] = None,
    head: Annotated[int | None, typer.Option(min=1, help="One head; default: the mean of all.")] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Translation: beam width; default 4.")] = None,
    why: Annotated[
        bool | None, typer.Option(help="Attribution of each word and head; default for pages of short texts.")
    ] = None,
    to: Annotated[Path | None, typer.Option(help="Write a page (.html), a picture (.svg, .png) or .json.")] = None,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="A page of this text alone, without the model in it.")
    ] = False,
) -> None:
    """Show a model's attention, and what each word and head contributes.

    Example:
      regard look models/en-de "The dog sleeps." --layer 2 --head 1
      regard look models/en-de --to en-de.html
      regard look models/en-de "The dog sleeps." --recorded --to look.html
    """
    to = Path(f"{model.resolve().name}.html") if to is None and not text else to
    one_map = {"--kind": kind, "--layer": layer, "--head": head}
    _check(to, bool(text), recorded, bool(why), [name for name, value in one_map.items() if value is not None])
    if target is not None and beam is not None:
        raise ConfigError("--beam searches for a translation, and --target gives one; leave one of them out")
    opened = load(model)
    if not hasattr(opened, "look"):
        raise ConfigError(f"{model} is a part of a model, and generates nothing by itself")
    given = " ".join(text or [])
    is_open = not recorded and (target, beam, why) == (None, None, None)  # these are of one answer, which is recorded
    if to and to.suffix == ".html" and is_open and _write_live(opened, model, to, given, story):
        return
    if why is None and to and to.suffix in WHOLE and len(given.split()) <= MOST:
        why = "why" in inspect.signature(opened.look).parameters or None
    options = {"target": target, "story": read_sentences(story) if story else None, "beam": beam, "why": why or None}
    seen = opened.look(given, **applying(opened, opened.look, options))
    for note in seen.notes:
        print_status(f"Note: {note}")
    chosen: dict[str, Any] = {"kind": kind, "layer": layer, "head": head}
    if seen.aligning and kind in {None, "cross"} and not (layer or head):
        chosen |= {"head": "alignment", "words": True}
    if to:
        seen.save(to, **(chosen if to.suffix in {".svg", ".png"} else {}))
        print_status(f"Wrote {to}")
    else:
        drawn = seen.to_text(**chosen)  # before anything is printed: the kind asked for may not exist
        print_data(describe(seen))
        print_data(drawn)
        if layer and head and seen.head_roles:
            name = kind or next(iter(seen.kinds))
            print_data(
                f"{name}, layer {layer}, head {head}: {describe_head(seen.head_roles[name][layer - 1][head - 1])}"
            )


def _check(to: Path | None, has_text: bool, recorded: bool, why: bool, one_map: list[str]) -> None:
    """Refuses what cannot be, before anything is computed."""
    suffix = to.suffix if to else ""
    if to and suffix not in MARKS:
        raise ConfigError(f"--to {to} does not end in one of {', '.join(MARKS)}")
    if recorded and not (suffix == ".html" and has_text):
        raise ConfigError("--recorded is for a page of one text: give a text, and --to FILE.html")
    if not has_text and suffix != ".html":
        raise ConfigError(f"there is no text to look at for {to}; only a page (.html) can go without one")
    if suffix in WHOLE and one_map:
        raise ConfigError(f"{', '.join(one_map)}: {to} will hold every map; these choose one for a terminal or a "
                          f"picture, leave them out")  # fmt: skip
    if why and suffix not in WHOLE:
        raise ConfigError(f"--why is shown in a page; add --to FILE.html (or {', '.join(WHOLE[1:])})")
    if to:
        refuse_file_of_others(to)


def _write_live(opened: Any, model: Path, to: Path, text: str, story: Path | None) -> bool:
    """Writes a page that holds the model and runs it; False where only a recording is possible, and there is a text."""
    sentences = read_sentences(story) if story else None
    if text and opened.look(text, **applying(opened, opened.look, {"story": sentences})).notes:
        return False  # a recording shows what was left out or cut, and says so
    options = {"text": text or None, "story": "\n".join(sentences) if sentences else None}
    given = {name: value for name, value in options.items() if value is not None}
    try:
        history = read_history(model / RUN)
        given = given or read_example(model / RUN)
        page = resolve_name("regard.convert:make_page")(opened, model.resolve().name, None, given, history)
    except ConfigError as problem:
        if not text:
            raise
        print_status(f"Note: {problem}")
        return False
    write_whole(to, page)
    also = "; it shows its training with a few held-out examples" if history else ""
    print_status(f"Wrote {to}: the model in a page, {len(page) / 1e6:.1f} MB{also}")
    return True


def describe(seen: Any) -> str:
    """The output with its alternatives, in a few lines."""
    lines = [seen.answer] if seen.answer else []
    if seen.alignment:
        sources, targets = seen.text.split(), seen.answer.split()
        pairs = [f"{sources[s]}–{targets[t]}" for s, t in seen.alignment if s < len(sources) and t < len(targets)]
        lines.append("aligned: " + ", ".join(pairs))
    if seen.answer and "cross" not in seen.kinds:  # where something was guessed, what else it could have been
        for score in seen.token_scores:
            lines.append(", ".join(f"{token.strip()} {p:.0%}" for token, p in score.alternatives[:5]))
    elif seen.token_scores and not seen.answer:
        most = sorted(seen.token_scores, key=lambda one: one.probability)[:3]
        lines.append("most surprising: " + ", ".join(f"{one.token.strip()} {one.probability:.1%}" for one in most))
    return "\n".join([*lines, ""])
