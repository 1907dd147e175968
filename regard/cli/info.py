"""`regard info`: what a model is and how it was trained, from its folder alone."""

import json

from regard.cli.output import print_data, visible
from regard.errors import FolderError
from regard.families import find_family
from regard.families.options import Json, Model
from regard.folder import ABOUT, ModelFolder, ModelInfo
from regard.load import load
from regard.look.roles import describe_roles
from regard.training.card import count_in_words, describe_comparison, describe_shape
from regard.training.lineage import name_bases, name_monolingual, name_teacher, scored_against_teacher


def info(model: Model, as_json: Json = False) -> None:
    """Show what a model is and how it was trained.

    Example:
      regard info models/en-de --json
    """
    folder = ModelFolder(model)
    if as_json:
        print_data(json.dumps(folder.info.to_dict()))
        return
    parameters = folder.info.parameters
    if parameters is None:  # of a folder from elsewhere, or of an earlier version
        from regard.model.size import count_parameters

        parameters = count_parameters(load(model, engine="torch").model)
    size = sum(path.stat().st_size for path in folder.weights())
    try:
        print_data(visible(describe(folder.info, parameters, size), "\n"))
    except (TypeError, ValueError, KeyError, AttributeError) as problem:
        raise FolderError(f"{model / ABOUT} is not what regard writes there ({problem!r:.100}); it was changed "
                          f"or damaged, copy or train it again") from None  # fmt: skip


def describe(info: ModelInfo, parameters: int, size: int) -> str:
    """A summary of regard.json for a terminal; an imported model has fewer rows."""
    settings, data, past = info.settings, info.data, info.training
    counts = [f"{value} {name.replace('_', ' ')}" for name, value in data.items() if isinstance(value, int)]
    family, sealed = find_family(info.task), info.weights_sha256
    rows = {
        "task": ", ".join([info.task, *([" to ".join(info.languages)] if info.languages else [])]),
        "shape": describe_shape(settings["model"], family.shape) if family and "model" in settings else None,
        "weights": f"{count_in_words(parameters)}, {size / 1e6:.1f} MB"
        + (f", SHA-256 {sealed[:16]}…" if sealed else ""),
        "from": info.imported_from or info.foreign,
        "licence": info.license,
        "fine-tuned": " and ".join(f"from {base}" for base in name_bases(info)),
        "teacher": name_teacher(info),
        "data": ", ".join(counts),
        "text": name_monolingual(info),
        "files": _some(list(data.get("files", {}).values())),
        "training": past and f"{past['steps']} steps, {past['seconds'] / 60:.1f} minutes, seed {settings['seed']}",
        "scores": ", ".join(f"{name} {value:.4g}" for name, value in info.scores.items())
        + (", against the teacher's output" if scored_against_teacher(info) else ""),
        "heads": info.head_roles and describe_roles(info.head_roles),
        "compared": describe_comparison(info),
        "made with": info.regard and f"regard {info.regard}",
    }
    return "\n".join(f"{name:10} {value}" for name, value in rows.items() if value)


def _some(names: list[str], most: int = 6) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")
