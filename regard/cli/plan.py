"""`regard plan …`: what `regard train …` would do, without training. Writes nothing but a temporary folder."""

import inspect
import re
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

import typer

from regard.cli.family import make_command, with_parameters
from regard.cli.train import TrainGroup, run_options, sort_options
from regard.families import find_surface
from regard.families.options import Json
from regard.train import planning

NOT_ASKED: dict[str, Any] = {"to": Path(), "fresh": False}  # options of a training that writes
MORE = (
    "Nothing is trained and nothing is kept: the text is prepared as for a training, in a temporary folder, and a few "
    "updates are measured. Options are those of `regard train`."
)


class PlanGroup(TrainGroup):
    """A command for each family that is trained."""

    def make(self, task: str) -> Any:
        """The command of a family: its own options, and those of a run."""
        own = find_surface(task).train
        shared = {name: one for name, one in inspect.signature(run_options).parameters.items() if name not in NOT_ASKED}
        as_json = inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Json)

        def run_plan(as_json: bool, **given: Any) -> None:
            run = run_options(**{name: given.pop(name) for name in shared}, **NOT_ASKED)
            _plan(task, {name: run[name] for name in ("settings", "start")}, own(**given), as_json)

        def described() -> None: ...

        example = (inspect.getdoc(own) or "").partition("\n\nExample:\n")[2].replace("regard train", "regard plan")
        example = re.sub(r" --to \S+", "", example)
        described.__doc__ = f"Show what a training to {task} would take and may reach, without training."
        described.__doc__ += f"\n\nExample:\n{example}" if example else ""
        parameters = {**inspect.signature(own).parameters, **shared, "as_json": as_json}
        return make_command(task, with_parameters(run_plan, described, parameters), MORE)


plan_app = typer.Typer(
    cls=PlanGroup,
    help="Show what a training would take and may reach, without training.",
    epilog="\b\nExample:\n  regard plan translate train.en train.de --minutes 30",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
)
plan_app.callback()(lambda: None)


def _plan(task: str, run: dict[str, Any], files: dict[str, Any], as_json: bool) -> None:
    """Prepares, showing how far it is, and prints the plan."""
    sort_options(run, files)
    show = resolve_name("regard.cli.report:show_plan")
    show(lambda stopper: planning(task, stopper=stopper, **run, **files), as_json)
