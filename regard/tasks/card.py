"""The README.md of a model: what it is, how it was made, how to use it."""

from typing import Any


def model_card(about: dict[str, Any]) -> str:
    """A model card from what regard.json tells."""
    settings, data = about["settings"], about["data"]
    languages = [code for code in (settings.get("source_language"), settings.get("target_language")) if code]
    head = ["---", "library_name: regard", f"tags: [{about['task']}]"]
    head += [f"language: [{', '.join(languages)}]"] if languages else []
    shape = settings["model"]
    facts = "\n".join(f"- {name.replace('_', ' ')}: {value}" for name, value in data.items() if isinstance(value, int))
    scores = "\n".join(f"- {name}: {value:.4g}" for name, value in about["scores"].items())
    title = " to ".join(languages) if len(languages) == 2 else "a model"
    return "\n".join([
        *head, "---", "",
        f"# {about['task']}: {title}", "",
        f"A Transformer ({shape['layers']} layers, width {shape['width']}, {shape['heads']} heads, "
        f"vocabulary {shape['vocab_size']}), trained from scratch with regard {about['regard']}.", "",
        "## Use", "", "```python", "import regard", "", "model = regard.load(\"path/to/this/folder\")", "```", "",
        "## Data", "", facts, "",
        "## Scores on held-out text", "", scores, "", about["scores_signature"], "",
        f"Trained for {about['training']['steps']} steps in {about['training']['seconds'] / 60:.1f} minutes. "
        f"All settings are in regard.json.", "",
    ])  # fmt: skip
