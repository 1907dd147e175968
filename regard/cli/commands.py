"""`regard …`: each command turns words into calls of the library. Nothing heavy is imported before it is needed."""

import functools
import json
import os
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec

import typer

from regard import __version__
from regard.cli.settings import Columns, Keys, collect, pair_of_numbers, pair_of_words
from regard.errors import RegardError

P = ParamSpec("P")

app = typer.Typer(
    name="regard",
    help="Train a Transformer on your own text, run it on the machine you have, and see why it said what it said.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
train_app = typer.Typer(help="Train a model on your own text.", no_args_is_help=True, rich_markup_mode=None)
app.add_typer(train_app, name="train")

Model = Annotated[Path, typer.Argument(help="Folder of a trained model.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object (per line) for machines.")]
Beam = Annotated[int, typer.Option(min=1, help="Translations kept alive while searching; 1 is greedy.")]


def main() -> None:
    """The console script."""
    app()


def told(function: Callable[P, None]) -> Callable[P, None]:
    """Our errors become one line and exit code 1, Ctrl-C becomes 130; a traceback only with --debug."""

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            function(*args, **kwargs)
            sys.stdout.flush()
        except RegardError as problem:
            if os.environ.get("REGARD_DEBUG"):
                traceback.print_exc()
            say(f"Error: {problem}")
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            say("Interrupted.")
            raise typer.Exit(130) from None
        except BrokenPipeError:  # whoever read our output has seen enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(0) from None

    return run


def say(message: str) -> None:
    """A line for the person at the terminal; stdout is for data."""
    print(message, file=sys.stderr, flush=True)  # noqa: T201


def put(line: str) -> None:
    """A line of data."""
    sys.stdout.write(line + "\n")


def _show_version(wanted: bool) -> None:
    if wanted:
        put(f"regard {__version__}")
        raise typer.Exit


def _set_debug(wanted: bool) -> None:
    if wanted:
        os.environ["REGARD_DEBUG"] = "1"


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", callback=_set_debug, is_eager=True, help="Show tracebacks.")
    ] = False,
) -> None:
    pass


@train_app.command("translate")
@told
def train_translate(
    source: Annotated[
        Path, typer.Argument(help="Source text, or one .tsv or .jsonl file of pairs.", show_default=False)
    ],
    target: Annotated[Path | None, typer.Argument(help="Target text, line by line.", show_default=False)] = None,
    to: Annotated[Path, typer.Option(help="Folder for the model.", show_default=False)] = ...,  # type: ignore[assignment]
    valid_source: Annotated[Path | None, typer.Option("--valid-source", "--valid", help="Text to validate on.")] = None,
    valid_target: Annotated[Path | None, typer.Option(help="Its translation.")] = None,
    columns: Columns = "1,2",
    keys: Keys = None,
    source_language: Annotated[str | None, typer.Option(help="Else from the file's suffix.")] = None,
    target_language: Annotated[str | None, typer.Option(help="Else from the file's suffix.")] = None,
    size: Annotated[
        Literal["tiny", "small", "base", "big"] | None, typer.Option(help="Else by the size of the corpus.")
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Train this long.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Train this many times over the text.")] = None,
    steps: Annotated[int | None, typer.Option(help="Train this many updates.")] = None,
    seed: Annotated[int | None, typer.Option(help="Another seed, another run.")] = None,
    device: Annotated[Literal["auto", "cpu", "cuda", "mps"] | None, typer.Option(help="Where to compute.")] = None,
    config: Annotated[Path | None, typer.Option(help="A TOML file of settings.")] = None,
    assignments: Annotated[list[str], typer.Option("--set", help="One setting, section.key=value; repeatable.")] = [],  # noqa: B006
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Start over, even if there is something to go on from.")
    ] = False,
) -> None:
    """Train a translator from two parallel files, or one file of pairs.

    Run it again with the same --to and it goes on where it stopped, bit for bit.
    """
    settings = collect(
        config, assignments, size=size, seed=seed, device=device,
        source_language=source_language, target_language=target_language,
        stop={"minutes": minutes, "epochs": epochs, "steps": steps},
    )  # fmt: skip
    files = {
        "source": source, "target": target, "valid_source": valid_source, "valid_target": valid_target,
        "columns": pair_of_numbers(columns), "keys": pair_of_words(keys) if keys else None,
    }  # fmt: skip
    from regard.cli.report import watch

    watch("translate", to=to, settings=settings, fresh=fresh, **files)


@app.command()
@told
def translate(
    model: Model,
    file: Annotated[
        Path | None, typer.Argument(help="Text to translate; else standard input.", show_default=False)
    ] = None,
    beam: Beam = 4,
    length_penalty: Annotated[float, typer.Option(min=0, help="Above 0, longer translations are not at a loss.")] = 1.0,
    max_length: Annotated[
        int | None, typer.Option(min=1, help="Most tokens of a translation; else by the source.")
    ] = None,
    n_best: Annotated[int, typer.Option(min=1, help="Print the N best: line ||| text ||| score, lines from 0.")] = 1,
    as_json: Json = False,
) -> None:
    """Translate line by line: as many lines come out as go in, in the same order."""
    from regard.cli.lines import translate_lines

    translate_lines(
        model,
        file,
        beam=beam,
        length_penalty=length_penalty,
        max_length=max_length,
        n_best=n_best,
        as_json=as_json,
        put=put,
        say=say,
    )


@app.command()
@told
def evaluate(
    model: Model,
    files: Annotated[
        list[Path], typer.Argument(help="Source and reference, or one .tsv or .jsonl file.", show_default=False)
    ],
    against: Annotated[Path | None, typer.Option(help="Another model: is the difference more than chance?")] = None,
    tokenize: Annotated[str, typer.Option(help="sacrebleu's tokenizer: 13a, none, intl, zh, …")] = "13a",
    columns: Columns = "1,2",
    keys: Keys = None,
    beam: Beam = 4,
    as_json: Json = False,
) -> None:
    """Score a model: BLEU with its signature, and chrF."""
    from regard.run import load

    if len(files) > 2:
        raise typer.BadParameter(
            f"{len(files)} files were given; give source and reference, or one .tsv or .jsonl file"
        )
    named = {"source": files[0], "target": files[1] if len(files) > 1 else None,
             "columns": pair_of_numbers(columns), "keys": pair_of_words(keys) if keys else None}  # fmt: skip
    report: dict[str, Any] = load(model).evaluate(
        against=load(against) if against else None, tokenize=tokenize, beam=beam, **named
    )
    if as_json:
        put(json.dumps(report))
        return
    for name, value in report.items():
        put(
            f"{name:16} {value:.4f}"
            if name in {"p_value", "exact"}
            else f"{name:16} {value:.2f}"
            if isinstance(value, float)
            else f"{name:16} {value}"
        )


@app.command()
@told
def look(
    model: Model,
    text: Annotated[str, typer.Argument(help="What the model should look at.", show_default=False)],
    target: Annotated[str | None, typer.Option(help="Make the model say this.")] = None,
    layer: Annotated[int | None, typer.Option(min=1, help="One layer; else the mean of all.")] = None,
    head: Annotated[int | None, typer.Option(min=1, help="One head; else the mean of all.")] = None,
    to: Annotated[Path | None, typer.Option(help="Write a picture (.svg) instead of printing.")] = None,
) -> None:
    """Show what the model looks at while it translates."""
    from regard.errors import ConfigError
    from regard.files import write_whole
    from regard.run import load

    if to and to.suffix != ".svg":
        raise ConfigError(f"--to {to} does not end in .svg, the one kind of picture there is")
    seen = load(model).look(text, target)
    if to:
        write_whole(to, seen.to_svg(layer, head))
        say(f"Wrote {to}")
    else:
        put(seen.to_text(layer, head))


@app.command()
@told
def info(model: Model, as_json: Json = False) -> None:
    """Tell what a model is and how it was made."""
    from regard.folder import ModelFolder

    folder = ModelFolder(model)
    if as_json:
        put(json.dumps(folder.about))
        return
    from regard.cli.report import describe

    put(describe(folder.about, folder.weights().stat().st_size))


@app.command()
@told
def demo(
    task: Annotated[Literal["translate"], typer.Argument(help="What to learn.")] = "translate",
    direction: Annotated[str, typer.Option(help="From which language to which: en, de, fr.")] = "en-fr",
    to: Annotated[Path, typer.Option(help="Folder for the text and the model.")] = Path("models/demo"),
) -> None:
    """Train on an embedded phrasebook in two or three minutes and show what was learned."""
    from regard.cli.demo import show_translate

    show_translate(direction, to, put, say)
