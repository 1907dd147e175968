"""What an encoder and a decoder do with torch: their networks are read, and run."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from typing import TYPE_CHECKING

import torch
from torch import Tensor, nn

from regard.config import ModelConfig
from regard.engines.layout import group
from regard.engines.network import build_empty, fill, read_network, shapes_of
from regard.engines.stored import read_shape
from regard.engines.torch import few_threads
from regard.engines.weights import list_for, read_for
from regard.errors import FolderError
from regard.folder import ModelFolder
from regard.formats import bert, bert_generation
from regard.machine import count_cores
from regard.model.taps import POINTS
from regard.model.transformer import TextDecoder, TextEncoder
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from regard.families.encode.embedding import Embeds

TOKENS_ON_CPU, TOKENS_ELSEWHERE = 1024, 4096  # of a batch
FEW = 256  # tokens, up to which several threads would only wait for each other at every product
WITHOUT_TOKEN_TYPES = {"kind": "bert-generation", "token_types": 0}
Read = tuple[nn.Module, list[str], list[str]]  # a network, weights that had no place in it, weights that are fresh


def read_encoder(folder: ModelFolder, tokenizer: Tokenizer) -> Read:
    """The encoder in a folder."""
    if folder.info.part:
        config = read_shape(folder, bert.import_config)
        if folder.info.architecture == "BertGenerationEncoder":
            config = config.model_copy(update=WITHOUT_TOKEN_TYPES)
        return _read_part(folder, config, lambda: TextEncoder(config, tokenizer.pad_id))
    layout = bert_generation.ENCODER if folder.config.get("model_type") == "bert-generation" else bert
    return read_network(folder, tokenizer, layout, lambda config, t: TextEncoder(config, t.pad_id)), [], []


def read_decoder(folder: ModelFolder, tokenizer: Tokenizer) -> Read:
    """The decoder in a folder; of a plain BERT, with fresh cross-attention."""
    if folder.info.part:
        plain = read_shape(folder, bert.import_config)
        if not plain.tie_embeddings:
            raise FolderError(f"{folder.folder} has an output table of its own (tie_word_embeddings is false in "
                              f"config.json), which a decoder has not")  # fmt: skip
        config = plain.model_copy(update=WITHOUT_TOKEN_TYPES)
        return _read_part(folder, config, lambda: TextDecoder(config, tokenizer.pad_id))
    layout = bert_generation.DECODER
    return read_network(folder, tokenizer, layout, lambda config, t: TextDecoder(config, t.pad_id)), [], []


def _read_part(folder: ModelFolder, config: ModelConfig, build: Callable[[], nn.Module]) -> Read:
    """A network with what a plain BERT has for it; the rest is initialized, the same every time."""
    shapes = shapes_of(build_empty(build))
    found, dropped, new = bert_generation.load_partial(read_for(folder, list_for(folder, config), shapes), shapes)
    if missing := [name for name in new if ".cross_" not in name and name != "bias"]:
        raise FolderError(f"{folder.folder}: weights do not fit config.json: {', '.join(missing[:5])} missing")
    with torch.random.fork_rng(devices=[]):  # the caller's random numbers are left alone
        torch.manual_seed(0)
        fresh = build()
    return fill(fresh, found, strict=False), dropped, new


def encode(encoder: Embeds, rows: list[list[int]]) -> Tensor:
    """The vector of each row of ids, (N, D)."""
    pad, model, kind = encoder.tokenizer.pad_id, encoder.model, encoder.device.type
    vectors = torch.empty(len(rows), model.config.width)

    def run(indexes: list[int]) -> None:
        longest = len(rows[indexes[0]])
        padded = [rows[i] + [pad] * (longest - len(rows[i])) for i in indexes]
        with torch.inference_mode():
            ids = torch.tensor(padded, device=encoder.device)  # (B, T)
            pooled = _pool(model(ids), ids != pad, encoder.pooling)
            vectors[indexes] = (nn.functional.normalize(pooled, dim=-1) if encoder.is_normed else pooled).cpu()

    groups = group([len(ids) for ids in rows], TOKENS_ON_CPU if kind == "cpu" else TOKENS_ELSEWHERE)
    # Batches side by side, a thread each, are faster than one after another with all threads; a recording is of one.
    workers = 1 if kind != "cpu" or any(point.is_open for point in POINTS) else min(count_cores(), len(groups))
    is_small = kind == "cpu" and sum(map(len, rows)) <= FEW
    with few_threads(1) if workers > 1 or is_small else nullcontext(), ThreadPoolExecutor(max(1, workers)) as pool:
        for _ in pool.map(run, groups) if workers > 1 else map(run, groups):
            pass
    return vectors


def _pool(hidden: Tensor, is_real: Tensor, pooling: str) -> Tensor:
    """hidden (B, T, D), is_real (B, T) -> (B, D)"""
    if pooling == "cls":
        return hidden[:, 0]
    return (hidden * is_real[..., None]).sum(1) / is_real.sum(1, keepdim=True)


@torch.inference_mode()
def decode(model: TextDecoder, ids: Tensor, memory: Tensor, memory_may_attend: Tensor | None) -> Tensor:
    """ids (B, T), memory (B, S, D) -> logits (B, T, V)."""
    return model.logits(model(ids, memory, memory_may_attend))
