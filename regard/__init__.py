"""Train a Transformer on your own text, run it on the machine you have, and see why it said what it said.

Importing this imports nothing heavy; each name brings its room along when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from regard.errors import ConfigError, CorpusError, FolderError, RegardError, RunError
    from regard.look.record import record_attention
    from regard.run import load, train, training
    from regard.tasks.translator import Translation, Translator
    from regard.text.samples import phrasebook

_HOMES = {
    "ConfigError": "regard.errors",
    "CorpusError": "regard.errors",
    "FolderError": "regard.errors",
    "RegardError": "regard.errors",
    "RunError": "regard.errors",
    "Translation": "regard.tasks.translator",
    "Translator": "regard.tasks.translator",
    "load": "regard.run",
    "phrasebook": "regard.text.samples",
    "record_attention": "regard.look.record",
    "train": "regard.run",
    "training": "regard.run",
}

__all__ = [
    "ConfigError",
    "CorpusError",
    "FolderError",
    "RegardError",
    "RunError",
    "Translation",
    "Translator",
    "load",
    "phrasebook",
    "record_attention",
    "train",
    "training",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'regard' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
