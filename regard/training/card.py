"""The README.md of a model: what it is, how it was made, how to use it."""

import json
from typing import Any

from regard.folder import ModelInfo
from regard.training.lineage import name_bases, name_monolingual, name_teacher, plain, scored_against_teacher


def describe_shape(model: dict[str, Any], names: tuple[str, ...]) -> str:
    """The shape of a network in a few words: its kind, and the settings of these names; of a pair, both sides."""

    def side(settings: dict[str, Any]) -> str:
        more = ("decoder_layers",) if settings.get("decoder_layers") else ()
        return ", ".join(f"{name.replace('_', ' ')} {settings[name]}" for name in (*names, *more))

    if encoder := model.get("encoder"):
        return f"{model['kind']}: encoder with {side(encoder)}; decoder with {side(model)}"
    return f"{model['kind']}: {side(model)}"


def count_in_words(parameters: int) -> str:
    """A number of parameters, as plans, cards and `regard info` have it."""
    return f"{parameters / 1e6:.2f} M"


def describe_comparison(info: ModelInfo) -> str | None:
    """What came of the comparison with transformers at the end of a training; None if it has no class for the model."""
    if (found := info.transformers) is None:
        return None
    if isinstance(difference := found.get("largest_difference"), int | float):
        whose = f" (measured on {found['of']})" if "of" in found else ""
        return (
            f"with transformers {found.get('version')}: logits differ by at most {difference:.1g} of the largest{whose}"
        )
    if problem := found.get("differs"):
        return f"with transformers {found.get('version')}: it opens here only, {problem}"
    return f"not yet: {found.get('not_compared')}"


def model_card(info: ModelInfo, shape: tuple[str, ...]) -> str:
    """A model card from regard.json; shape: the settings of the network that matter."""
    languages, bases, past = info.languages, name_bases(info), info.training
    counts = [(name, value) for name, value in info.data.items() if isinstance(value, int)]
    head = ["---", "library_name: regard", f"tags: [{info.task}]"]
    head += [f"language: [{', '.join(languages)}]"] if languages else []
    head += ["base_model:", *(f"  - {json.dumps(base['name'])}" for base in info.base_models)] if bases else []
    origin = f"Fine-tuned from {' and '.join(bases)}" if bases else "Trained from scratch"
    origin += f", on the output of {teacher}," if (teacher := name_teacher(info)) else ""
    against = ", against the teacher's output" if scored_against_teacher(info) else ""
    facts = "\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in counts)
    scores = "\n".join(f"- {name}: {value:.4g}" for name, value in info.scores.items())
    title = f"{info.task}: {' to '.join(languages)}" if languages else info.task
    return "\n".join([
        *head, "---", "",
        f"# {title}", "",
        f"{origin} with regard {info.regard}; {count_in_words(info.parameters or 0)} parameters "
        f"({describe_shape(info.settings['model'], shape)}).", "",
        "## Use", "", "```python", "import regard", "", "model = regard.load(\"path/to/this/folder\")", "```", "",
        "## Data", "", facts, "",
        *([f"Text in the target language: {text}.", ""] if (text := name_monolingual(info)) else []),
        f"## Scores on held-out text{against}", "", scores, "", info.scores_signature or "", "",
        f"Trained for {past['steps']} steps in {past['seconds'] / 60:.1f} minutes. "
        f"All settings are in regard.json.", "",
        *([f"Compared {compared}.", ""] if (compared := describe_comparison(info)) else []),
    ])  # fmt: skip


def import_card(info: ModelInfo) -> str:
    """The card of a model that others trained; what they wrote about it stays with them."""
    licence = info.license
    return "\n".join([
        *(["---", f"license: {licence}", "---", ""] if licence else []),
        f"# {plain(info.imported_from)}", "",
        f"A {info.foreign} of {count_in_words(info.parameters or 0)} parameters, imported with regard "
        f"{info.regard} from {plain(info.imported_from)}"
        + (f" (licence {licence})." if licence else "; its licence is not known here."), "",
    ])  # fmt: skip
