"""Train a Transformer on your own text, run it on the machine you have, and see why it generated what it did.

Importing this imports nothing heavy; each name brings its room along when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import regard.training  # noqa: F401  first, else the room would take the place of the function when it is imported
from regard.distill import distill, distilling  # likewise these, which have the names of their modules
from regard.load import load
from regard.train import plan, train, training

__version__ = "0.2.0"

if TYPE_CHECKING:
    from regard.convert import Page, show
    from regard.errors import ConfigError, CorpusError, FolderError, RegardError, RunError
    from regard.families.answer.pipeline import Answer, Answerer
    from regard.families.classify.pipeline import Classification, Classifier, Label
    from regard.families.encode.decoder import Decoder
    from regard.families.encode.index import Index, Match
    from regard.families.encode.pipeline import Encoder
    from regard.families.fill.pipeline import Candidate, Filled, Filler
    from regard.families.translate.asked import TranslateOptions
    from regard.families.translate.pipeline import Translator
    from regard.families.translate.translation import Translation
    from regard.families.write.pipeline import Sample, Writer
    from regard.folder import ModelInfo
    from regard.look.inspection import Inspection, TokenScore
    from regard.model.capture import record_attention, record_hidden, without_residuals
    from regard.text.samples import induction, phrasebook
    from regard.text.stories import Story
    from regard.training.encode import Generating, Preparing
    from regard.training.loop import Progress, Validated
    from regard.training.plan import Plan
    from regard.training.session import Finished
    from regard.training.stages import Stage

_HOMES = {  # module -> names
    "convert": "Page show",
    "errors": "ConfigError CorpusError FolderError RegardError RunError",
    "families.answer.pipeline": "Answer Answerer",
    "families.classify.pipeline": "Classification Classifier Label",
    "families.encode.decoder": "Decoder",
    "families.encode.index": "Index Match",
    "families.encode.pipeline": "Encoder",
    "families.fill.pipeline": "Candidate Filled Filler",
    "families.translate.asked": "TranslateOptions",
    "families.translate.pipeline": "Translator",
    "families.translate.translation": "Translation",
    "families.write.pipeline": "Sample Writer",
    "folder": "ModelInfo",
    "look.inspection": "Inspection TokenScore",
    "model.capture": "record_attention record_hidden without_residuals",
    "text.samples": "induction phrasebook",
    "text.stories": "Story",
    "training.encode": "Generating Preparing",
    "training.loop": "Progress Validated",
    "training.plan": "Plan",
    "training.session": "Finished",
    "training.stages": "Stage",
}
_MODULES = {name: f"regard.{module}" for module, names in _HOMES.items() for name in names.split()}

__all__ = [
    "Answer", "Answerer", "Candidate", "Classification", "Classifier", "ConfigError", "CorpusError", "Decoder",
    "Encoder", "Filled", "Filler", "Finished", "FolderError", "Generating", "Index", "Inspection", "Label", "Match",
    "ModelInfo", "Page", "Plan", "Preparing", "Progress", "RegardError", "RunError", "Sample", "Stage",
    "Story", "TokenScore", "TranslateOptions", "Translation", "Translator", "Validated", "Writer", "distill",
    "distilling", "induction", "load", "phrasebook", "plan", "record_attention", "record_hidden", "show", "train",
    "training", "without_residuals",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
