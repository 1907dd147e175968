"""fill: lines of text -> MaskedLM -> accuracy on masked tokens.

Top to bottom: what is read, what follows from its size, how it is prepared, built, scored and packed.
Using a trained filler is in `families/fill/pipeline.py`, masking tokens in `data/masking.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.config import ModelConfig, RunConfig, Settings
from regard.data.batch import TextBatch
from regard.data.collate import collate_masked
from regard.data.loader import Loader
from regard.data.masking import cut_texts, encode_texts, make_masking, masked_batches
from regard.data.tokens import Array, TokenLists
from regard.data.tokens import pack as pack_lists
from regard.device import derive_seed
from regard.engines.score import score_masked
from regard.errors import ConfigError
from regard.families import FAMILIES
from regard.families.fill.settings import KINDS, ROWS, SIZES, USES
from regard.families.table import choose, count_words
from regard.families.texts import corpus_of, gather_texts
from regard.folder import Content
from regard.formats import bert, own
from regard.formats.tokenizers import bert_roles, tokenizer_config
from regard.look.heads import TEXTS, score_text_heads
from regard.look.snapshot import MOST_TOKENS, PROBES, snapshot_texts
from regard.look.trace import as_batch
from regard.model.loss import token_loss
from regard.model.transformer import MaskedLM
from regard.text.given import each_line, read_texts
from regard.text.running import TextFiles
from regard.text.stream import StreamedExamples
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import learn_masked, learn_wordpieces
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


def read(files: TextFiles, valid_files: TextFiles | None, config: RunConfig) -> Corpus:
    """All lines; without text to validate on, some of them are held out, the same every time."""
    lines = StreamedExamples(
        read=lambda: each_line(files),
        key=lambda line: line,
        words=lambda line: count_words([line]),
        held_out=lambda count: config.train.held_out or min(2000, max(1, count // 20)),
        seed=config.seed,
        valid=read_texts(valid_files) if valid_files else None,
    )
    return corpus_of("text", files, valid_files, lines)


def defaults(corpus: Corpus, kind: str, minutes: float | None) -> Settings:
    """Shape and vocabulary by the size of the text in running words."""
    return choose(ROWS, corpus.examples.words, minutes)


def learn(corpus: Corpus, config: RunConfig, check: Check) -> Tokenizer:
    """The vocabulary, from the training text alone."""

    def lines() -> Iterator[str]:
        for number, line in enumerate(corpus.examples.sample):
            if number % 1000 == 0:
                check()
            yield line

    assert config.text.vocab_size is not None
    match config.text.tokenizer:
        case "wordpiece":
            return learn_wordpieces(lines(), config.text.vocab_size, lowercase=config.text.lowercase)
        case "bpe":
            return learn_masked(lines(), config.text.vocab_size)
    raise ConfigError(f"text.tokenizer={config.text.tokenizer} is not one of a filler; choose from wordpiece, bpe")


def encode(lines: list[str], tokenizer: Tokenizer, config: RunConfig) -> Encoded:
    """Lines as ids; a line too long for the network is cut into parts."""
    longest = min(config.text.max_length, config.model.max_positions)
    flat, sizes = pack_lists(list(cut_texts(lines, tokenizer, longest)), tokenizer.vocab_size, longest)
    return Encoded({"text.flat": flat, "text.sizes": sizes, "lines": np.array([len(lines)])})


def batches(arrays: dict[str, Array], tokenizer: Tokenizer, config: RunConfig) -> TrainBatches:
    """Batches of lines of like length; other tokens are masked each time a line comes."""
    texts = TokenLists.named("text", arrays)
    loader = Loader([texts.lengths], config.train.share(config.train.tokens_per_batch), config.seed)
    masking = make_masking(tokenizer, config.train.mask_rate, config.train.whole_words)

    def batch(position: int) -> TextBatch:
        seed = derive_seed(config.seed, "hide", position)
        return collate_masked(texts, loader.at(position), tokenizer.pad_id, masking, seed)

    return TrainBatches(batch, len(loader), {"lines": int(arrays["lines"].sum()), "tokens": len(texts.flat)})


def validator(
    lines: list[str], batches: TrainBatches, tokenizer: Tokenizer, config: RunConfig, check: Check
) -> Validator:
    """Accuracy on masked tokens, the same ones every time, and their loss."""
    valid = encode_texts(lines, tokenizer, min(config.text.max_length, config.model.max_positions), check)
    masking = make_masking(tokenizer, config.train.mask_rate, config.train.whole_words)
    held_out = list(masked_batches(valid, tokenizer, masking))

    def score(model: nn.Module, check: Check) -> Validation:
        accuracy, loss, _ = score_masked(model, held_out, check)  # type: ignore[arg-type]
        return Validation({"accuracy": accuracy, "loss": loss})

    def samples(model: nn.Module) -> list[Sample]:
        return [_fill_one(model, tokenizer, valid[number].tolist()) for number in range(min(PROBES, len(valid)))]

    way = "whole words, " if config.train.whole_words else ""
    signature = f"{len(lines)} held-out lines, {config.train.mask_rate:.0%} hidden, {way}80/10/10, seed 0"
    return Validator(score, signature, {"held_out_lines": len(lines)}, samples=samples)


@torch.inference_mode()
def _fill_one(model: Any, tokenizer: Tokenizer, ids: list[int]) -> Sample:
    """A line without the token in its middle, what the model puts there, and what stood there."""
    row = ids[:MOST_TOKENS]
    place = len(row) // 2
    masked = [*row[:place], tokenizer.mask_id, *row[place + 1 :]]
    logits = model.eval().logits(model(as_batch(model, masked))[0, place])  # (V,)
    logits[list(tokenizer.special_ids)] = -torch.inf
    before, after, found, truth = (
        tokenizer.decode(part).strip() for part in (row[:place], row[place + 1 :], [int(logits.argmax())], [row[place]])
    )
    return f"{before} ___ {after}", found, truth


def build(model: ModelConfig, tokenizer: Tokenizer) -> nn.Module:
    """A network with fresh weights."""
    return MaskedLM(model, tokenizer.pad_id)


def loss(config: RunConfig) -> Callable[[Any, TextBatch], tuple[Tensor, int]]:
    """Cross-entropy of the masked tokens. Only they pass the last block and the output layer."""

    def masked_loss(model: Any, batch: TextBatch) -> tuple[Tensor, int]:
        places, is_real = batch.label_places()  # (B, N), (B, N)
        rows = model.transformed(model(batch.ids, wanted=places)[is_real])  # (rows, D)
        labels, table = batch.labels.gather(1, places)[is_real], model.table  # (rows,), (V, D)
        return token_loss(rows, labels, table, bias=model.bias, smoothing=config.train.label_smoothing)

    return masked_loss


def pack(model: ModelConfig, weights: dict[str, Tensor], tokenizer: Tokenizer) -> dict[str, Content]:
    """The files of a filler, in Hugging Face layout; a shape that has no class there says so."""
    config = bert.export_config(model, tokenizer.pad_id)
    if own.describes_fully(bert, config, model):
        exported = bert.export_weights(weights)
    else:
        config, exported = own.export_config(model, "fill"), own.export_weights(weights)
    return {
        "config.json": encode_json(config),
        **tokenizer.files(),
        "tokenizer_config.json": encode_json(
            tokenizer_config(model.max_positions, splits_special=False, **bert_roles(tokenizer))
        ),
        "model.safetensors": weights_file(exported),
    }


def snapshot(model: Any, valid: list[str], tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Its attention on a few held-out lines."""
    longest = model.config.max_positions
    return snapshot_texts(model, tokenizer, [tokenizer.encode(line)[:longest] for line in valid[:PROBES]])


def artifacts(model: Any, arrays: dict[str, Array], valid: list[str], tokenizer: Tokenizer) -> Artifacts:
    """What each head does."""
    texts = [tokenizer.encode(line) for line in valid[:TEXTS]]
    return Artifacts({"head_roles": score_text_heads(model, tokenizer, texts, is_causal=False)})


FILL = Recipe(
    name="fill",
    unit="lines",
    shape=FAMILIES["fill"].shape,
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
    where="regard.families.fill.recipe:FILL",
    artifacts=artifacts,
    snapshot=snapshot,
)
