"""write: running text -> CausalLM -> perplexity and bits per byte.

Top to bottom: what is read, what follows from its size, how it is prepared, built, scored and packed.
Using a trained writer is in `families/write/pipeline.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.config import ModelConfig, RunConfig, Settings
from regard.data.batch import TextBatch
from regard.data.collate import collate_blocks
from regard.data.loader import Blocks
from regard.data.running import encode_lines, encode_stream
from regard.data.tokens import Array
from regard.data.tokens import pack as pack_lists
from regard.decoding.sample import sample
from regard.decoding.settings import Sampling
from regard.engines.score import stream_loss
from regard.engines.torch import TextStep
from regard.errors import ConfigError, CorpusError
from regard.families import FAMILIES
from regard.families.table import choose
from regard.families.texts import corpus_of, gather_texts
from regard.families.write.settings import KINDS, ROWS, SIZES, USES
from regard.folder import Content
from regard.formats import gpt2, llama, own
from regard.formats.tokenizers import tokenizer_config
from regard.look.heads import TEXTS, score_text_heads
from regard.look.snapshot import PROBES, snapshot_texts
from regard.model.loss import token_loss
from regard.model.transformer import CausalLM
from regard.text.running import RunningExamples, TextFiles, read_documents
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import learn_bytes, learn_characters, learn_running
from regard.training.recipe import (
    Artifacts,
    Check,
    Corpus,
    Encoded,
    Recipe,
    Sample,
    TrainBatches,
    Validation,
    Validator,
    encode_json,
    weights_file,
)

MOST_SCORED = 100_000  # tokens of held-out text that are scored while training; `regard evaluate` scores all
SAMPLE, GIVEN = 40, 60  # tokens of a sample, and characters that it continues
PROBED = 200  # characters at most of a text in an attention snapshot


def read(files: TextFiles, valid_files: TextFiles | None, config: RunConfig) -> Corpus:
    """All documents; without text to validate on, some of it is held out, the same every time."""
    valid = read_documents(valid_files) if valid_files else None
    may_be_letters = config.text.tokenizer in (None, "char")  # a writer of characters knows all of its text
    examples = RunningExamples(files, config.seed, valid, with_letters=may_be_letters)
    return corpus_of("text", files, valid_files, examples)


def defaults(corpus: Corpus, kind: str, minutes: float | None) -> Settings:
    """Shape and tokenizer by the size of the text."""
    return choose(ROWS, corpus.examples.words, minutes)


def learn(corpus: Corpus, config: RunConfig, check: Check) -> Tokenizer:
    """The vocabulary, from the training text alone."""
    lines = corpus.examples.sample
    assert config.text.vocab_size is not None
    match config.text.tokenizer:
        case "char":
            return learn_characters(lines)
        case "byte":
            return learn_bytes()
        case "bpe":
            return learn_running(lines, config.text.vocab_size)
    raise ConfigError(f"text.tokenizer={config.text.tokenizer} is not one of a writer; choose from char, byte, bpe")


def encode(lines: list[str | None], tokenizer: Tokenizer, config: RunConfig) -> Encoded:
    """Documents one after another in a stream of tokens, an end between them."""
    stream, _ = pack_lists(encode_lines(lines, tokenizer), tokenizer.vocab_size)
    return Encoded({"stream": stream, "documents": np.array([lines[1:].count(None)])})


def batches(arrays: dict[str, Array], tokenizer: Tokenizer, config: RunConfig) -> TrainBatches:
    """Batches are blocks of the stream."""
    stream, length = arrays["stream"], config.model.max_positions
    if len(stream) <= length:
        raise CorpusError(
            f"there are {len(stream)} tokens to learn from, and a block is {length} of them; give more text, "
            f"or --set model.max_positions={max(8, len(stream) // 4)}"
        )
    blocks = Blocks(
        len(stream), length, max(1, config.train.share(config.train.tokens_per_batch) // length), config.seed
    )

    def batch(position: int) -> TextBatch:
        return collate_blocks(stream, blocks.at(position), length)

    return TrainBatches(batch, len(blocks), {"documents": int(arrays["documents"].sum()), "tokens": len(stream)})


def validator(
    texts: list[str], batches: TrainBatches, tokenizer: Tokenizer, config: RunConfig, check: Check
) -> Validator:
    """Bits per byte, which training goes by, and the loss it comes from."""
    valid, length = encode_stream(texts, tokenizer, check), config.model.max_positions
    scored = valid[: MOST_SCORED + 1]
    scored_bytes = max(1, len(tokenizer.decode(scored[1:].tolist()).encode()))

    def score(model: nn.Module, check: Check) -> Validation:
        nats = stream_loss(model, scored, length, check)  # type: ignore[arg-type]
        loss = nats / (len(scored) - 1)
        scores = {"bits_per_byte": nats / math.log(2) / scored_bytes, "loss": loss, "perplexity": math.exp(loss)}
        return Validation(scores)

    def samples(model: nn.Module) -> list[Sample]:
        beginnings = [text for text in texts if len(text) > GIVEN][:1]
        return [_continue(model, tokenizer, text) for text in ("", *beginnings)]

    signature = f"{len(scored) - 1} held-out tokens, windows of {length} that do not overlap"
    facts = {"held_out_tokens": len(valid) - 1}
    return Validator(score, signature, facts, lower_is_better=True, samples=samples)


def _continue(model: Any, tokenizer: Tokenizer, text: str) -> Sample:
    """The beginning of a text, how the model continues it, the same draw every time, and how the text does."""
    given, rest = text[:GIVEN], text[GIVEN : 3 * GIVEN]
    start = [tokenizer.end_id, *tokenizer.encode_part(given)]
    step = TextStep(model.eval(), torch.tensor([start], device=next(model.parameters()).device))
    ids = sample(step, step.logits, Sampling(), torch.Generator().manual_seed(0))
    return given, tokenizer.decode(list(islice(ids, SAMPLE))), rest


def build(model: ModelConfig, tokenizer: Tokenizer) -> nn.Module:
    """A network with fresh weights."""
    return CausalLM(model)


def loss(config: RunConfig) -> Callable[[Any, TextBatch], tuple[Tensor, int]]:
    """What training makes smaller: cross-entropy of the next token, at every place at once."""

    def next_loss(model: Any, batch: TextBatch) -> tuple[Tensor, int]:
        hidden = model(batch.ids)  # (B, T, D)
        return token_loss(
            hidden.flatten(0, 1), batch.labels.flatten(), model.table, smoothing=config.train.label_smoothing
        )

    return next_loss


def pack(model: ModelConfig, weights: dict[str, Tensor], tokenizer: Tokenizer) -> dict[str, Content]:
    """The files of a writer, in Hugging Face layout; a shape that has no class there says so."""
    begin, end = tokenizer.begin_id, tokenizer.end_id
    tokenizer.opened_by(begin)  # as every text was while it learned
    for layout in (gpt2, llama):
        config = layout.export_config(model, end) | {"bos_token_id": begin}
        if own.describes_fully(layout, config, model):
            exported = layout.export_weights(weights)
            break
    else:
        config, exported = own.export_config(model, "write"), own.export_weights(weights)
    return {
        "config.json": encode_json(config),
        "generation_config.json": encode_json({"bos_token_id": begin, "eos_token_id": end, "do_sample": True}),
        **tokenizer.files(),
        "tokenizer_config.json": encode_json(
            tokenizer_config(model.max_positions, bos_token=tokenizer.pieces[begin], eos_token=tokenizer.pieces[end])
        ),
        "model.safetensors": weights_file(exported),
    }


def snapshot(model: Any, valid: list[str], tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Its attention on the beginning of a few held-out texts."""
    longest = model.config.max_positions
    texts = [[tokenizer.begin_id, *tokenizer.encode_part(text[:PROBED])] for text in valid[:PROBES]]
    return snapshot_texts(model, tokenizer, [ids[:longest] for ids in texts])


def artifacts(model: Any, arrays: dict[str, Array], valid: list[str], tokenizer: Tokenizer) -> Artifacts:
    """What each head does."""
    parts = (text[start : start + PROBED] for text in valid for start in range(0, len(text), PROBED))
    texts = [[tokenizer.begin_id, *tokenizer.encode_part(part)] for part in islice(parts, TEXTS)]
    return Artifacts({"head_roles": score_text_heads(model, tokenizer, texts, is_causal=True)})


WRITE = Recipe(
    name="write",
    unit="documents",
    shape=FAMILIES["write"].shape,
    kinds=KINDS,
    sizes=SIZES,
    uses=USES,
    gather=gather_texts,
    read=read,
    defaults=defaults,
    learn=learn,
    encode=encode,
    batches=batches,
    validator=validator,
    build=build,
    loss=loss,
    pack=pack,
    where="regard.families.write.recipe:WRITE",
    artifacts=artifacts,
    snapshot=snapshot,
)
