"""What a model is trained on in one go."""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class PairBatch:
    """Texts and their translations, as rows of ids."""

    source: Tensor  # (B, S) padded
    target: Tensor  # (B, T) what the decoder reads: start, then all but the last token of `labels`
    labels: Tensor  # (B, T) what it should say at each place, the end included; padded
    tokens: int  # source and target tokens that are not padding

    def to(self, device: torch.device) -> "PairBatch":
        """The same batch on a device."""
        if device.type == self.source.device.type:
            return self
        source, target, labels = (t.to(device, non_blocking=True) for t in (self.source, self.target, self.labels))
        return PairBatch(source, target, labels, self.tokens)


@dataclass(frozen=True)
class TextBatch:
    """Rows of text, and what should be said where: what follows (write), or what was hidden (fill)."""

    ids: Tensor  # (B, T) what the model reads; padded
    labels: Tensor  # (B, T) what it should say
    is_label: Tensor | None  # (B, T) at which places; None: at all of them
    tokens: int  # that are not padding

    def label_places(self) -> tuple[Tensor, Tensor]:
        """Where something should be said, as places (B, N) and whether each is real: rows have unequal numbers."""
        assert self.is_label is not None, "all places are meant"
        most = int(self.is_label.sum(dim=1).max())
        places = self.is_label.to(torch.uint8).argsort(dim=1, descending=True, stable=True)[:, :most]  # (B, N)
        return places, self.is_label.gather(1, places)

    def to(self, device: torch.device) -> "TextBatch":
        """The same batch on a device."""
        if device.type == self.ids.device.type:
            return self
        ids, labels = (t.to(device, non_blocking=True) for t in (self.ids, self.labels))
        is_label = None if self.is_label is None else self.is_label.to(device, non_blocking=True)
        return TextBatch(ids, labels, is_label, self.tokens)


@dataclass(frozen=True)
class StoryBatch:
    """Stories, a question about each, and its answer."""

    sentences: Tensor  # (B, M, L) words, oldest sentence first; padded with empty sentences
    ages: Tensor  # (B, M) how many sentences ago; the newest has the smallest
    questions: Tensor  # (B, Q) padded
    answers: Tensor  # (B,)
    tokens: int  # words that are not padding
    is_linear: bool = False  # whether attention is to go without softmax

    def to(self, device: torch.device) -> "StoryBatch":
        """The same batch on a device."""
        if device.type == self.sentences.device.type:
            return self
        parts = self.sentences, self.ages, self.questions, self.answers
        sentences, ages, questions, answers = (t.to(device, non_blocking=True) for t in parts)
        return StoryBatch(sentences, ages, questions, answers, self.tokens, self.is_linear)
