"""The settings of a run: frozen, complete, TOML in and JSON out.

Knows nothing of files of text, of torch or of tasks. `None` means: chosen from the corpus (see `tasks`).
"""

import difflib
import tomllib
from pathlib import Path
from typing import Any, Literal, Self, get_args

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from regard.errors import ConfigError

Size = Literal["tiny", "small", "base", "big"]

# The dial. tiny is the shape that did best on 29,000 pairs of captions (Transformer-Tiny, 2.6 M weights);
# base and big are the paper's.
SIZES: dict[str, dict[str, Any]] = {
    "tiny": {"layers": 4, "width": 128, "inner": 256, "heads": 4},
    "small": {"layers": 4, "width": 256, "inner": 1024, "heads": 4},
    "base": {"layers": 6, "width": 512, "inner": 2048, "heads": 8},
    "big": {"layers": 6, "width": 1024, "inner": 4096, "heads": 16},
}


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class TextConfig(_Settings):
    """How text becomes tokens."""

    vocab_size: int | None = Field(None, ge=300)  # entries of the joint vocabulary; 256 of them are single bytes
    max_length: int = Field(256, ge=8)  # tokens; pairs with a longer side are left out of training


class ModelConfig(_Settings):
    """The shape of a network; with the weights, all that is needed to rebuild it."""

    vocab_size: int = Field(0, ge=0)  # V: 0 until the tokenizer is known
    layers: int = Field(4, ge=1)  # of the encoder, and of the decoder
    width: int = Field(128, ge=4)  # D: size of a token's vector
    heads: int = Field(4, ge=1)  # H: attention heads per layer; must divide width
    inner: int = Field(256, ge=1)  # width of the feed-forward's middle
    norm: Literal["post", "pre"] = "post"  # where layer norm stands: after the residual (the paper), or before
    activation: Literal["relu", "gelu"] = "relu"
    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    max_positions: int = Field(1024, ge=16)  # length of a table of positions
    dropout: float = Field(0.1, ge=0, lt=1)

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.width % self.heads:
            better = self.width + self.heads - self.width % self.heads
            raise ValueError(f"width={self.width} cannot be shared equally by heads={self.heads}; try width={better}")
        if self.width % 2 or (self.positions == "rotary" and (self.width // self.heads) % 2):
            raise ValueError(f"width={self.width} and heads={self.heads} give an odd width; positions come in pairs, "
                             f"so the width, and for rotary positions width/heads, must be even")  # fmt: skip
        return self


class TrainConfig(_Settings):
    """How weights are made better. Schedules depend on the step alone."""

    tokens_per_batch: int = Field(2048, ge=16)  # source and target together, padding included
    accumulate: int = Field(1, ge=1)  # batches per update
    rate: float | None = Field(None, gt=0)  # the peak of the schedule; None: by the model's width
    warmup: int = Field(400, ge=1)  # updates until the peak
    schedule: Literal["inverse-sqrt", "constant"] = "inverse-sqrt"
    smoothing: float = Field(0.1, ge=0, lt=1)  # label smoothing
    clip: float = Field(1.0, gt=0)  # largest norm of a gradient
    weight_decay: float = Field(0.0, ge=0)
    average: int = Field(5, ge=1)  # checkpoints that are averaged into the model
    patience: int = Field(8, ge=1)  # validations without a better score before the run ends by itself
    valid_every: int | None = Field(None, ge=1)  # updates between validations; None: rarer as the run gets longer
    held_out: int | None = Field(None, ge=1)  # pairs split off for validation when none are given


class StopConfig(_Settings):
    """When a run is over; the first that is reached. None of them: when it gets no better."""

    minutes: float | None = Field(None, gt=0)
    epochs: int | None = Field(None, ge=1)
    steps: int | None = Field(None, ge=1)


class RunConfig(_Settings):
    """Everything that decides the result of a run, apart from the text itself."""

    task: str = "translate"
    size: Size | None = None
    seed: int = Field(1, ge=0, lt=2**31)
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    threads: int | None = Field(None, ge=1)  # of one process; None: one per core
    source_language: str | None = None
    target_language: str | None = None
    text: TextConfig = TextConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    stop: StopConfig = StopConfig()


Settings = dict[str, Any]  # the same tree as RunConfig, with only what somebody set


def merge(below: Settings, above: Settings) -> Settings:
    """Both trees in one; where they disagree, `above` wins."""
    merged = dict(below)
    for key, value in above.items():
        merged[key] = (
            merge(merged[key], value) if isinstance(value, dict) and isinstance(merged.get(key), dict) else value
        )
    return merged


def read_toml(path: Path) -> Settings:
    """The settings of a TOML file."""
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; --config needs a TOML file of settings") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as problem:
        raise ConfigError(f"{path} is not a TOML file we can read: {problem}") from None


def parse_assignment(text: str) -> Settings:
    """The tree of one `section.key=value`, as given to --set."""
    path, equals, value = text.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise ConfigError(f"--set {text!r} has no value; write section.key=value, as in train.rate=0.003")
    try:
        parsed: Any = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()  # a bare word is a string
    for key in reversed(keys):
        parsed = {key: parsed}
    assert isinstance(parsed, dict)
    return parsed


def resolve(settings: Settings) -> RunConfig:
    """The whole config of these settings; anything unknown or impossible is an error that names the remedy."""
    size = settings.get("size")
    shape = SIZES.get(size, {}) if isinstance(size, str) else {}
    try:
        return RunConfig.model_validate(merge({"model": shape}, settings))
    except ValidationError as problem:
        raise ConfigError("; ".join(_explain(error) for error in problem.errors())) from None


def choose_rate(width: int) -> float:
    """A learning rate for matrices of this width: 0.005 at 128, 0.00125 at 512 (with Adam and a warm-up)."""
    return 0.64 / width


def differences(before: BaseModel, after: BaseModel, prefix: str = "") -> list[str]:
    """`name: old -> new` for every setting that differs."""
    found = []
    for name in type(before).model_fields:
        old, new = getattr(before, name), getattr(after, name)
        if isinstance(old, BaseModel) and isinstance(new, BaseModel):
            found += differences(old, new, f"{prefix}{name}.")
        elif old != new:
            found.append(f"{prefix}{name}: {old} -> {new}")
    return found


def nearest(word: str, known: list[str]) -> str:
    """` (did you mean x?)`, or nothing when no known word is near."""
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]}?" if close else f"; known here: {', '.join(known)}"


def _explain(error: Any) -> str:
    place = [str(part) for part in error["loc"]]
    name = ".".join(place)
    if error["type"] == "extra_forbidden":
        return f"there is no setting {name}{nearest(place[-1], _names(place[:-1]))}"
    message = error["msg"].removeprefix("Value error, ")
    return (
        f"{name or 'settings'}={error['input']!r}: {message}" if place and error["type"] != "value_error" else message
    )


def _names(section: list[str]) -> list[str]:
    model: Any = RunConfig
    for part in section:
        annotation = model.model_fields[part].annotation
        model = next((a for a in (annotation, *get_args(annotation)) if isinstance(a, type)), None)
    return list(model.model_fields)
