"""What can go wrong because of what we were given; each message says what we saw, the rule, and what to do.

RegardError
├── ConfigError     a setting is unknown or cannot be
├── CorpusError     a text file cannot be learned from
├── FolderError     a folder is not a model we can open, or cannot be written
└── RunError        a training run cannot start or resume

Mistakes of our own are AssertionErrors and never one of these.
"""


class RegardError(Exception):
    """Anything a user can fix; the command line prints it as one line and exits with 1."""


class ConfigError(RegardError):
    """A setting is unknown or has a value that cannot be."""


class CorpusError(RegardError):
    """A text file cannot be learned from."""


class FolderError(RegardError):
    """A folder is not a model we can open, or cannot be written."""


class RunError(RegardError):
    """A training run cannot start or resume."""
