"""Train a Transformer on your own text, run it on the machine you have, and see why it said what it said.

Importing this imports nothing heavy; each name brings its room along when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from regard.load import load  # these at once, else their modules would take their names when first imported
from regard.train import train, training

__version__ = "0.1.0"

if TYPE_CHECKING:
    from regard.errors import ConfigError, CorpusError, FolderError, RegardError, RunError
    from regard.look.record import record_attention, record_hidden
    from regard.text.samples import induction, phrasebook
    from regard.text.stories import Story
    from regard.use.answerer import Answer, Answerer
    from regard.use.decoder import Decoder
    from regard.use.encoder import Encoder
    from regard.use.filler import Candidate, Filled, Filler
    from regard.use.translation import Translation
    from regard.use.translator import Translator
    from regard.use.writer import Writer

_HOMES = {
    "Answer": "regard.use.answerer",
    "Answerer": "regard.use.answerer",
    "Candidate": "regard.use.filler",
    "ConfigError": "regard.errors",
    "CorpusError": "regard.errors",
    "Decoder": "regard.use.decoder",
    "Encoder": "regard.use.encoder",
    "Filled": "regard.use.filler",
    "Filler": "regard.use.filler",
    "FolderError": "regard.errors",
    "RegardError": "regard.errors",
    "RunError": "regard.errors",
    "Story": "regard.text.stories",
    "Translation": "regard.use.translation",
    "Translator": "regard.use.translator",
    "Writer": "regard.use.writer",
    "induction": "regard.text.samples",
    "phrasebook": "regard.text.samples",
    "record_attention": "regard.look.record",
    "record_hidden": "regard.look.record",
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
    "FolderError",
    "RegardError",
    "RunError",
    "Story",
    "Translation",
    "Translator",
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
