"""translate: pairs of texts -> EncoderDecoder -> BLEU and chrF.

Top to bottom: what is read, what follows from its size, how it is prepared, built, scored and packed.
Using a trained translator is in `translator.py`. torch is only imported by the functions that compute with it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import compress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.config import ModelConfig, RunConfig, Settings
from regard.errors import ConfigError, CorpusError
from regard.folder import Content
from regard.generate.settings import Search
from regard.tasks.task import TRANSFORMER, Check, Corpus, Prepared, Task, encode_json, name_files, weights_file
from regard.text.corpus import LeftOut, Pair, PairFiles, fingerprint, guess_languages, read_pairs
from regard.text.score import score_translations
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import choose_vocab_size, learn_pairs
from regard.use.translator import Translator

if TYPE_CHECKING:
    from torch import Tensor, nn

    from regard.data.batch import PairBatch
    from regard.data.tokens import EncodedPairs

MOST_TRANSLATED = 500  # pairs; the loss is over all of them
SAMPLES = 3
KINDS: dict[str, Settings] = {"transformer": {}}

# The dial. tiny is the shape that did best on 29,000 pairs of captions (Transformer-Tiny, 2.6 M weights);
# base and big are the paper's.
SIZES: dict[str, Settings] = {
    "tiny": {"model": {"layers": 4, "width": 128, "inner": 256, "heads": 4}},
    "small": {"model": {"layers": 4, "width": 256, "inner": 1024, "heads": 4}},
    "base": {"model": {"layers": 6, "width": 512, "inner": 2048, "heads": 8}},
    "big": {"model": {"layers": 6, "width": 1024, "inner": 4096, "heads": 16}},
}

CHUNK = 1000  # texts that are encoded between two checks whether to stop


def gather(
    source: str | Path,
    target: str | Path | None = None,
    *,
    valid_source: str | Path | None = None,
    valid_target: str | Path | None = None,
    columns: tuple[int, int] = (1, 2),
    keys: tuple[str, str] | None = None,
) -> tuple[PairFiles, PairFiles | None]:
    """The files of pairs to learn from, and to validate on if they are given."""
    files = PairFiles.of(source, target, columns, keys)
    if valid_target and not valid_source:
        raise ConfigError(f"validation target {valid_target} was given without its source; give both files")
    if not valid_source:
        return files, None
    return files, PairFiles.of(valid_source, valid_target, columns, keys)


def read(files: PairFiles, valid_files: PairFiles | None, config: RunConfig) -> Corpus:
    """All pairs; without files to validate on, some are held out, the same ones every time."""
    pairs, left_out = read_pairs(files)
    roles = dict(zip(("source", "target"), files.paths, strict=False))
    if valid_files is not None:
        valid, _ = read_pairs(valid_files)
        roles |= dict(zip(("valid_source", "valid_target"), valid_files.paths, strict=False))
    else:
        pairs, valid = hold_out(pairs, config.train.held_out or default_held_out(len(pairs)), config.seed)
    source_language, target_language = guess_languages(files)
    return Corpus(
        pairs,
        valid,
        left_out,
        fingerprints={role: fingerprint(path) for role, path in roles.items()},
        files=name_files(roles),
        facts={"source_language": source_language, "target_language": target_language},
    )


def hold_out(pairs: list[Pair], count: int, seed: int) -> tuple[list[Pair], list[Pair]]:
    """Splits off about `count` pairs; equal sources stay on one side, so that nothing held out was learned from."""
    sources = sorted({pair.source for pair in pairs})
    if len(sources) < 2:
        raise CorpusError(
            f"there is only {len(sources)} distinct source text; at least 2 are needed, one of them to validate on"
        )
    copies: dict[str, int] = {}
    for pair in pairs:
        copies[pair.source] = copies.get(pair.source, 0) + 1
    random.Random(seed).shuffle(sources)
    chosen: set[str] = set()
    held = 0
    for source in sources[:-1]:  # one at least is left to learn from
        if held >= count:
            break
        chosen.add(source)
        held += copies[source]
    return [p for p in pairs if p.source not in chosen], [p for p in pairs if p.source in chosen]


def default_held_out(pairs: int) -> int:
    """One in twenty, at most a thousand."""
    return min(1000, max(1, pairs // 20))


def defaults(corpus: Corpus, kind: str) -> Settings:
    """Shape, vocabulary and regularisation by the size of the corpus in running words."""
    words = sum(max(len(t.split()), len(t) // 6) for pair in corpus.train for t in (pair.source, pair.target))
    size, dropout = next((size, dropout) for limit, size, dropout in TABLE if words < limit)
    return {
        "size": size,
        **corpus.facts,
        "text": {"vocab_size": choose_vocab_size(words)},
        "model": {"dropout": dropout},
    }


# Running words below which a size and a dropout are taken.
TABLE = ((2_000_000, "tiny", 0.1), (20_000_000, "small", 0.1), (float("inf"), "base", 0.1))


def learn(corpus: Corpus, config: RunConfig, check: Check) -> Tokenizer:
    """One vocabulary for both languages, from the training text alone."""

    def texts() -> Iterator[str]:
        for number, pair in enumerate(corpus.train):
            if number % CHUNK == 0:
                check()
            yield pair.source
            yield pair.target

    assert config.text.vocab_size is not None
    return learn_pairs(texts(), config.text.vocab_size)


def prepare(corpus: Corpus, tokenizer: Tokenizer, config: RunConfig, check: Check) -> Prepared:
    """Pairs as ids, in batches of like length; pairs with an over-long side are left out and counted."""
    from regard.data.collate import collate_pairs
    from regard.data.loader import Loader

    limit, budget = config.text.max_length, config.train.tokens_per_batch
    pairs, too_long = encode_pairs(corpus.train, tokenizer, limit, check)
    valid, too_long_valid = encode_pairs(corpus.valid, tokenizer, limit, check)
    loader = Loader([pairs.sources.lengths, pairs.targets.lengths], budget, config.seed)

    def batches(position: int) -> Iterator[PairBatch]:
        ids = pairs.sources, pairs.targets
        return (collate_pairs(*ids, indexes, tokenizer.pad_id) for indexes in loader.batches(position))

    facts = {
        "pairs": len(pairs.sources),
        "held_out_pairs": len(valid.sources),
        "tokens": int(pairs.sources.lengths.sum() + pairs.targets.lengths.sum()),
        "longest_source": int(pairs.sources.lengths.max()),
    }
    judge = Judge(valid, tokenizer, budget)
    left_out = [*corpus.left_out, *too_long, *too_long_valid]
    return Prepared(batches, len(loader), judge.score, judge.signature, left_out, facts)


def encode_pairs(
    pairs: list[Pair], tokenizer: Tokenizer, limit: int, check: Check
) -> tuple[EncodedPairs, list[LeftOut]]:
    """The pairs whose sides both have at most `limit` tokens, as ids; and those left out."""
    from regard.data.tokens import EncodedPairs, TokenLists

    ids: list[list[list[int]]] = [[], []]  # of the sources, of the targets
    for start in range(0, len(pairs), CHUNK):
        check()
        for side, texts in enumerate(zip(*((p.source, p.target) for p in pairs[start : start + CHUNK]), strict=True)):
            ids[side] += tokenizer.encode_all(texts)
    fits = [max(map(len, sides)) <= limit for sides in zip(*ids, strict=True)]
    if not any(fits):
        raise CorpusError(f"every pair has more than {limit} tokens on a side; raise --set text.max_length={2 * limit}")
    sources, targets = (TokenLists.of(compress(side, fits)) for side in ids)
    encoded = EncodedPairs(sources, targets, [(pair.source, pair.target) for pair in compress(pairs, fits)])
    if all(fits):
        return encoded, []
    first = pairs[fits.index(False)]
    return encoded, [LeftOut(f"longer than {limit} tokens", fits.count(False), f"line {first.line}")]


class Judge:
    """Held-out pairs, and how to score with them."""

    def __init__(self, pairs: EncodedPairs, tokenizer: Tokenizer, tokens_per_batch: int) -> None:
        from regard.data.loader import Loader

        self._pairs, self._tokenizer = pairs, tokenizer
        self._order = Loader([pairs.sources.lengths, pairs.targets.lengths], tokens_per_batch, seed=0).epoch(0)
        self._sources = [pairs.sources[i].tolist() for i in range(min(MOST_TRANSLATED, len(pairs.sources)))]
        self._references = [target for _, target in pairs.texts[: len(self._sources)]]
        self.signature = (
            f"greedy translations of {len(self._references)} held-out pairs, "
            f"sacrebleu {score_translations(self._references, self._references).signature}"
        )

    def score(self, model: Any, check: Check) -> tuple[dict[str, float], list[tuple[str, ...]]]:
        """BLEU, which training goes by, the other scores, and samples: (source, translation, reference)."""
        texts = self._translate(model, check)
        scores = score_translations(texts, self._references)
        named = {"bleu": scores.bleu, "chrf": scores.chrf, "exact": scores.exact, "loss": self._loss(model, check)}
        shown = zip(self._pairs.texts[:SAMPLES], texts, strict=False)
        return named, [(source, text, reference) for (source, reference), text in shown]

    def _translate(self, model: Any, check: Check) -> list[str]:
        from regard.engine.native import translate_ids

        limits = [int(1.5 * len(ids)) + 10 for ids in self._sources]  # young models find no end: wait less long for it
        found = translate_ids(model, self._sources, limits, self._tokenizer.end_id, Search(), check)
        return [self._tokenizer.decode(best[0].ids) for best in found]

    def _loss(self, model: Any, check: Check) -> float:
        import torch

        from regard.data.collate import collate_pairs

        pad_id, device = self._tokenizer.pad_id, next(model.parameters()).device
        total, count = 0.0, 0
        model.eval()
        with torch.inference_mode():
            for indexes in self._order:
                check()
                batch = collate_pairs(self._pairs.sources, self._pairs.targets, indexes, pad_id).to(device)
                hidden = model(batch.source, batch.target)  # (B, T, D)
                summed, labels = _real_loss(model, hidden, batch.labels)
                total, count = total + summed.item(), count + labels
        return total / count


def build(model: ModelConfig, tokenizer: Tokenizer) -> nn.Module:
    """A network with fresh weights."""
    from regard.model.transformer import EncoderDecoder

    return EncoderDecoder(model, tokenizer.pad_id)


def loss(config: RunConfig) -> Callable[[Any, PairBatch], tuple[Tensor, int]]:
    """What training makes smaller: cross-entropy of the translation, label-smoothed."""

    def pair_loss(model: Any, batch: PairBatch) -> tuple[Tensor, int]:
        hidden = model(batch.source, batch.target)  # (B, T, D)
        return _real_loss(model, hidden, batch.labels, config.train.smoothing)

    return pair_loss


def _real_loss(model: Any, hidden: Tensor, labels: Tensor, smoothing: float = 0.0) -> tuple[Tensor, int]:
    """Loss of the labels (B, T) that are not padding, which is the last id and never a choice. hidden (B, T, D)"""
    from regard.trainer.loss import token_loss

    table = model.embedding.table.weight  # (V, D)
    assert model.pad_id == len(table) - 1, "padding is the last id"
    is_real = labels != model.pad_id  # (B, T)
    return token_loss(hidden[is_real], labels[is_real], table[:-1], smoothing=smoothing)


def pack(model: ModelConfig, weights: dict[str, Tensor], tokenizer: Tokenizer) -> dict[str, Content]:
    """The files of a translator, in Hugging Face layout."""
    from regard.interop import marian
    from regard.interop.tokenizers import tokenizer_config

    end, pad = tokenizer.end_id, tokenizer.pad_id
    about_text = tokenizer_config(model.max_positions, eos_token="</s>", unk_token="<unk>", pad_token="<pad>")
    return {
        "config.json": encode_json(marian.export_config(model, end, pad)),
        "generation_config.json": encode_json(marian.generation_config(end, pad, Translator.BEAM, model.max_positions)),
        "tokenizer.json": tokenizer.dump(),
        "tokenizer_config.json": encode_json(about_text),
        "model.safetensors": weights_file(marian.export_weights(weights, pad)),
    }


TRANSLATE = Task(
    name="translate",
    unit="pairs",
    shape=TRANSFORMER,
    kinds=KINDS,
    sizes=SIZES,
    gather=gather,
    read=read,
    defaults=defaults,
    learn=learn,
    prepare=prepare,
    build=build,
    loss=loss,
    pack=pack,
    open=Translator.open,
)
