"""Train a Transformer on your own text, run it on the machine you have, and see why it generated what it did.

Importing this imports nothing heavy; each name brings its room along when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

import regard.training  # noqa: F401  first, else the room would take the place of the function when it is imported
from regard.load import load  # likewise these, which have the names of their modules
from regard.train import train, training

__version__ = "0.2.0"

if TYPE_CHECKING:
    from regard.errors import ConfigError, CorpusError, FolderError, RegardError, RunError
    from regard.families.answer.pipeline import Answer, Answerer
    from regard.families.encode.decoder import Decoder
    from regard.families.encode.pipeline import Encoder
    from regard.families.fill.pipeline import Candidate, Filled, Filler
    from regard.families.translate.pipeline import Translator
    from regard.families.translate.translation import Translation
    from regard.families.write.pipeline import Sample, Writer
    from regard.folder import ModelInfo
    from regard.look.inspection import Inspection, TokenScore
    from regard.model.capture import record_attention, record_hidden
    from regard.text.samples import induction, phrasebook
    from regard.text.stories import Story
    from regard.training.loop import Progress, Validated
    from regard.training.plan import Plan
    from regard.training.session import Finished

_HOMES = {
    "Answer": "regard.families.answer.pipeline",
    "Answerer": "regard.families.answer.pipeline",
    "Candidate": "regard.families.fill.pipeline",
    "ConfigError": "regard.errors",
    "CorpusError": "regard.errors",
    "Decoder": "regard.families.encode.decoder",
    "Encoder": "regard.families.encode.pipeline",
    "Filled": "regard.families.fill.pipeline",
    "Filler": "regard.families.fill.pipeline",
    "Finished": "regard.training.session",
    "FolderError": "regard.errors",
    "Inspection": "regard.look.inspection",
    "ModelInfo": "regard.folder",
    "Plan": "regard.training.plan",
    "Progress": "regard.training.loop",
    "RegardError": "regard.errors",
    "RunError": "regard.errors",
    "Sample": "regard.families.write.pipeline",
    "Story": "regard.text.stories",
    "TokenScore": "regard.look.inspection",
    "Translation": "regard.families.translate.translation",
    "Translator": "regard.families.translate.pipeline",
    "Validated": "regard.training.loop",
    "Writer": "regard.families.write.pipeline",
    "induction": "regard.text.samples",
    "phrasebook": "regard.text.samples",
    "record_attention": "regard.model.capture",
    "record_hidden": "regard.model.capture",
}

__all__ = [
    "Answer",
    "Answerer",
    "Candidate",
    "ConfigError",
    "CorpusError",
    "Decoder",
    "Encoder",
    "Filled",
    "Filler",
    "Finished",
    "FolderError",
    "Inspection",
    "ModelInfo",
    "Plan",
    "Progress",
    "RegardError",
    "RunError",
    "Sample",
    "Story",
    "TokenScore",
    "Translation",
    "Translator",
    "Validated",
    "Writer",
    "induction",
    "load",
    "phrasebook",
    "record_attention",
    "record_hidden",
    "train",
    "training",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
