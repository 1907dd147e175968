"""Which family uses which setting: one that was given and would do nothing is refused by name. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from regard.errors import ConfigError

if TYPE_CHECKING:
    from regard.config import RunConfig, Settings

T, W, F = "translate", "write", "fill"
M, S = "answer (model.kind=memory)", "answer (model.kind=transformer)"
STACKED, BLOCKS = (T, W, F), (T, W, F, S)  # those built from attention blocks, the story Transformer among them
EVERY = (*BLOCKS, M)

USERS: dict[str, tuple[str, ...]] = {
    "source_language": (T,),
    "target_language": (T,),
    "text.tokenizer": EVERY,
    "text.vocab_size": STACKED,
    "text.lowercase": (F,),
    "text.max_length": (T, F),
    "model.kind": EVERY,
    "model.vocab_size": (),
    "model.layers": BLOCKS,
    "model.decoder_layers": (T,),
    "model.width": EVERY,
    "model.heads": BLOCKS,
    "model.kv_heads": STACKED,
    "model.value_width": STACKED,
    "model.ffn_width": BLOCKS,
    "model.norm": BLOCKS,
    "model.norm_kind": BLOCKS,
    "model.epsilon": BLOCKS,
    "model.activation": BLOCKS,
    "model.is_gated": BLOCKS,
    "model.has_bias": BLOCKS,
    "model.positions": STACKED,
    "model.rotary_base": STACKED,
    "model.token_types": (F,),
    "model.has_output_bias": (T,),
    "model.tie_embeddings": STACKED,
    "model.max_positions": EVERY,
    "model.dropout": BLOCKS,
    "model.hops": (M, S),
    "model.tying": (M,),
    "model.restarts": (M,),
    "model.encoder": (),
    "model.start_id": (),
    "train.tokens_per_batch": STACKED,
    "train.grad_accumulation": EVERY,
    "train.learning_rate": EVERY,
    "train.warmup_steps": EVERY,
    "train.schedule": EVERY,
    "train.decay_steps": EVERY,
    "train.label_smoothing": EVERY,
    "train.r_drop": (T,),
    "train.attention_lr_scale": BLOCKS,
    "train.max_grad_norm": EVERY,
    "train.weight_decay": EVERY,
    "train.average_checkpoints": EVERY,
    "train.valid_every": EVERY,
    "train.held_out": (T, F, M, S),
    "train.mask_rate": (F,),
    "train.whole_words": (F,),
    "train.time_noise": (M, S),
    "train.linear_start": (M,),
    "train.questions_per_batch": (M, S),
}
# What is never set by hand, and where it comes from.
FOLLOWS = {
    "model.vocab_size": "the tokenizer; set text.vocab_size",
    "model.encoder": "the folders; give --encoder and --decoder",
    "model.start_id": "the folders; give --encoder and --decoder",
}
# What is used only beside another setting.
BESIDE: dict[str, tuple[str, Callable[[RunConfig], bool]]] = {
    "text.vocab_size": ("text.tokenizer=bpe or wordpiece", lambda c: c.text.tokenizer in (None, "bpe", "wordpiece")),
    "text.lowercase": ("text.tokenizer=wordpiece", lambda c: c.text.tokenizer == "wordpiece"),
    "model.rotary_base": ("model.positions=rotary", lambda c: c.model.positions == "rotary"),
    "train.decay_steps": ("train.schedule=linear", lambda c: c.train.schedule == "linear"),
}


def refuse_unused(task: str, wanted: Settings, config: RunConfig | None = None) -> None:
    """Refuses what was given and would change nothing for this family; with every setting decided (config), also what
    would change nothing for this kind of it, or beside other settings.
    """
    if task not in {user.split()[0] for user in EVERY}:
        return  # a family of another package: its recipe says
    users = [user for user in EVERY if user.split()[0] == task and (config is None or _is(user, config))]
    for name, value in _given(wanted):
        if name in FOLLOWS:
            raise ConfigError(f"{name} follows from {FOLLOWS[name]}")
        if not set(users) & set(USERS[name]):
            whom = users[0] if len(users) == 1 else task
            raise ConfigError(f"{name}={value} changes nothing for a model to {whom}; it is a setting of "
                              f"{', '.join(USERS[name])}, leave it out")  # fmt: skip
        if config and name in BESIDE and not BESIDE[name][1](config):
            raise ConfigError(f"{name}={value} changes nothing here; it goes with {BESIDE[name][0]}, leave it out")


def _is(user: str, config: RunConfig) -> bool:
    return "model.kind" not in user or user.endswith(f"={config.model.kind})")


def _given(wanted: Settings) -> list[tuple[str, Any]]:
    """The names and values of all settings in a tree that some family may not use."""
    found: list[tuple[str, Any]] = []
    for name, value in wanted.items():
        found += [(f"{name}.{key}", one) for key, one in value.items()] if isinstance(value, dict) else [(name, value)]
    return [(name, value) for name, value in found if name in USERS and value is not None]
