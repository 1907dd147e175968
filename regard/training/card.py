"""The README.md of a model: what it is, how it was made, how to use it."""

import json
from typing import Any

from regard.training.lineage import name_bases, plain


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


def describe_comparison(about: dict[str, Any]) -> str | None:
    """What came of the comparison with transformers at the end of a training; None if it has no class for the model."""
    found = about.get("transformers")
    if not isinstance(found, dict):
        return None
    if isinstance(difference := found.get("largest_difference"), int | float):
        whose = f" (measured on {found['of']})" if "of" in found else ""
        return (
            f"with transformers {found.get('version')}: logits differ by at most {difference:.1g} of the largest{whose}"
        )
    if problem := found.get("differs"):
        return f"with transformers {found.get('version')}: it opens here only, {problem}"
    return f"not yet: {found.get('not_compared')}"


def model_card(about: dict[str, Any], shape: tuple[str, ...]) -> str:
    """A model card from regard.json; shape: the settings of the network that matter."""
    settings, data = about["settings"], about["data"]
    languages = [code for code in (settings.get("source_language"), settings.get("target_language")) if code]
    bases = name_bases(about)
    head = ["---", "library_name: regard", f"tags: [{about['task']}]"]
    head += [f"language: [{', '.join(languages)}]"] if languages else []
    head += ["base_model:", *(f"  - {json.dumps(base['name'])}" for base in about["base_models"])] if bases else []
    origin = f"Fine-tuned from {' and '.join(bases)}" if bases else "Trained from scratch"
    facts = "\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in data.items() if isinstance(value, int))
    scores = "\n".join(f"- {name}: {value:.4g}" for name, value in about["scores"].items())
    title = f"{about['task']}: {' to '.join(languages)}" if languages else about["task"]
    return "\n".join([
        *head, "---", "",
        f"# {title}", "",
        f"{origin} with regard {about['regard']}; {count_in_words(about['parameters'])} parameters "
        f"({describe_shape(settings['model'], shape)}).", "",
        "## Use", "", "```python", "import regard", "", "model = regard.load(\"path/to/this/folder\")", "```", "",
        "## Data", "", facts, "",
        "## Scores on held-out text", "", scores, "", about["scores_signature"], "",
        f"Trained for {about['training']['steps']} steps in {about['training']['seconds'] / 60:.1f} minutes. "
        f"All settings are in regard.json.", "",
        *([f"Compared {compared}.", ""] if (compared := describe_comparison(about)) else []),
    ])  # fmt: skip


def import_card(about: dict[str, Any]) -> str:
    """The card of a model that others trained; what they wrote about it stays with them."""
    licence = about.get("license")
    return "\n".join([
        *(["---", f"license: {licence}", "---", ""] if licence else []),
        f"# {plain(about['imported_from'])}", "",
        f"A {about['foreign']} of {count_in_words(about['parameters'])} parameters, imported with regard "
        f"{about['regard']} from {plain(about['imported_from'])}"
        + (f" (licence {licence})." if licence else "; its licence is not known here."), "",
    ])  # fmt: skip
