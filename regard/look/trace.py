"""Runs a model once on given tokens (teacher forcing) and records attention, probabilities and the logit lens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from regard.look.inspection import Kind, TokenScore, make_kind
from regard.model.capture import Recorded, record_attention, record_hidden
from regard.model.stack import Stack
from regard.model.transformer import EncoderAndDecoder, EncoderDecoder

Pair = tuple[list[int], list[int]]  # ids of a source and of a target, each with its end if it has one
Translating = EncoderDecoder | EncoderAndDecoder
ALTERNATIVES, IN_LENS = 8, 3  # likeliest tokens at each place, and of each layer


@torch.inference_mode()
def trace_pair(
    model: Translating, tokenizer: Any, pair: Pair
) -> tuple[dict[str, Kind], list[TokenScore], list[list[list[tuple[str, float]]]]]:
    """A forced pass of a translator over a source and a target: attention, the probability of each token, and the logit
    lens.
    """
    model.eval()
    source, target = pair
    read, start = as_batch(model, source), as_batch(model, [model.start_id, *target[:-1]])
    with record_attention(model) as attention, record_hidden(model) as states:
        hidden = model(read, start)  # (1, T, D)
    mine, theirs = tokenizer.tokens(source), tokenizer.tokens(target)
    special = special_tokens(tokenizer)
    kinds = {
        "cross": make_kind(theirs, mine, stack(attention, "decoder.", "cross_attention"), special),
        "encoder": make_kind(mine, mine, stack(attention, "encoder.", "self_attention"), special),
        "decoder": make_kind(theirs, theirs, stack(attention, "decoder.", "self_attention"), special),
    }
    scores = score_tokens(model.logits(hidden[0]), target, range(len(target)), tokenizer)
    decoder = model.decoder if isinstance(model.decoder, Stack) else model.decoder.stack
    return (
        kinds,
        scores,
        apply_logit_lens(model, decoder, last_states(states, "decoder"), range(len(target)), tokenizer),
    )


@torch.inference_mode()
def trace_text(
    model: Any, tokenizer: Any, ids: list[int], places: Sequence[int] | None
) -> tuple[dict[str, Kind], list[TokenScore], list[list[list[tuple[str, float]]]]]:
    """A pass over a text: attention, the probability of each token given those before it, and the logit lens.

    places: predict these places themselves, as gaps are; None: each predicts the next. Encoders predict nothing.
    """
    model.eval()
    with record_attention(model) as attention, record_hidden(model) as states:
        hidden = model(as_batch(model, ids))[0]  # (T, D)
    tokens = tokenizer.tokens(ids)
    kinds = {"text": make_kind(tokens, tokens, stack(attention, "stack.", "self_attention"), special_tokens(tokenizer))}
    if not hasattr(model, "logits"):
        return kinds, [], []
    predicted = range(len(ids) - 1) if places is None else places
    shift = 1 if places is None else 0
    wanted = [ids[place + shift] for place in predicted]
    scores = score_tokens(
        model.logits(hidden[list(predicted)]), wanted, [place + shift for place in predicted], tokenizer
    )
    return kinds, scores, apply_logit_lens(model, model.stack, states["stack"], predicted, tokenizer)


def as_batch(model: Any, ids: list[int]) -> Tensor:
    """(1, T), where the model is."""
    return torch.tensor([ids], device=next(model.parameters()).device)


def score_tokens(logits: Tensor, ids: Sequence[int], places: Sequence[int], tokenizer: Any) -> list[TokenScore]:
    """logits (T, V) of the tokens `ids` at `places` -> how likely each was, and the likeliest."""
    probabilities = logits.softmax(-1)  # (T, V)
    own = probabilities.gather(1, torch.tensor([list(ids)], device=logits.device).T)[:, 0].tolist() if len(ids) else []
    best = _likeliest(probabilities, ALTERNATIVES, tokenizer)
    return [
        TokenScore(place, tokenizer.tokens([number])[0], probability, others)
        for place, number, probability, others in zip(places, ids, own, best, strict=True)
    ]


def apply_logit_lens(
    model: Any, decoder: Stack, states: list[Tensor], places: Sequence[int], tokenizer: Any
) -> list[list[list[tuple[str, float]]]]:
    """The logit lens: the prediction if each layer were the last, of each layer and place; the input first."""
    found = []
    for number, state in enumerate(states):
        hidden = state[0, list(places)]  # (T, D)
        is_last = number == len(states) - 1  # after the last norm already
        found.append(
            _likeliest(model.logits(hidden if is_last else decoder.norm(hidden)).softmax(-1), IN_LENS, tokenizer)
        )
    return found


def last_states(states: Recorded, part: str) -> list[Tensor]:
    """Of the stack in this part of a model."""
    return next(found for name, found in states.items() if name == part or name.startswith(part + "."))


def stack(recorded: Recorded, part: str, kind: str) -> Tensor:
    """The weights of one kind of attention in one part of a model, of the first row: (layers, H, T, S)."""
    found = [entries[0][0] for name, entries in recorded.items() if name.startswith(part) and name.endswith(kind)]
    return torch.stack(found).cpu()


def special_tokens(tokenizer: Any) -> frozenset[str]:
    """The special tokens as they are shown."""
    return frozenset(tokenizer.tokens(sorted(tokenizer.special_ids)))


def _likeliest(probabilities: Tensor, count: int, tokenizer: Any) -> list[list[tuple[str, float]]]:
    top = probabilities.topk(min(count, probabilities.shape[-1]), dim=-1)
    return [
        list(zip(tokenizer.tokens(ids), values, strict=True))
        for ids, values in zip(top.indices.tolist(), top.values.tolist(), strict=True)
    ]
