"""Runs a model over held-out ids and adds up how well it does. Knows ids, not text."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor

from regard.data.batch import StoryBatch, TextBatch
from regard.model.loss import token_loss
from regard.model.transformer import CausalLM, MaskedLM

TOKENS_PER_BATCH = 8192


def windows(tokens: int, window: int, stride: int) -> list[tuple[int, int, int]]:
    """(start, end, new) of each window over tokens 0 … `tokens`: it reads start … end and predicts what follows each;
    of those, the last `new` were not predicted by an earlier window. Each token but the first is new exactly once.
    """
    found: list[tuple[int, int, int]] = []
    done = 0
    while done < tokens:
        end = min(tokens, window if not found else done + stride)
        found.append((max(0, end - window), end, end - done))
        done = end
    return found


@torch.inference_mode()
def stream_loss(model: CausalLM, stream: Tensor, stride: int, between_batches: Callable[[], None]) -> float:
    """Cross-entropy in nats, summed over all tokens of a stream (N + 1,) but the first.

    The model sees a window of its full length that moves on by `stride`: each token is predicted once, and those after
    the first window from at least window - stride tokens before it.
    """
    model.eval()
    device, window = next(model.parameters()).device, model.config.max_positions
    places = windows(len(stream) - 1, window, stride)
    rows = max(1, TOKENS_PER_BATCH // window)
    total = 0.0
    for first in range(0, len(places), rows):
        between_batches()
        group = places[first : first + rows]
        for size in sorted({end - start for start, end, _ in group}):  # all alike, unless the text is short
            chosen = [place for place in group if place[1] - place[0] == size]
            ids = torch.stack([stream[start:end] for start, end, _ in chosen]).long().to(device)  # (B, T)
            labels = torch.stack([stream[start + 1 : end + 1] for start, end, _ in chosen]).long().to(device)  # (B, T)
            fresh = torch.tensor([[new] for *_, new in chosen], device=device)  # (B, 1)
            is_new = torch.arange(size, device=device) >= size - fresh  # (B, T)
            hidden = model(ids)  # (B, T, D)
            summed, _ = token_loss(hidden[is_new], labels[is_new], model.table)
            total += summed.item()
    return total


@torch.inference_mode()
def score_masked(
    model: MaskedLM, batches: Iterable[TextBatch], between_batches: Callable[[], None]
) -> tuple[float, float, int]:
    """Accuracy on masked tokens, their cross-entropy in nats per token, and how many there were."""
    model.eval()
    device = next(model.parameters()).device
    right, total, count = 0, 0.0, 0
    for batch in batches:
        between_batches()
        here = batch.to(device)
        assert here.is_label is not None
        logits = model.logits(model(here.ids)[here.is_label])  # (N, V)
        labels = here.labels[here.is_label]  # (N,)
        right += int((logits.argmax(-1) == labels).sum())
        total += torch.nn.functional.cross_entropy(logits, labels, reduction="sum").item()
        count += len(labels)
    return right / count, total / count, count


@torch.inference_mode()
def answer_all(
    model: torch.nn.Module, batches: Iterable[StoryBatch], between_batches: Callable[[], None]
) -> tuple[Tensor, Tensor]:
    """Share of questions answered right and cross-entropy in nats per question, of each network that is trained side
    by side: (R,), (R,).
    """
    model.eval()
    device = next(model.parameters()).device
    right, total, count = torch.zeros(()), torch.zeros(()), 0
    for batch in batches:
        between_batches()
        here = batch.to(device)
        logits = model(here.sentences, here.ages, here.questions)  # (R, B, V)
        log_probs = logits.log_softmax(dim=-1)  # (R, B, V)
        truth = here.answers.expand(len(logits), -1)  # (R, B)
        right = right + (logits.argmax(-1) == truth).sum(dim=1).cpu()
        total = total - log_probs.gather(2, truth[..., None]).sum(dim=(1, 2)).cpu()
        count += len(here.answers)
    return right / count, total / count


@torch.inference_mode()
def find_logits(model: Any, batches: Iterable[StoryBatch], between_batches: Callable[[], None]) -> Tensor:
    """The logits of all answers, of each network that is trained side by side: (R, questions, V)."""
    model.eval()
    device = next(model.parameters()).device
    found = []
    for batch in batches:
        between_batches()
        here = batch.to(device)
        found.append(model(here.sentences, here.ages, here.questions).cpu())  # (R, B, V)
    return torch.cat(found, dim=1) if found else torch.zeros(model.config.restarts, 0, model.config.vocab_size)
