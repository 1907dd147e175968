"""Our classifiers that are fine-tuned encoders as Hugging Face's `BertForSequenceClassification`. Knows no files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from regard.config import ModelConfig
from regard.errors import FolderError
from regard.formats import bert
from regard.formats.names import drop_known, plain, read_renamed
from regard.formats.weights import Shapes, Weights

if TYPE_CHECKING:
    from torch import Tensor

ARCHITECTURE = "BertForSequenceClassification"
HEAD = {"pooler.": "bert.pooler.dense.", "labels.": "classifier."}
ONE, SEVERAL = "single_label_classification", "multi_label_classification"


def export_weights(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Weights under the names of BERT; what logits are divided by, the weights of the last layer are."""
    scaled = {name: weights[name] / weights["temperature"] for name in ("labels.weight", "labels.bias")}
    return plain({_their_name(name): tensor for name, tensor in (weights | scaled).items() if name != "temperature"})


def import_weights(weights: Weights, shapes: Shapes) -> Weights:
    """Their weights under our names."""
    weights = drop_known({bert.modern(name): array for name, array in weights.items()}, r"\.position_ids$")
    found = read_renamed(weights, {name: shape for name, shape in shapes.items() if name != "temperature"}, _their_name)
    return found | {"temperature": np.ones(1, np.float32)}


def export_config(model: ModelConfig, pad_id: int) -> dict[str, Any]:
    """The config.json of a model."""
    return bert.export_config(model, pad_id) | {
        "architectures": [ARCHITECTURE],
        "id2label": {str(number): label for number, label in enumerate(model.labels)},
        "label2id": {label: number for number, label in enumerate(model.labels)},
        "problem_type": SEVERAL if model.several_labels else ONE,
    }


def import_config(config: dict[str, Any]) -> ModelConfig:
    """The shape in a config.json."""
    names = config.get("id2label")
    places = [str(number) for number in range(len(names))] if isinstance(names, dict) else []
    if not isinstance(names, dict) or not names or set(names) != set(places):
        raise FolderError("config.json has no id2label that gives every label a number from 0 and a name")
    update = {"labels": [names[place] for place in places], "several_labels": config.get("problem_type") == SEVERAL}
    found = bert.import_config(config)
    return ModelConfig.model_validate(found.model_dump() | update | {"pooling": "cls"}, strict=True)


def _their_name(name: str) -> str:
    for ours, theirs in HEAD.items():
        if name.startswith(ours):
            return theirs + name.removeprefix(ours)
    return bert.their_name(name.removeprefix("encoder."))
