"""The settings of a run: frozen, complete, TOML in and JSON out.

Knows nothing of files of text, of torch or of tasks. `None` means: chosen from the corpus (see `tasks`).
"""

from __future__ import annotations

import difflib
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, field_validator, model_validator

from regard.errors import ConfigError

Size = Literal["tiny", "small", "base", "big"]


class Section(BaseModel):
    """Settings under one name; a family of its own may bring one more."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _a_switch_is_no_number(cls, value: Any, info: ValidationInfo) -> Any:
        annotation = cls.model_fields[str(info.field_name)].annotation
        kinds = (annotation, *get_args(annotation))
        if isinstance(value, bool) and {int, float} & set(kinds) and bool not in kinds:
            raise ValueError("true and false are for switches")
        return value


class TextConfig(Section):
    """How text becomes tokens."""

    tokenizer: Literal["char", "byte", "bpe", "wordpiece", "word"] | None = None  # None: as suits the task and the text
    vocab_size: int | None = Field(None, ge=300)  # entries of the vocabulary; of BPE, 256 of them are single bytes
    lowercase: bool = False  # of WordPiece: "The" and "the" are one word
    max_length: int = Field(256, ge=8)  # tokens; pairs with a longer side are left out, longer lines are cut in parts


class ModelConfig(Section):
    """The shape of a network; with the weights, all that is needed to rebuild it."""

    kind: str = "transformer"  # each task has its own kinds
    vocab_size: int = Field(0, ge=0, le=2**28)  # V: 0 until the tokenizer is known
    layers: int = Field(4, ge=1, le=2**16)  # of the encoder, and of the decoder
    decoder_layers: int | None = Field(None, ge=1, le=2**16)  # of the decoder, if it has another number of them
    width: int = Field(128, ge=4, le=2**20)  # D: size of a token's vector
    heads: int = Field(4, ge=1)  # H: attention heads per layer; must divide width
    kv_heads: int | None = Field(None, ge=1)  # heads of keys and values, if several of H share one; must divide heads
    value_width: int | None = Field(None, ge=1, le=2**20)  # of a head's values (the paper's d_v); None: width / heads
    ffn_width: int = Field(256, ge=1, le=2**24)  # width of the feed-forward's middle
    norm: Literal["post", "pre"] = "post"  # layer norm after the residual (the paper), or before
    norm_kind: Literal["layer", "rms"] = "layer"
    epsilon: float = Field(1e-5, gt=0)  # what a norm adds before it divides
    activation: Literal["relu", "gelu", "gelu_new", "silu"] = "relu"  # gelu_new: GPT-2's, by tanh
    is_gated: bool = False  # whether the feed-forward has a gate
    has_bias: bool = True
    positions: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    rotary_base: float = Field(10_000.0, gt=1)  # of rotary positions: base of the wavelengths
    token_types: int = Field(2, ge=0, le=2**16)  # of an encoder of texts: number of token types (segments)
    has_output_bias: bool = False  # of a translator: whether logits have a bias
    tie_embeddings: bool = True  # whether input and output embeddings are shared
    max_positions: int = Field(1024, ge=8, le=2**20)  # of learned positions; of a writer, its context length
    dropout: float = Field(0.1, ge=0, lt=1)
    hops: int = Field(3, ge=1, le=1000)  # of an answerer: how often the question reads the story
    tying: Literal["adjacent", "layer-wise"] = "adjacent"  # of a memory network: which hops share their weights
    controller: Literal["question", "zero"] = "question"  # of a memory network: what the first hop attends with
    encoder: ModelConfig | None = None  # of a translator made of two models: its encoder; this is the decoder's shape
    start_id: int | None = Field(None, ge=0)  # of the same: the id of the token that a translation starts with
    restarts: int = Field(1, ge=1, le=1000)  # networks trained side by side; the best on the training text is kept
    buckets: int = Field(2**17, ge=2**8, le=2**26)  # of a classifier: rows of its table, which n-grams are hashed to
    labels: list[str] = []  # of a classifier: their names, in the order of their keys
    several_labels: bool = False  # of a classifier: whether a text may have any number of them
    pooling: Literal["cls", "mean"] = "cls"  # of a classifier with an encoder: what of its states stands for the text

    @property
    def longest(self) -> int:
        """Tokens of a text that its positions reach; of two models, those of the shorter."""
        own = self.max_positions if self.positions == "learned" else sys.maxsize
        return own if self.encoder is None else min(own, self.encoder.longest)

    @model_validator(mode="after")
    def _heads_divide_width(self) -> Self:
        if self.width % self.heads:
            better = self.width + self.heads - self.width % self.heads
            raise ValueError(f"width={self.width} cannot be shared equally by heads={self.heads}; try width={better}")
        if self.heads % (self.kv_heads or 1):
            raise ValueError(f"heads={self.heads} cannot be shared equally by kv_heads={self.kv_heads}")
        paired = {"sinusoidal": self.width, "rotary": self.width // self.heads}.get(self.positions, 0)
        if paired % 2:
            raise ValueError(f"width={self.width} and heads={self.heads} give an odd width; positions come in pairs, "
                             f"so the width, and for rotary positions width/heads, must be even")  # fmt: skip
        return self


class TrainConfig(Section):
    """Optimization and validation. Schedules depend on the step alone."""

    tokens_per_batch: int = Field(2048, ge=16)  # of one update; source and target together, padding included
    grad_accumulation: int | None = Field(
        None, ge=1
    )  # of a batch, computed one by one and shared out among workers; None: few
    learning_rate: float | None = Field(None, gt=0)  # the peak of the schedule; None: by the model's width
    warmup_steps: int = Field(400, ge=1)  # updates until the peak
    schedule: Literal["inverse-sqrt", "constant", "linear"] = "inverse-sqrt"  # after the warm-up
    decay_steps: int | None = Field(None, ge=1)  # updates after which a linear schedule reaches 0
    cooldown: float = Field(0.0, ge=0, lt=1)  # share of the run, its end, in which the learning rate falls to 0
    label_smoothing: float = Field(0.1, ge=0, lt=1)  # label smoothing
    r_drop: float = Field(0.0, ge=0)  # of a translator: weight of the R-Drop loss; with a cool-down, only in it
    attention_lr_scale: float = Field(1.0, gt=0)  # learning rate of queries and keys, as a share of the others'
    max_grad_norm: float = Field(1.0, gt=0)  # largest norm of a gradient
    weight_decay: float = Field(0.0, ge=0)
    average_checkpoints: int = Field(5, ge=1)  # checkpoints that are averaged into the model
    valid_every: int | None = Field(None, ge=1)  # updates between validations; None: rarer as the run gets longer
    held_out: int | None = Field(None, ge=1)  # examples split off for validation when none are given
    mask_rate: float = Field(0.15, gt=0, lt=1)  # of a filler: share of tokens masked
    whole_words: bool = False  # of a filler: mask all tokens of a word together
    time_noise: float = Field(0.1, ge=0, lt=1)  # of an answerer: random gaps added to ages, per sentence
    unanswerable: float = Field(0.1, ge=0, lt=1)  # of an answerer: share of questions whose story is made not to answer
    exchange_words: float = Field(0.0, ge=0, le=1)  # of an answerer: share of questions whose words are exchanged
    linear_start: int = Field(0, ge=0)  # of an answerer: epochs in which attention has no softmax
    questions_per_batch: int = Field(32, ge=1)  # of an answerer

    def share(self, amount: int) -> int:
        """What of this amount falls on one part of a batch; one at least."""
        return max(1, -(-amount // (self.grad_accumulation or 1)))

    @model_validator(mode="after")
    def _linear_has_an_end(self) -> Self:
        if self.schedule == "linear" and (self.decay_steps or 0) <= self.warmup_steps:
            raise ValueError(
                f"train.schedule=linear comes down to nothing at train.decay_steps, which is {self.decay_steps}; "
                f"set it to the number of updates of the run, more than train.warmup_steps={self.warmup_steps}"
            )
        return self


class StopConfig(Section):
    """When a run ends: at the first limit reached. Setting one of them replaces all defaults."""

    minutes: float | None = Field(None, gt=0)
    epochs: int | None = Field(None, ge=1)
    steps: int | None = Field(None, ge=1)
    patience: int | None = Field(None, ge=1)  # validations in a row without a better score


class RunConfig(Section):
    """Everything that decides the result of a run, apart from the text itself."""

    task: str = "translate"
    size: Size | None = None
    seed: int = Field(1, ge=0, lt=2**31)
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    workers: int | None = Field(None, ge=1)  # processes that train together; None: measured
    threads: int | None = Field(None, ge=1)  # of one process; None: measured
    shard: bool | None = None  # whether each worker holds a part of the weights (FSDP); None: if one cannot hold all
    precision: Literal["float32", "bfloat16"] | None = None  # of products; None: bfloat16 on a GPU, else float32
    source_language: str | None = None
    target_language: str | None = None
    corpus_weights: list[float] | None = None  # of several corpora, how often an epoch takes each pair
    back_translated: int | None = None  # of several corpora, the one whose sources are marked as back-translations
    text: TextConfig = TextConfig()
    model: ModelConfig = ModelConfig()
    train: TrainConfig = TrainConfig()
    stop: StopConfig = StopConfig()

    @field_validator("workers", mode="before")
    @classmethod
    def _auto_is_measured(cls, workers: Any) -> Any:
        return None if workers == "auto" else workers

    @model_validator(mode="after")
    def _r_drop_needs_dropout(self) -> Self:
        if self.train.r_drop and not self.model.dropout:
            raise ValueError(
                f"train.r_drop={self.train.r_drop} makes two passes agree that dropout makes differ, but "
                f"model.dropout is 0; set it to 0.2, or train.r_drop to 0"
            )
        return self

    @property
    def layout(self) -> str:
        """Who computes, in words."""
        threads = f"{self.threads} thread{'' if self.threads == 1 else 's'}"
        if self.workers == 1:
            return threads
        return f"{self.workers} workers with {threads} each{', sharded' if self.shard else ''}"


Settings = dict[str, Any]  # the same tree as RunConfig, with only what was set


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
        return tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise ConfigError(f"{path} does not exist; --config needs a TOML file of settings") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as problem:
        raise ConfigError(f"{path} is not a TOML file we can read: {problem}") from None


def parse_assignment(text: str) -> Settings:
    """The tree of one `section.key=value`, as given to --set."""
    path, equals, value = text.partition("=")
    keys = path.strip().split(".")
    if not equals or not all(keys):
        raise ConfigError(f"--set {text!r} has no value; write section.key=value, as in train.learning_rate=0.003")
    try:
        parsed: Any = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value.strip()  # a bare word is a string
    for key in reversed(keys):
        parsed = {key: parsed}
    assert isinstance(parsed, dict)
    return parsed


def resolve(settings: Settings, kind: type[RunConfig] = RunConfig) -> RunConfig:
    """The whole config of these settings; anything unknown or impossible is an error that names the remedy.

    kind: that of a family with settings of its own.
    """
    try:
        return kind.model_validate(settings)
    except ValidationError as problem:
        raise ConfigError(explain(problem, kind)) from None


def change(config: RunConfig, settings: Settings) -> RunConfig:
    """The same config but for these settings."""
    return resolve(merge(config.model_dump(), settings), type(config))


def explain(problem: ValidationError, tree: type[BaseModel] = RunConfig) -> str:
    """What is wrong with settings of a tree and what would be right, each once, in our words and by its whole name."""
    return "; ".join(dict.fromkeys(_explain(error, tree) for error in problem.errors()))


def default_learning_rate(width: int) -> float:
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


def suggest(name: str, tree: type[BaseModel] = RunConfig) -> str:
    """The setting that was probably meant by a name, as model.dropout by droput; or those of its section."""
    section, _, last = name.rpartition(".")
    known = [*tree.model_fields, *_every_setting(tree)]

    def likeness(one: str) -> float:
        there, _, other = one.rpartition(".")
        like = [difflib.SequenceMatcher(None, *pair).ratio() for pair in ((last, other), (section, there))]
        is_part = bool(difflib.get_close_matches(last, other.split("_"), n=1, cutoff=0.8))  # rate of learning_rate
        return max(like[0], 0.75 * is_part) + (0.2 * like[1] if section else 0.0)

    best = max(known, key=likeness)
    if likeness(best) >= 0.7:
        return f"; did you mean {best}?"
    beside = [one for one in known if section and one.startswith(f"{section}.")]
    return f"; known here: {', '.join(beside or [*tree.model_fields])}"


def _every_setting(tree: type[BaseModel]) -> Iterator[str]:
    for name, field in tree.model_fields.items():
        if isinstance(field.default, Section):
            yield from (f"{name}.{key}" for key in type(field.default).model_fields)
        else:
            yield name


def _explain(error: Any, root: type[BaseModel]) -> str:
    place, given = [str(part) for part in error["loc"]], error["input"]
    name = ".".join(place)
    if error["type"] == "extra_forbidden":
        deeper = [name, *map(str, given)][:2] if isinstance(given, dict) else [name]  # an unknown section
        return f"there is no setting {name}{suggest('.'.join(deeper), root)}"
    field: Any = None
    for part in [part for part in place if not part.isdigit()]:  # a number: the place in a list
        field = root.model_fields[part]
        root = field.annotation if isinstance(field.default, Section) else root
    if field is None or (isinstance(field.default, Section) and error["type"] == "value_error"):
        return str(error["msg"]).removeprefix("Value error, ")  # a rule of ours about several settings
    if isinstance(field.default, Section):
        example = next(iter(root.model_fields))
        return f"{name}={given!r:.60}: {name} is a section; name a setting of it, as in {name}.{example}"
    return f"{name}={given!r:.60} is not {_wanted(field)}" + (", or auto" if name == "workers" else "")


def _wanted(field: Any) -> str:
    """What a setting may be, in words."""
    kinds = [kind for kind in (get_args(field.annotation) or (field.annotation,)) if kind is not type(None)]
    if get_origin(kinds[0]) is list:
        return "a list of numbers"
    if not isinstance(kinds[0], type | str):  # a choice, or nothing
        kinds = list(get_args(kinds[0]))
    if isinstance(kinds[0], str):
        return f"one of {', '.join(kinds)}"
    if kinds[0] is bool:
        return "true or false"
    if kinds[0] is str:
        return "a word"
    words = {"ge": "of at least", "gt": "above", "le": "of at most", "lt": "below"}
    limits = [(name, getattr(one, name)) for one in field.metadata for name in words if hasattr(one, name)]
    bounds = " and ".join(f"{words[name]} {limit}" for name, limit in limits)
    return f"a {'whole ' if kinds[0] is int else ''}number{' ' + bounds if bounds else ''}"
