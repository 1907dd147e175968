"""The README.md of a model: what it is, how it was made, how to use it."""

from typing import Any


def describe_shape(model: dict[str, Any], names: tuple[str, ...]) -> str:
    """The shape of a network in a few words: its kind, and the settings of these names."""
    return f"{model['kind']}: " + ", ".join(f"{name.replace('_', ' ')} {model[name]}" for name in names)


def model_card(about: dict[str, Any], shape: tuple[str, ...]) -> str:
    """A model card from what regard.json tells; shape: the settings of the network that matter."""
    settings, data = about["settings"], about["data"]
    languages = [code for code in (settings.get("source_language"), settings.get("target_language")) if code]
    head = ["---", "library_name: regard", f"tags: [{about['task']}]"]
    head += [f"language: [{', '.join(languages)}]"] if languages else []
    facts = "\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in data.items() if isinstance(value, int))
    scores = "\n".join(f"- {name}: {value:.4g}" for name, value in about["scores"].items())
    title = f"{about['task']}: {' to '.join(languages)}" if languages else about["task"]
    return "\n".join([
        *head, "---", "",
        f"# {title}", "",
        f"Trained from scratch with regard {about['regard']} ({describe_shape(settings['model'], shape)}).", "",
        "## Use", "", "```python", "import regard", "", "model = regard.load(\"path/to/this/folder\")", "```", "",
        "## Data", "", facts, "",
        "## Scores on held-out text", "", scores, "", about["scores_signature"], "",
        f"Trained for {about['training']['steps']} steps in {about['training']['seconds'] / 60:.1f} minutes. "
        f"All settings are in regard.json.", "",
    ])  # fmt: skip
