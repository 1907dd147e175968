"""The HMM alignment model: a translation mostly moves on to the next source word, seldom far.

Vogel et al. 1996: each target token comes from a source token, which depends on that of the token before; or from
nowhere (NULL). Forward-backward over many pairs at a time. Imports no torch.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

WIDEST = 7  # source tokens; jumps that go further are as likely as this one
NOWHERE = 0.1  # share of the target tokens that come from nowhere
ANYTHING = 1e-3  # how likely one that does is this one
RARE = 1e-4  # added to the share of every jump: none is impossible


def first_jumps() -> Array:
    """How likely each jump is before any was counted: on to the next is best. (2 WIDEST + 1,)"""
    far = np.abs(np.arange(-WIDEST, WIDEST + 1) - 1)
    return np.exp(-0.5 * far).astype(np.float32)


def counted_jumps(counts: Array) -> Array:
    """How likely each jump is, after so many were counted. (2 WIDEST + 1,)"""
    return (counts / max(1e-9, float(counts.sum())) + RARE).astype(np.float32)


def follow(likely: Array, lengths: Array, jumps: Array) -> tuple[Array, Array]:
    """How likely each target token comes from each source token, given all others, (B, T, S); and how often each jump
    was made.

    likely (B, T, S): how likely a source token becomes a target token; lengths (B,): how many target tokens are real
    """
    rows, steps, places = likely.shape
    width = _jump_of(places)  # (S, S)
    moves = _moves(jumps[width])  # (2S, 2S)
    is_real = np.arange(steps) < lengths[:, None]  # (B, T)
    emission = np.concatenate([likely, np.full_like(likely, ANYTHING)], axis=2)  # (B, T, 2S)
    emission[~is_real] = 1.0  # padding carries no evidence
    ahead = np.empty_like(emission)  # (B, T, 2S) given the tokens up to each
    mass = np.empty((rows, steps, 1), likely.dtype)
    now = np.repeat([(1 - NOWHERE) / places, NOWHERE / places], places).astype(likely.dtype) * emission[:, 0]  # (B, 2S)
    for step in range(steps):
        now = now if step == 0 else (now @ moves) * emission[:, step]
        mass[:, step] = np.maximum(now.sum(1, keepdims=True), 1e-30)
        now = ahead[:, step] = now / mass[:, step]
    behind = np.ones_like(now)  # (B, 2S) given the tokens after it
    made = np.zeros_like(moves)
    for step in range(steps - 1, 0, -1):
        before = emission[:, step] * behind / mass[:, step]  # (B, 2S)
        ahead[:, step] *= behind
        made += ahead[:, step - 1].T @ (before * is_real[:, step, None])
        behind = before @ moves.T
    ahead[:, 0] *= behind
    made = (made * moves)[:, :places]  # (2S, S) to a place, from a place or from nowhere beside it
    counts = np.bincount(width.ravel(), (made[:places] + made[places:]).ravel(), minlength=2 * WIDEST + 1)
    return ahead[:, :, :places] * is_real[:, :, None], counts


def _jump_of(places: int) -> Array:
    """The number of the jump from each place to each, (S, S)."""
    here = np.arange(places)
    return np.clip(here[None] - here[:, None], -WIDEST, WIDEST) + WIDEST


def _moves(jumps: Array) -> Array:
    """From each place to each, and to nowhere, which keeps the place: (S, S) -> (2S, 2S), rows sum to 1."""
    there = (1 - NOWHERE) * jumps / jumps.sum(1, keepdims=True)
    return np.tile(np.concatenate([there, NOWHERE * np.eye(len(jumps), dtype=jumps.dtype)], axis=1), (2, 1))
