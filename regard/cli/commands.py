"""`regard …`: each command turns words into calls of the library. Nothing heavy is imported before it is needed."""

import inspect
import json
import os
import sys
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from regard import __version__
from regard.cli.check import check
from regard.cli.convert import export_model, import_model
from regard.cli.look import look
from regard.cli.output import hint_at_typing, print_data, print_status, stream, told, visible
from regard.cli.serve import serve_models
from regard.cli.settings import Columns, Keys, Model, applying, choose_pair, refuse_together
from regard.cli.train import train_app
from regard.errors import ConfigError, FolderError

app = typer.Typer(
    name="regard",
    help="Train a Transformer on your own text, run it on the machine you have, and see why it said what it said.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
app.add_typer(train_app, name="train")
app.command("import")(told(import_model))
app.command("export")(told(export_model))
app.command()(told(check))
app.command()(told(look))
app.command("serve")(told(serve_models))

Json = Annotated[bool, typer.Option("--json", help="Print one JSON object (per line) for machines.")]
Engine = Annotated[
    Literal["torch", "ctranslate2"] | None,
    typer.Option(help="What runs the model; else the fastest.", show_default=False),
]
Precision = Annotated[
    Literal["float32", "int8"] | None, typer.Option(help="int8 is smaller and a little less exact.", show_default=False)
]


def main() -> None:
    """The console script."""
    app()


def _show_version(wanted: bool) -> None:
    if wanted:
        print_data(f"regard {__version__}")
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


@app.command()
@told
def translate(
    model: Model,
    file: Annotated[
        Path | None, typer.Argument(help="A file to translate; else standard input.", show_default=False)
    ] = None,
    text: Annotated[str | None, typer.Option(help="Translate this text.", show_default=False)] = None,
    beam: Annotated[
        int | None,
        typer.Option(min=1, help="Translations kept alive while searching; 1 is greedy; 4, or N of --n-best if more."),
    ] = None,
    length_penalty: Annotated[
        float | None, typer.Option(min=0, help="Of a beam: above 0, longer translations are not at a loss; 1.")
    ] = None,
    max_length: Annotated[
        int | None, typer.Option(min=1, help="Most tokens of a translation; else by the source.")
    ] = None,
    n_best: Annotated[int, typer.Option(min=1, help="Print the N best: line ||| text ||| score.")] = 1,
    prefix: Annotated[str, typer.Option(help="What every translation begins with.")] = "",
    terms: Annotated[
        Path | None, typer.Option(help="Terms and how to translate them: term, tab, translation.", show_default=False)
    ] = None,
    alignments: Annotated[bool, typer.Option("--alignments", help="Append which words belong together.")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Choose among each source's likely words only.")] = False,
    engine: Engine = None,
    precision: Precision = None,
    as_json: Json = False,
) -> None:
    """Translate line by line: as many lines come out as go in, in the same order."""
    from regard.cli.lines import translate_lines
    from regard.text.terms import read_terms

    refuse_together(text=text, file=file)
    refuse_together(prefix=prefix or None, terms=terms)
    if beam is not None and n_best > beam:
        raise ConfigError(f"--n-best {n_best} is more than --beam {beam} keeps; raise --beam, or leave it out")
    if length_penalty is not None and beam == 1:
        raise ConfigError("--length-penalty ranks what a beam search finds; with --beam 1 there is nothing to rank")
    if fast and engine == "torch":
        raise ConfigError("--fast is for --engine ctranslate2; torch has no shortlist")
    wanted = read_terms(terms) if terms else None
    translate_lines(
        _open(model, "translate", engine, precision),
        file,
        text,
        beam=beam or max(4, n_best),
        length_penalty=1.0 if length_penalty is None else length_penalty,
        max_length=max_length,
        n_best=n_best,
        scores=as_json or n_best > 1,
        prefix=prefix,
        terms=wanted,
        alignments=alignments,
        fast=fast,
        as_json=as_json,
        print_data=print_data,
        print_status=print_status,
    )


@app.command()
@told
def write(
    model: Model,
    prompt: Annotated[str, typer.Argument(help="What the text begins with; - reads it from standard input.")] = "",
    tokens: Annotated[int, typer.Option(min=1, help="Most tokens to write.")] = 200,
    temperature: Annotated[float, typer.Option(help="0 takes the likeliest; below 1 is careful, above bold.")] = 0.8,
    top_k: Annotated[int | None, typer.Option(help="Draw only from the k likeliest tokens.")] = None,
    top_p: Annotated[float | None, typer.Option(help="Draw only from the likeliest with this share.")] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="The same seed writes the same text.")] = None,
    stop: Annotated[list[str], typer.Option(help="Stop before this text; repeatable.")] = [],  # noqa: B006
    samples: Annotated[int, typer.Option(min=1, help="Ways to go on; a blank line between them.")] = 1,
    engine: Engine = None,
    precision: Precision = None,
    as_json: Json = False,
) -> None:
    """Go on with a text, shown as it is written."""
    from regard.decoding.settings import Sampling
    from regard.text.stories import read_stdin

    Sampling(temperature, top_k, top_p)  # what cannot be is told before the model is opened
    if temperature == 0 and (top_k or top_p):
        raise ConfigError("--top-k and --top-p are about what is drawn; --temperature 0 draws nothing, leave them out")
    writer = _open(model, "write", engine, precision)
    if prompt == "-":
        hint_at_typing("Type what the text begins with; Ctrl-D ends it.")
        prompt = read_stdin("a prompt")
    how = {"tokens": tokens, "temperature": temperature, "top_k": top_k, "top_p": top_p, "stop": stop}
    if as_json:
        for text in writer.samples(prompt, count=samples, seed=seed, **how):
            print_data(json.dumps({"prompt": prompt, "text": text}, ensure_ascii=False))
        return
    for number in range(samples):
        pieces = writer.stream(prompt, seed=None if seed is None else seed + number, **how)
        first = next(pieces, "")  # whatever is wrong is told before anything is written
        stream((prompt if number == 0 else "\n" + prompt) + first)
        sys.stdout.flush()
        for piece in pieces:
            stream(piece)
            sys.stdout.flush()
        print_data("")


@app.command()
@told
def fill(
    model: Model,
    text: Annotated[str, typer.Argument(help="A text in which [MASK] marks each gap.", show_default=False)],
    top: Annotated[int, typer.Option(min=1, help="Candidates for each gap.")] = 5,
    as_json: Json = False,
) -> None:
    """Fill the gaps of a text: the likeliest words with their probabilities."""
    from dataclasses import asdict

    from regard.text.given import name_unknown

    filled = _open(model, "fill").fill(text, top=top)
    if filled.unknown:
        print_status(f"Note: {name_unknown(filled.unknown)}")
    if as_json:
        print_data(json.dumps(asdict(filled), ensure_ascii=False))
        return
    print_data(filled.text)
    for number, candidates in enumerate(filled.gaps, start=1):
        for candidate in candidates:
            print_data(f"gap {number}  {candidate.probability:6.1%}  {candidate.text}")


@app.command()
@told
def answer(
    model: Model,
    story: Annotated[Path, typer.Argument(help="A story, one sentence a line; - for stdin.", show_default=False)],
    question: Annotated[str, typer.Argument(help="What to answer.", show_default=False)],
    as_json: Json = False,
) -> None:
    """Answer a question about a story, and show which sentences each hop looked at."""
    from dataclasses import asdict

    from regard.cli.report import describe_answer
    from regard.text.stories import read_sentences

    answerer = _open(model, "answer")
    found = answerer.answer(read_sentences(None if str(story) == "-" else story), question)
    for note in found.notes:
        print_status(f"Note: {note}")
    print_data(json.dumps(asdict(found), ensure_ascii=False) if as_json else describe_answer(found))


@app.command()
@told
def evaluate(
    model: Model,
    files: Annotated[list[Path], typer.Argument(help="Held-out text, in the form of the training's.")],
    against: Annotated[Path | None, typer.Option(help="Another model: is the difference more than chance?")] = None,
    tokenize: Annotated[
        str | None, typer.Option(help="sacrebleu's tokenizer: 13a (default), none, intl, zh, …")
    ] = None,
    columns: Columns = None,
    keys: Keys = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Of a translator; 4 if not given.")] = None,
    stride: Annotated[int | None, typer.Option(help="Of a writer: tokens its window moves on by.")] = None,
    gold: Annotated[Path | None, typer.Option(help="Of a translator: a file of links, as in 0-0 1-2.")] = None,
    reverse: Annotated[Path | None, typer.Option(help="A translator the other way round, to align with.")] = None,
    as_json: Json = False,
) -> None:
    """Score a model on held-out text: translate BLEU and chrF, write perplexity, fill and answer accuracy."""
    from regard.load import load

    if reverse and not gold:
        raise ConfigError("--reverse is to align with; give the links to compare with too, by --gold")
    options = {
        "against": against, "tokenize": tokenize, "beam": beam, "stride": stride, "gold": gold, "reverse": reverse,
        **choose_pair(columns, keys),
    }  # fmt: skip
    opened = load(model)
    if not hasattr(opened, "evaluate"):
        raise ConfigError(f"{model} is a model to {opened.about['task']}, which has no score here")
    chosen = applying(opened, opened.evaluate, options)
    chosen |= {name: load(chosen[name]) for name in ("against", "reverse") if name in chosen}
    report = opened.evaluate(*_fitting(opened.evaluate, files), **chosen)
    if as_json:
        print_data(json.dumps(report))
        return
    width = max(map(len, report)) + 2
    for name, value in report.items():
        print_data(f"{name:{width}}{value:.4f}" if isinstance(value, float) else f"{name:{width}}{value}")


@app.command()
@told
def info(model: Model, as_json: Json = False) -> None:
    """Tell what a model is and how it was made."""
    from regard.folder import ABOUT, ModelFolder

    folder = ModelFolder(model)
    if as_json:
        print_data(json.dumps(folder.about))
        return
    from regard.cli.report import describe

    parameters = folder.about.get("parameters")
    if not isinstance(parameters, int):  # of a folder from elsewhere, or of an earlier version
        from regard.load import load
        from regard.model.size import count_parameters

        parameters = count_parameters(load(model, engine="torch").model)
    size = sum(path.stat().st_size for path in folder.weights())
    try:
        print_data(visible(describe(folder.about, parameters, size), "\n"))
    except (TypeError, ValueError, KeyError, AttributeError) as problem:
        raise FolderError(f"{model / ABOUT} does not tell what regard writes there ({problem!r:.100}); it was changed "
                          f"or damaged, copy or train it again") from None  # fmt: skip


@app.command()
@told
def demo(
    task: Annotated[
        Literal["translate", "write", "fill", "answer"], typer.Argument(help="What to learn.")
    ] = "translate",
    direction: Annotated[
        str | None, typer.Option(help="Of translate: from which language to which: en, de, fr; en-fr if not given.")
    ] = None,
    to: Annotated[Path, typer.Option(help="Folder for the text and the model.")] = Path("models/demo"),
) -> None:
    """Train on text that is at hand in a few minutes and show what was learned."""
    from regard.cli.demo import DEMOS, PAGE
    from regard.look.export import refuse_file_of_others

    if direction and task != "translate":
        raise ConfigError(f"--direction {direction} is for translate; a demo of {task} has none, leave it out")
    refuse_file_of_others(to / PAGE)  # before anything is learned
    DEMOS[task](direction or "en-fr", to, print_data, print_status)


def _open(folder: Path, task: str, engine: str | None = None, precision: str | None = None) -> Any:
    """The model in a folder, which must be of this task."""
    import warnings

    from regard.families import find_family
    from regard.load import load

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always", RuntimeWarning)
        opened = load(folder, engine=engine, precision=precision)
    for warning in said:
        print_status(f"{str(warning.message)[:1].upper()}{str(warning.message)[1:]}")
    if opened.about["task"] != task:
        other = opened.about["task"]
        found = find_family(other)
        remedy = f"use regard {other}" if found and found.recipe else "use it from Python, with regard.load"
        raise ConfigError(f"{folder} is a model to {other}; {remedy}")
    return opened


def _fitting(method: Any, files: list[Path]) -> list[Path]:
    """The files, if the model takes that many."""
    places = [p.kind for p in inspect.signature(method).parameters.values()]
    most = len(files) if inspect.Parameter.VAR_POSITIONAL in places else places.count(
        inspect.Parameter.POSITIONAL_OR_KEYWORD
    )  # fmt: skip
    if len(files) > most:
        raise typer.BadParameter(f"{len(files)} files were given, and this model is scored on at most {most}")
    return files
