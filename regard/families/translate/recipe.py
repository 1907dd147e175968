"""translate: pairs of texts -> EncoderDecoder -> BLEU and chrF.

Top to bottom: what follows from the size of the text, how it is prepared, built, scored and packed. What is read is in
`reading.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, compress
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from regard.alignment.heads import PAIRS, choose_heads
from regard.alignment.learn import learn_lexicon
from regard.alignment.lexical_table import FILE as LEXICON
from regard.alignment.links import has_letters
from regard.alignment.shortlist import make_shortlist
from regard.config import ModelConfig, RunConfig, Settings, merge
from regard.data.batch import PairBatch
from regard.data.collate import collate_pairs
from regard.data.loader import Loader
from regard.data.tokens import Array, EncodedPairs, TokenLists
from regard.data.tokens import pack as pack_lists
from regard.decoding.settings import BEAM
from regard.engines.cache import SHORTLIST
from regard.errors import ConfigError, CorpusError
from regard.families import FAMILIES
from regard.families.held_out import HeldOutPairs, real_loss
from regard.families.table import choose
from regard.families.translate.network import put_together
from regard.families.translate.reading import compare_languages, gather, read
from regard.families.translate.settings import KINDS, ROWS, SIZES, USES, choose_epochs
from regard.folder import Content
from regard.formats import encoder_decoder, marian, own
from regard.formats.tokenizers import translator_config
from regard.look.heads import score_pair_heads
from regard.look.snapshot import snapshot_pairs
from regard.model.transformer import EncoderAndDecoder, EncoderDecoder
from regard.text.corpus import LeftOut, Pair
from regard.text.sentences import sentences
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import BACK_TRANSLATED, learn_pairs
from regard.training.recipe import (
    Artifacts,
    Check,
    Corpus,
    Encoded,
    Recipe,
    TrainBatches,
    Validator,
    encode_json,
    weights_file,
)

CHUNK = 1000  # texts that are learned from between two checks whether to stop
COUNTED = 400_000  # pairs that the lexicon is counted on
SAMPLED, WITHIN = (
    2000,
    0.9,
)  # sources whose sentences are counted; share of them that has at most so many


def defaults(corpus: Corpus, kind: str, minutes: float | None) -> Settings:
    """Shape, vocabulary and regularisation by the size of the corpus in running words."""
    words = corpus.examples.words
    stop = {"epochs": choose_epochs(words), "patience": 8}
    return merge(corpus.facts | {"stop": stop}, choose(ROWS, words, minutes))


def learn(corpus: Corpus, config: RunConfig, check: Check) -> Tokenizer:
    """One vocabulary for both languages, from the training text alone."""
    if config.model.kind != "transformer":
        raise ConfigError(f"model.kind={config.model.kind} is a translator made of two models; give their folders with "
                          f"--encoder and --decoder, or one that was made of two with --from")  # fmt: skip
    if config.text.tokenizer not in {None, "bpe"}:
        raise ConfigError(f"text.tokenizer={config.text.tokenizer}: a translator reads pieces (bpe); leave it out")

    def texts() -> Iterator[str]:
        for number, pair in enumerate(corpus.examples.sample):
            if number % CHUNK == 0:
                check()
            yield pair.source
            yield pair.target

    assert config.text.vocab_size is not None
    return learn_pairs(texts(), config.text.vocab_size, has_tag=config.back_translated is not None)


def encode(pairs: list[Pair], tokenizer: Tokenizer, config: RunConfig) -> Encoded:
    """Pairs as ids, each source with its target after it; those with an over-long side are left out and counted."""
    lists, kept, left_out = encode_pairs(pairs, tokenizer, config)
    flat, sizes = pack_lists(lists, tokenizer.vocab_size, config.text.max_length)
    arrays = {"pairs.flat": flat, "pairs.sizes": sizes}
    if config.corpus_weights:
        corpora = np.array([pair.corpus for pair in kept], np.int64)
        arrays["pairs.counts"] = np.bincount(corpora, minlength=len(config.corpus_weights))
    return Encoded(arrays, left_out)


def batches(arrays: dict[str, Array], tokenizer: Tokenizer, config: RunConfig) -> TrainBatches:
    """Batches of pairs of like length."""
    pairs = EncodedPairs.named("pairs", arrays)
    if not len(pairs):
        raise all_too_long(config)
    lengths = [pairs.sources.lengths, pairs.targets.lengths]
    loader = Loader(
        lengths, config.train.share(config.train.tokens_per_batch), config.seed, weigh_corpora(arrays, config)
    )

    def batch(position: int) -> PairBatch:
        indexes, start = loader.at(position), config.model.start_id
        return collate_pairs(pairs.sources, pairs.targets, indexes, tokenizer.pad_id, start)

    facts = {
        "pairs": len(pairs), "tokens": len(pairs.sources.flat), "longest_source": int(lengths[0].max()),
        "sentences_per_line": count_sentences(pairs, tokenizer, config),
        "length_ratio": round(int(lengths[1].sum(dtype=np.int64)) / int(lengths[0].sum(dtype=np.int64)), 3),
    }  # fmt: skip
    return TrainBatches(batch, len(loader), facts)


def count_sentences(pairs: EncodedPairs, tokenizer: Tokenizer, config: RunConfig) -> int:
    """How many sentences a source has at most, but for one in ten."""
    sources = pairs.sample(SAMPLED).sources
    texts = [tokenizer.decode(sources[number].tolist()) for number in range(len(sources))]
    counts = sorted(len(sentences(text.strip(), config.source_language)) for text in texts)
    return counts[int(WITHIN * (len(counts) - 1))]


def weigh_corpora(arrays: dict[str, Array], config: RunConfig) -> list[tuple[int, float]]:
    """How many pairs each of several corpora has, and how often an epoch takes each; nothing of one corpus."""
    if not (weights := config.corpus_weights):
        return []
    counts = arrays["pairs.counts"].reshape(-1, len(weights)).sum(0)  # chunks -> corpora
    return [(count, weight) for count, weight in zip(counts.tolist(), weights, strict=True) if count]


def validator(
    pairs: list[Pair], batches: TrainBatches, tokenizer: Tokenizer, config: RunConfig, check: Check
) -> Validator:
    """BLEU, which training goes by, and the other scores."""
    lists, kept, left_out = encode_pairs(pairs, tokenizer, config)
    if not kept:
        raise all_too_long(config)
    encoded = EncodedPairs(TokenLists.of(lists[::2]), TokenLists.of(lists[1::2]))
    held_out = HeldOutPairs(encoded, kept, tokenizer)
    facts = {"held_out_pairs": len(encoded)}
    return Validator(held_out.score, held_out.signature, facts, left_out, samples=held_out.samples)


def encode_pairs(
    pairs: list[Pair], tokenizer: Tokenizer, config: RunConfig
) -> tuple[list[list[int]], list[Pair], list[LeftOut]]:
    """The pairs whose sides both are short enough, as ids (each source with its target after it) and as they are; and
    those left out. A source that is a back-translation begins with a token that no text has.
    """
    limit, sources = longest_side(config), tokenizer.encode_all([pair.source for pair in pairs])
    if config.back_translated is not None:
        tag = tokenizer.id_of(BACK_TRANSLATED)
        assert tag is not None, "the tokenizer was learned with it"
        sources = [
            [tag, *source] if pair.corpus == config.back_translated else source
            for pair, source in zip(pairs, sources, strict=True)
        ]
    targets = tokenizer.encode_targets([pair.target for pair in pairs])
    fits = [len(source) <= limit and len(target) <= limit for source, target in zip(sources, targets, strict=True)]
    both = compress(zip(sources, targets, strict=True), fits)
    too_long = [pair for pair, is_kept in zip(pairs, fits, strict=True) if not is_kept]
    left_out = [LeftOut(f"longer than {limit} tokens", len(too_long), f"line {too_long[0].line}")] if too_long else []
    return list(chain.from_iterable(both)), list(compress(pairs, fits)), left_out


def longest_side(config: RunConfig) -> int:
    """Tokens that a side may have."""
    return min(config.text.max_length, config.model.longest)


def all_too_long(config: RunConfig) -> CorpusError:
    """The error where nothing is left to learn from."""
    limit = longest_side(config)
    remedy = (
        f"raise --set text.max_length={2 * limit}" if limit == config.text.max_length
        else "the model has no positions for more; give shorter lines"
    )  # fmt: skip
    return CorpusError(f"every pair has more than {limit} tokens on a side; {remedy}")


def build(model: ModelConfig, tokenizer: Tokenizer) -> nn.Module:
    """A network with fresh weights."""
    return EncoderAndDecoder(model, tokenizer.pad_id) if model.encoder else EncoderDecoder(model, tokenizer.pad_id)


def loss(config: RunConfig) -> Callable[[Any, PairBatch], tuple[Tensor, int]]:
    """What training makes smaller: cross-entropy, label-smoothed; of two passes at once if they are to agree."""
    smoothing, r_drop = config.train.label_smoothing, config.train.r_drop
    passes = 2 if r_drop else 1

    def pair_loss(model: Any, batch: PairBatch) -> tuple[Tensor, int]:
        hidden = model(batch.source.repeat(passes, 1), batch.target.repeat(passes, 1))  # (B or 2B, T, D)
        return real_loss(model, hidden, batch.labels, smoothing, r_drop)

    return pair_loss


def pack(model: ModelConfig, weights: dict[str, Tensor], tokenizer: Tokenizer) -> dict[str, Content]:
    """The files of a translator, in Hugging Face layout; a shape that has no class there says so."""
    end, pad = tokenizer.end_id, tokenizer.pad_id
    config = encoder_decoder.export_config(model, end, pad) if model.encoder else marian.export_config(model, end, pad)
    generation = marian.generation_config(end, pad, BEAM, model.max_positions)
    if model.encoder:
        exported = encoder_decoder.export_weights(weights, model)
        generation |= {"bos_token_id": model.start_id, "decoder_start_token_id": model.start_id}
    elif own.describes_fully(marian, config, model):
        exported = marian.export_weights(weights, model, pad)
    else:
        config, exported = own.export_config(model, "translate"), own.export_weights(weights)
    return {
        "config.json": encode_json(config),
        "generation_config.json": encode_json(generation),
        **tokenizer.files(),
        "tokenizer_config.json": encode_json(translator_config(tokenizer, min(model.max_positions, model.longest))),
        "model.safetensors": weights_file(exported),
    }


def artifacts(model: Any, arrays: dict[str, Array], valid: list[Pair], tokenizer: Tokenizer) -> Artifacts:
    """Which heads align, what each does, and which words are worth considering for which."""
    pairs = EncodedPairs.named("pairs", arrays).sample(COUNTED)
    tokens = tokenizer.tokens(range(tokenizer.vocab_size))
    is_word = torch.tensor([has_letters(token) and token != BACK_TRANSLATED for token in tokens])
    lexicon = learn_lexicon(pairs, tokenizer.vocab_size, is_word)
    kept = lexicon.kept()
    sources = tokenizer.encode_all([pair.source for pair in valid[:PAIRS]])
    targets = tokenizer.encode_targets([pair.target for pair in valid[:PAIRS]])
    held = [both for both in zip(sources, targets, strict=True) if max(map(len, both)) <= model.config.longest]
    about = {"alignment": choose_heads(model, held, kept), "head_roles": score_pair_heads(model, tokenizer, held, kept)}
    always = [number for number in tokenizer.marks if number != tokenizer.pad_id]
    if model.config.encoder:  # no fast engine runs it, so nothing would be chosen from a shortlist
        return Artifacts(about, {LEXICON: kept.pack()})
    shortlist = make_shortlist(lexicon, pairs, tokenizer.pieces[:-1], always)
    return Artifacts(about, {SHORTLIST: shortlist, LEXICON: kept.pack()})


TRANSLATE = Recipe(
    name="translate",
    unit="pairs",
    shape=FAMILIES["translate"].shape,
    kinds=KINDS,
    sizes=SIZES,
    uses=USES,
    gather=gather,
    read=read,
    defaults=defaults,
    learn=learn,
    encode=encode,
    batches=batches,
    validator=validator,
    build=build,
    loss=loss,
    pack=pack,
    where="regard.families.translate.recipe:TRANSLATE",
    score="bleu",
    join=put_together,
    compare_start=compare_languages,
    artifacts=artifacts,
    snapshot=snapshot_pairs,
    stages="regard.families.translate.monolingual:launch_stages",
)
