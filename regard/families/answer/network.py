"""What an answerer does with torch: its network is read, and runs over stories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from regard.data.stories import encode_stories, story_batches
from regard.engines.network import read_network
from regard.engines.stored import choose_layout
from regard.folder import ModelFolder
from regard.formats import own
from regard.model.capture import record_attention
from regard.model.story import build_network
from regard.text.stories import Story
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.families.answer.pipeline import Answerer


def read(folder: ModelFolder, tokenizer: Tokenizer) -> nn.Module:
    """The network in an answerer's folder."""
    layout = choose_layout(folder, {"regard-answer": own})
    return read_network(folder, tokenizer, layout, lambda config, t: build_network(config, t.pad_id))


def run(answerer: Answerer, stories: Sequence[Story]) -> Iterator[tuple[Tensor, Tensor]]:
    """Of each batch: the probability of every answer (B, V), each hop's weight of each sentence (B, hops, M)."""
    for batch in story_batches(encode_stories(stories, answerer.tokenizer), answerer.tokenizer.pad_id):
        with torch.inference_mode(), record_attention(answerer.model) as recorded:
            here = batch.to(answerer.device)
            probabilities = answerer.model(here.sentences, here.ages, here.questions)[0].softmax(dim=-1)  # (B, V)
        hops = [weights[-1].mean(dim=1) for name, weights in recorded.items() if weights and name.startswith("hops.")]
        yield probabilities, torch.stack(hops, dim=1)
