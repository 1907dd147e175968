"""Which engine runs a model, and in which precision. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass

from regard.errors import ConfigError

ENGINES, PRECISIONS = ("torch", "ctranslate2"), ("float32", "int8")


@dataclass(frozen=True)
class EngineOptions:
    """How a model is to be run; None: as fast as this machine can."""

    engine: str | None = None
    precision: str | None = None

    def __post_init__(self) -> None:
        for name, value, known in (("engine", self.engine, ENGINES), ("precision", self.precision, PRECISIONS)):
            if value is not None and value not in known:
                raise ConfigError(f"{name}={value} is not one of {', '.join(known)}")
        if self.engine == "torch" and self.precision == "int8":
            raise ConfigError("precision=int8 is for engine=ctranslate2; torch computes in float32")

    @property
    def wants_fast(self) -> bool:
        """Whether only the fast engine can do this."""
        return self.engine == "ctranslate2" or self.precision == "int8"
