"""`regard distill`: a small translator that learns from a large one."""

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from regard.cli.family import with_parameters
from regard.cli.output import print_status
from regard.cli.train import run_options, show
from regard.decoding.settings import BEAM
from regard.distill import distilling
from regard.families.options import Engine, Precision
from regard.training.stop import Stopper

SHARED = {name: one for name, one in inspect.signature(run_options).parameters.items() if name != "start"}


def _distill(
    teacher: Annotated[Path, typer.Argument(help="Folder of the translator to learn from.", show_default=False)],
    more: Annotated[list[Path], typer.Argument(metavar="[TEXT]...", help="More source text.", show_default=False)] = [],  # noqa: B006
    source: Annotated[
        list[Path], typer.Option(help="Text in the source language that the teacher translates; repeatable.")
    ] = [],  # noqa: B006
    beam: Annotated[int, typer.Option(min=1, help="Beam width of the teacher.")] = BEAM,
    valid_source: Annotated[
        Path | None, typer.Option("--valid-source", "--valid", help="Validation source, or pairs.")
    ] = None,
    valid_target: Annotated[
        Path | None, typer.Option(help="Real references; default: validate against the teacher's translations.")
    ] = None,
    also: Annotated[
        list[str], typer.Option(help="Real pairs to mix in, SOURCE,TARGET:WEIGHT or PAIRS:WEIGHT; repeatable.")
    ] = [],  # noqa: B006
    engine: Engine = None,
    precision: Precision = None,
) -> dict[str, Any]:
    """Train a small translator on the translations of a large one.

    The teacher (any translator that opens here, also an imported opus-mt) translates the source text with a beam, and
    a student with a deep encoder and one decoder layer learns from that: sequence-level knowledge distillation. The
    student is of size tiny with 6 encoder layers unless --size or --set says otherwise, and trains until early
    stopping. The same command again resumes, in translating and in training, bit for bit; --fresh starts the student
    over, and keeps the translations of the same teacher, beam and text.

    Example:
      regard distill models/en-de --source train.en --to models/en-de-student
      regard distill models/opus --source train.en more.en --to models/fast --valid-source val.en --valid-target val.de
    """
    found = {"beam": beam, "engine": engine, "precision": precision, "also": also}
    valid = {"valid_source": valid_source, "valid_target": valid_target}
    return found | valid | {"teacher": teacher, "source": [*source, *more]}


def _run(**given: Any) -> None:
    run = run_options(**{name: given.pop(name) for name in SHARED}, start=None)
    run.pop("start")
    options = _distill(**given)
    is_first = os.environ.get("RANK", "0") == "0"

    def events(stopper: Stopper) -> Iterator[Any]:
        for number, event in enumerate(distilling(stopper=stopper, **options, **run)):
            if number == 0 and is_first and not options["valid_source"]:  # only now that nothing was refused
                print_status("Validation is against the teacher's translations; --valid-source and --valid-target give "
                             "others")  # fmt: skip
            yield event

    show(events, is_quiet=not is_first)


distill = with_parameters(_run, _distill, {**inspect.signature(_distill).parameters, **SHARED})
