"""`regard train …`: what each family's training is given, with the options of a run that all share."""

import inspect
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from regard.cli.family import ListedGroup, make_command, with_parameters
from regard.cli.settings import collect
from regard.families import all_families, find_recipe, find_surface
from regard.text.corpus import PairFiles
from regard.text.labels import LabelFiles
from regard.text.mixture import all_corpora
from regard.text.running import TextFiles
from regard.train import training

STARTS = ("encoder", "decoder")  # models that one is made of
AGAIN = (
    "Without --minutes, --epochs, --steps or --size it trains until early stopping, at most four hours. The same "
    "command again resumes from the last checkpoint, bit for bit."
)


class TrainGroup(ListedGroup):
    """A command for each family that is trained."""

    def make(self, task: str) -> Any:
        """The command of a family."""
        return _make(task)

    def list_commands(self, ctx: Any) -> list[str]:
        """All of them."""
        for family in all_families().values():
            if family.recipe and family.name not in self.commands:
                self.commands[family.name] = self.make(family.name)
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """One of them."""
        self.list_commands(ctx)
        return self.commands.get(cmd_name)


train_app = typer.Typer(
    cls=TrainGroup,
    help="Train a model on your own text.",
    epilog="\b\nExample:\n  regard train translate train.en train.de --to models/en-de",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
train_app.callback()(lambda: None)


def run_options(
    to: Annotated[Path, typer.Option(help="Folder for the model and its run.", show_default=False)],
    size: Annotated[
        Literal["tiny", "small", "base", "big"] | None,
        typer.Option(help="Model size; default: by the size of the corpus."),
    ] = None,
    minutes: Annotated[float | None, typer.Option(help="Stop after this time.")] = None,
    epochs: Annotated[int | None, typer.Option(help="Stop after this many passes over the text.")] = None,
    steps: Annotated[int | None, typer.Option(help="Stop after this many updates.")] = None,
    start: Annotated[Path | None, typer.Option("--from", help="Fine-tune this model, with its tokenizer.")] = None,
    seed: Annotated[int | None, typer.Option(help="Random seed.")] = None,
    device: Annotated[Literal["auto", "cpu", "cuda", "mps"] | None, typer.Option(help="Device to train on.")] = None,
    workers: Annotated[str | None, typer.Option(help="Data-parallel processes: a number, or auto to measure.")] = None,
    config: Annotated[Path | None, typer.Option(help="TOML file of settings.")] = None,
    assignments: Annotated[
        list[str], typer.Option("--set", help="Override a setting, section.key=value; repeatable.")
    ] = [],  # noqa: B006
    fresh: Annotated[bool, typer.Option("--fresh", help="Start over instead of resuming.")] = False,
) -> dict[str, Any]:
    """The options of every training: settings, and whether to start over."""
    flags = {"size": size, "seed": seed, "device": device, "workers": workers}
    stop = {"minutes": minutes, "epochs": epochs, "steps": steps}
    return {"to": to, "settings": collect(config, assignments, **flags, stop=stop), "start": start, "fresh": fresh}


def _make(task: str) -> Any:
    """The command of a family: its own options, and those of a run."""
    own = find_surface(task).train
    shared = inspect.signature(run_options).parameters

    def run_training(**given: Any) -> None:
        run = run_options(**{name: given.pop(name) for name in shared})
        _train(task, run, own(**given))

    command = with_parameters(run_training, own, {**inspect.signature(own).parameters, **shared})
    return make_command(task, command, AGAIN)


def _train(task: str, run: dict[str, Any], files: dict[str, Any]) -> None:
    """Checks what is asked for, prints what is wrong with the text, and trains."""
    from regard.cli.check import print_problems
    from regard.training.arguments import check_request

    sort_options(run, files)
    request = check_request(find_recipe(task), run["settings"], files)  # refuses what is impossible before any work
    text = request.train_files
    is_first = os.environ.get("RANK", "0") == "0"  # of several processes, the first one speaks
    if is_first and (run["fresh"] or not (run["to"] / "run").exists()):
        if isinstance(text, PairFiles):
            for one in all_corpora(text):
                print_problems(one, request.valid_files)
        elif isinstance(text, TextFiles | LabelFiles):
            print_problems(text, request.valid_files)
    show(lambda stopper: training(task, stopper=stopper, **run, **files), is_quiet=not is_first)


def sort_options(run: dict[str, Any], files: dict[str, Any]) -> None:
    """Settings and models to start from are options of a run, even if a family asks for them."""
    run["settings"] |= files.pop("settings", {})
    run |= {name: files.pop(name) for name in STARTS if name in files}


def show(begin: Callable[[Any], Iterator[Any]], is_quiet: bool) -> None:
    """Trains, and shows it unless it is to be quiet."""
    from regard.cli.report import show_events

    show_events(begin, is_quiet)
