"""What a writer does with torch: its network is read, samples, and predicts given texts."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from torch import nn

from regard.data.running import encode_stream
from regard.decoding.sample import sample
from regard.decoding.settings import Sampling
from regard.engines.described import WRITERS
from regard.engines.network import read_network
from regard.engines.score import stream_loss
from regard.engines.stored import choose_layout
from regard.engines.torch import TextStep
from regard.errors import ConfigError
from regard.folder import ModelFolder
from regard.look.cancel import check_cancelled
from regard.look.inspection import TokenScore
from regard.look.trace import as_batch, score_tokens
from regard.model.transformer import CausalLM
from regard.text.given import given_texts
from regard.text.readers.rows import Choice
from regard.text.running import read_documents
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.families.write.pipeline import Writer

TOGETHER = 128  # tokens whose probabilities are computed at a time: each takes a row of the whole vocabulary


def read(folder: ModelFolder, tokenizer: Tokenizer) -> nn.Module:
    """The network in a writer's folder."""
    return read_network(folder, tokenizer, choose_layout(folder, WRITERS), lambda config, _: CausalLM(config))


def sample_ids(writer: Writer, prompt: list[int], sampling: Sampling, seed: int | None) -> Iterator[int]:
    """Ids after a prompt until the end of the text."""
    step = TextStep(writer.model, torch.tensor([prompt], device=writer.device), writer.generation.suppressed)
    generator = torch.Generator().manual_seed(secrets.randbits(31) if seed is None else seed)
    for token in sample(step, step.logits, sampling, generator):
        if token in writer.generation.ends:
            return
        yield token


def score_text(writer: Writer, prompt: list[int], ids: list[int], count: int) -> list[TokenScore]:
    """The probability of each id after a prompt, and `count` alternatives; what is longer than the context is read in
    windows that overlap by half.
    """
    read, window = [*prompt, *ids], writer.model.config.max_positions
    found: list[TokenScore] = []
    for start in range(0, max(1, len(read) - window // 2), max(1, window // 2)):
        part = read[start : start + window]
        new = len(prompt) + len(found) - start  # the first in this part that is not scored yet
        if not 1 <= new < len(part):
            continue
        with torch.inference_mode():
            hidden = writer.model(as_batch(writer.model, part))[0, new - 1 : -1]  # (new, D)
            for first in range(0, len(hidden), TOGETHER):
                check_cancelled()
                places = range(new + first, min(len(part), new + first + TOGETHER))
                logits = writer.model.logits(hidden[first : first + TOGETHER])  # (.., V)
                found += score_tokens(logits, part[places.start : places.stop], places, writer.tokenizer)
    return [one._replace(alternatives=one.alternatives[:count]) for one in found]


def evaluate(
    writer: Writer, files: Sequence[str | Path], stride: int | None, wanted: Choice | str | None
) -> dict[str, float | str | int]:
    """Perplexity per token and bits per byte of all files."""
    texts = read_documents(given_texts(files, wanted))
    window = writer.model.config.max_positions
    stride = stride or max(1, window // 2)
    if not 1 <= stride <= window:
        raise ConfigError(f"stride={stride}, but the model sees {window} tokens; it must be from 1 to {window}")
    stream = encode_stream(texts, writer.tokenizer)
    nats, size = stream_loss(writer.model, stream, stride, lambda: None), sum(len(t.encode()) for t in texts)
    loss = nats / (len(stream) - 1)
    unknown = writer.tokenizer.id_of("<unk>")
    return {
        "loss": loss,
        "perplexity": math.exp(loss),
        "bits_per_byte": nats / math.log(2) / size,
        "tokens": len(stream) - 1,
        "bytes": size,
        "unknown_tokens": 0 if unknown is None else int((stream == unknown).sum()),
        "signature": f"window {window}, stride {stride}, ends of documents counted",
    }
