"""Settings of a run that a family has; one that was given and would do nothing is refused by name. Imports no torch.

A family names its own in `Recipe.uses`, from these groups; a section of its own is a field of its `Recipe.config`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from regard.config import RunConfig, Settings
from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.training.recipe import Recipe


def setting_names(**sections: str) -> frozenset[str]:
    """The whole names of settings, given by section."""
    return frozenset(f"{section}.{name}" for section, names in sections.items() for name in names.split())


EVERY = setting_names(
    text="tokenizer",
    model="kind width max_positions",
    train="grad_accumulation learning_rate warmup_steps schedule decay_steps cooldown label_smoothing max_grad_norm "
    "weight_decay average_checkpoints valid_every",
)
# Of networks of attention blocks, and of those whose blocks are all that there is.
BLOCKS = EVERY | setting_names(
    model="layers heads ffn_width norm norm_kind epsilon activation is_gated has_bias dropout",
    train="attention_lr_scale",
)
STACKED = BLOCKS | setting_names(
    text="vocab_size", model="kv_heads value_width positions rotary_base tie_embeddings", train="tokens_per_batch"
)
# What is never set by hand, and where it comes from.
FOLLOWS = {
    "model.vocab_size": "the tokenizer; set text.vocab_size",
    "model.labels": "the files",
    "model.several_labels": "the files",
    "model.pooling": "the encoder",
    "model.encoder": "the folders; give --encoder and --decoder",
    "model.start_id": "the folders; give --encoder and --decoder",
    "corpus_weights": "--also SOURCE,TARGET:WEIGHT",
    "back_translated": "--monolingual FILE",
}
# What is used only beside another setting.
BESIDE: dict[str, tuple[str, Callable[[RunConfig], bool]]] = {
    "text.vocab_size": ("text.tokenizer=bpe or wordpiece", lambda c: c.text.tokenizer in (None, "bpe", "wordpiece")),
    "text.lowercase": ("text.tokenizer=wordpiece", lambda c: c.text.tokenizer == "wordpiece"),
    "model.rotary_base": ("model.positions=rotary", lambda c: c.model.positions == "rotary"),
    "train.decay_steps": ("train.schedule=linear", lambda c: c.train.schedule == "linear"),
}


def refuse_unused(recipe: Recipe, wanted: Settings, config: RunConfig | None = None) -> None:
    """Refuses what was given and would change nothing for this family; with every setting decided (config), also what
    would change nothing for this kind of it, or beside other settings.
    """
    for name, value in _given(wanted):
        if name in FOLLOWS:
            raise ConfigError(f"{name} follows from {FOLLOWS[name]}")
        kinds = [kind for kind, uses in recipe.uses.items() if name in uses]
        if not kinds:
            raise ConfigError(f"{name}={value} changes nothing for a model to {recipe.name}; leave it out")
        if config and config.model.kind not in kinds:
            kind, others = config.model.kind, " or ".join(kinds)
            raise ConfigError(f"{name}={value} changes nothing for a model to {recipe.name} (model.kind={kind}); "
                              f"it goes with model.kind={others}, leave it out")  # fmt: skip
        if config and name in BESIDE and not BESIDE[name][1](config):
            raise ConfigError(f"{name}={value} changes nothing here; it goes with {BESIDE[name][0]}, leave it out")


def _given(wanted: Settings) -> list[tuple[str, Any]]:
    """The names and values of all settings in a tree that some family may not use."""
    found = [(f"{section}.{name}", value) for section in ("text", "model", "train")
             for name, value in wanted.get(section, {}).items()]  # fmt: skip
    alone = ("source_language", "target_language", "corpus_weights", "back_translated")
    found += [(name, wanted.get(name)) for name in alone]
    return [(name, value) for name, value in found if value is not None]
