"""`regard train …`: the words of each family's training. All share the options of a run."""

import functools
import inspect
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from regard.cli.output import told
from regard.cli.settings import Columns, Keys, choose_pair, collect
from regard.text.corpus import PairFiles

train_app = typer.Typer(help="Train a model on your own text.", no_args_is_help=True, rich_markup_mode=None)

To = Annotated[Path, typer.Option(help="Folder for the model.", show_default=False)]
Valid = Annotated[list[Path], typer.Option(help="Text to validate on; repeatable. Else some of the text is held out.")]


def _run_options(
    size: Annotated[
        Literal["tiny", "small", "base", "big"] | None, typer.Option(help="Else by the size of the corpus.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Train this long.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Train this many times over the text.")] = None,
    steps: Annotated[int | None, typer.Option(help="Train this many updates.")] = None,
    start: Annotated[
        Path | None, typer.Option("--from", help="Go on from the weights of this model, with its tokenizer.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed, another run.")] = None,
    device: Annotated[Literal["auto", "cpu", "cuda", "mps"] | None, typer.Option(help="Where to compute.")] = None,
    workers: Annotated[
        str | None, typer.Option(help="Processes that train together: a number, or auto to measure.")
    ] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file of settings.")] = None,
    assignments: Annotated[list[str], typer.Option("--set", help="One setting, section.key=value; repeatable.")] = [],  # noqa: B006
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over, even if there is something to go on from.")
    ] = False,
) -> dict[str, Any]:
    """What every training can be told: settings, and whether to start over."""
    flags = {"size": size, "seed": seed, "device": device, "workers": workers}
    stop = {"minutes": minutes, "epochs": epochs, "steps": steps}
    return {"settings": collect(config, assignments, **flags, stop=stop), "start": start, "fresh": fresh}


def _with_run_options(function: Callable[..., None]) -> Callable[..., None]:
    """Adds the options of a run to a command; it gets what they say as its `run`."""
    own = inspect.signature(function).parameters
    shared = inspect.signature(_run_options).parameters

    @functools.wraps(function)
    def command(**given: Any) -> None:
        run = _run_options(**{name: given.pop(name) for name in shared})
        function(**given, run=run)

    parameters = [p for p in own.values() if p.name != "run"] + list(shared.values())
    keywords = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in parameters]
    command.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in keywords}
    return command


def _watch(task: str, to: Path, run: dict[str, Any], **files: Any) -> None:
    from regard.cli.check import say_what_hurts
    from regard.cli.report import show_training
    from regard.families import find_recipe
    from regard.training.arguments import check_request

    request = check_request(find_recipe(task), run["settings"], files)  # what cannot be is told at once
    text = request.train_files
    is_first = os.environ.get("RANK", "0") == "0"  # of several processes, the first one speaks
    if is_first and (run["fresh"] or not (to / "run").exists()):
        if isinstance(text, PairFiles):
            say_what_hurts(text, [], request.valid_files)
        else:
            say_what_hurts(None, list(text.paths))
    show_training(task, to=to, is_quiet=not is_first, **run, **files)


@train_app.command("translate")
@told
@_with_run_options
def train_translate(
    run: dict[str, Any],
    source: Annotated[
        Path, typer.Argument(help="Source text, or one .tsv or .jsonl file of pairs.", show_default=False)
    ],
    to: To,
    target: Annotated[Path | None, typer.Argument(help="Target text, line by line.", show_default=False)] = None,
    valid_source: Annotated[Path | None, typer.Option("--valid-source", "--valid", help="Text to validate on.")] = None,
    valid_target: Annotated[Path | None, typer.Option(help="Its translation.")] = None,
    columns: Columns = None,
    keys: Keys = None,
    source_language: Annotated[str | None, typer.Option(help="Else from the file's suffix.")] = None,
    target_language: Annotated[str | None, typer.Option(help="Else from the file's suffix.")] = None,
    encoder: Annotated[
        Path | None, typer.Option(help="A BERT that reads; with --decoder, the translator is made of the two.")
    ] = None,
    decoder: Annotated[Path | None, typer.Option(help="A BERT that writes; its cross-attention is fresh.")] = None,
) -> None:
    """Train a translator from two parallel files, or one file of pairs.

    Run it again with the same --to and it goes on where it stopped, bit for bit.
    """
    languages = {"source_language": source_language, "target_language": target_language}
    run["settings"] |= {name: code for name, code in languages.items() if code}
    _watch(
        "translate", to, run | {"encoder": encoder, "decoder": decoder}, source=source, target=target,
        valid_source=valid_source, valid_target=valid_target, **choose_pair(columns, keys),
    )  # fmt: skip


@train_app.command("write")
@told
@_with_run_options
def train_write(
    run: dict[str, Any],
    text: Annotated[
        list[Path],
        typer.Argument(help="Files of running text, one document each, or folders of them.", show_default=False),
    ],
    to: To,
    valid: Valid = [],  # noqa: B006
) -> None:
    """Train a writer on running text.

    Run it again with the same --to and it goes on where it stopped, bit for bit.
    """
    _watch("write", to, run, text=text, valid=valid)


@train_app.command("fill")
@told
@_with_run_options
def train_fill(
    run: dict[str, Any],
    text: Annotated[
        list[Path],
        typer.Argument(help="Files of text, one sentence a line or more, or folders of them.", show_default=False),
    ],
    to: To,
    valid: Valid = [],  # noqa: B006
) -> None:
    """Train a filler of gaps on lines of text.

    Run it again with the same --to and it goes on where it stopped, bit for bit.
    """
    _watch("fill", to, run, text=text, valid=valid)


@train_app.command("answer")
@told
@_with_run_options
def train_answer(
    run: dict[str, Any],
    stories: Annotated[
        list[Path], typer.Argument(help="Files of stories in bAbI format, or folders of them.", show_default=False)
    ],
    to: To,
    valid: Valid = [],  # noqa: B006
) -> None:
    """Train an answerer of questions on stories, of one kind or of many together.

    Run it again with the same --to and it goes on where it stopped, bit for bit.
    """
    _watch("answer", to, run, stories=stories, valid=valid)
