"""translate: pairs of texts -> EncoderDecoder -> BLEU and chrF.

Top to bottom: what is read, what follows from its size, how it is prepared, built, scored and packed.
Using a trained translator is in `translator.py`. torch is only imported by the functions that compute with it.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

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
from regard.data.tokens import EncodedPairs, Packer
from regard.decoding.settings import BEAM
from regard.engines.cache import SHORTLIST
from regard.errors import ConfigError, CorpusError
from regard.families import FAMILIES
from regard.families.held_out import HeldOutPairs, real_loss
from regard.families.table import choose, count_words
from regard.families.translate.network import put_together
from regard.families.translate.settings import KINDS, ROWS, SIZES, USES, choose_epochs
from regard.folder import Content
from regard.formats import encoder_decoder, marian, own
from regard.formats.tokenizers import translator_config
from regard.look.snapshot import snapshot_pairs
from regard.model.transformer import EncoderAndDecoder, EncoderDecoder
from regard.text.corpus import (
    LeftOut,
    Pair,
    PairFiles,
    fingerprint,
    guess_languages,
    kind_of,
    read_pairs,
    refuse_unread,
)
from regard.text.readers import find_kind
from regard.text.readers.rows import Choice
from regard.text.running import named
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import learn_pairs
from regard.training.recipe import (
    Artifacts,
    Check,
    Corpus,
    Encoded,
    Recipe,
    TrainBatches,
    Validator,
    encode_json,
    name_files,
    weights_file,
)

CHUNK = 1000  # texts that are encoded between two checks whether to stop


def gather(
    source: str | Path,
    target: str | Path | None = None,
    *,
    valid_source: str | Path | None = None,
    valid_target: str | Path | None = None,
    columns: Choice | None = None,
    keys: tuple[str, ...] | None = None,
    glob: Sequence[str] = (),
) -> tuple[PairFiles, PairFiles | None]:
    """The files of pairs to learn from, and to validate on if they are given."""
    files = PairFiles.of(source, target, columns, keys, glob)
    if valid_target and not valid_source:
        raise ConfigError(f"--valid-target {valid_target} was given without --valid-source; give both files")
    valid = PairFiles.of(valid_source, valid_target, columns, keys) if valid_source else None
    if valid and not valid.target and not find_kind(valid.paths[0]):
        raise ConfigError(f"--valid-source {valid_source} is one file of lines; give its translation too, with "
                          f"--valid-target")  # fmt: skip
    alone = [one for one in (files, valid) if one and not one.target]
    refuse_unread(columns, keys, *(kind_of(one) for one in alone))
    return files, valid


def read(files: PairFiles, valid_files: PairFiles | None, config: RunConfig) -> Corpus:
    """All pairs; without files to validate on, some are held out, the same ones every time."""
    pairs, left_out = read_pairs(files)
    roles = files.roles
    reading = files.reading
    if valid_files is not None:
        valid, _ = read_pairs(valid_files)
        reading |= {f"valid_{name}": value for name, value in valid_files.reading.items()}
        roles |= {f"valid_{role}": path for role, path in valid_files.roles.items()}
    else:
        with named(files.paths):
            pairs, valid = hold_out(pairs, config.train.held_out or default_held_out(len(pairs)), config.seed)
    source_language, target_language = guess_languages(files)
    return Corpus(
        pairs,
        valid,
        left_out,
        fingerprints={role: fingerprint(path) for role, path in roles.items()},
        files=name_files(roles),
        facts={"source_language": source_language, "target_language": target_language},
        reading=reading,
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


def defaults(corpus: Corpus, kind: str, minutes: float | None) -> Settings:
    """Shape, vocabulary and regularisation by the size of the corpus in running words."""
    words = count_words(text for pair in corpus.train for text in (pair.source, pair.target))
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
        for number, pair in enumerate(corpus.train):
            if number % CHUNK == 0:
                check()
            yield pair.source
            yield pair.target

    assert config.text.vocab_size is not None
    return learn_pairs(texts(), config.text.vocab_size)


def encode(pairs: list[Pair], tokenizer: Tokenizer, config: RunConfig, check: Check) -> Encoded:
    """Pairs as ids; those with an over-long side are left out and counted."""
    encoded, _, left_out = encode_pairs(pairs, tokenizer, config, check)
    return Encoded(encoded.kept(), left_out)


def batches(tensors: dict[str, Tensor], tokenizer: Tokenizer, config: RunConfig) -> TrainBatches:
    """Batches of pairs of like length."""
    pairs = EncodedPairs.of(tensors)
    lengths = [pairs.sources.lengths, pairs.targets.lengths]
    loader = Loader(lengths, config.train.share(config.train.tokens_per_batch), config.seed)

    def batch(position: int) -> PairBatch:
        indexes, start = loader.at(position), config.model.start_id
        return collate_pairs(pairs.sources, pairs.targets, indexes, tokenizer.pad_id, start)

    facts = {
        "pairs": len(pairs),
        "tokens": len(pairs.sources.flat) + len(pairs.targets.flat),
        "longest_source": int(lengths[0].max()),
    }
    return TrainBatches(batch, len(loader), facts)


def validator(
    pairs: list[Pair], batches: TrainBatches, tokenizer: Tokenizer, config: RunConfig, check: Check
) -> Validator:
    """BLEU, which training goes by, the other scores, and samples."""
    encoded, kept, left_out = encode_pairs(pairs, tokenizer, config, check)
    held_out = HeldOutPairs(encoded, kept, tokenizer)
    return Validator(held_out.score, held_out.signature, {"held_out_pairs": len(encoded)}, left_out)


def encode_pairs(
    pairs: list[Pair], tokenizer: Tokenizer, config: RunConfig, check: Check
) -> tuple[EncodedPairs, list[Pair], list[LeftOut]]:
    """The pairs whose sides both are short enough, as ids and as they are; and those left out."""
    limit = min(config.text.max_length, config.model.longest)
    sources, targets = Packer(), Packer()
    kept: list[Pair] = []
    too_long: list[Pair] = []
    for start in range(0, len(pairs), CHUNK):
        check()
        chunk = pairs[start : start + CHUNK]
        mine = tokenizer.encode_all([pair.source for pair in chunk])
        theirs = tokenizer.encode_targets([pair.target for pair in chunk])
        for pair, source, target in zip(chunk, mine, theirs, strict=True):
            if max(len(source), len(target)) > limit:
                too_long.append(pair)
                continue
            sources.add(source)
            targets.add(target)
            kept.append(pair)
    if not kept:
        remedy = (
            f"raise --set text.max_length={2 * limit}" if limit == config.text.max_length
            else "the model has no positions for more; give shorter lines"
        )  # fmt: skip
        raise CorpusError(f"every pair has more than {limit} tokens on a side; {remedy}")
    encoded = EncodedPairs(sources.pack(), targets.pack())
    reason = f"longer than {limit} tokens"
    return encoded, kept, [LeftOut(reason, len(too_long), f"line {too_long[0].line}")] if too_long else []


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


def artifacts(model: Any, tensors: dict[str, Tensor], valid: list[Pair], tokenizer: Tokenizer) -> Artifacts:
    """Which heads align, and which words are worth considering for which."""
    pairs = EncodedPairs.of(tensors)
    is_word = torch.tensor([has_letters(token) for token in tokenizer.tokens(range(tokenizer.vocab_size))])
    lexicon = learn_lexicon(pairs, tokenizer.vocab_size, is_word)
    kept = lexicon.kept()
    sources = tokenizer.encode_all([pair.source for pair in valid[:PAIRS]])
    targets = tokenizer.encode_targets([pair.target for pair in valid[:PAIRS]])
    held = [both for both in zip(sources, targets, strict=True) if max(map(len, both)) <= model.config.longest]
    alignment = choose_heads(model, held, kept)
    always = [number for number in tokenizer.marks if number != tokenizer.pad_id]
    if model.config.encoder:  # no fast engine runs it, so nothing would be chosen from a shortlist
        return Artifacts({"alignment": alignment}, {LEXICON: kept.pack()})
    shortlist = make_shortlist(lexicon, pairs, tokenizer.pieces[:-1], always)
    return Artifacts({"alignment": alignment}, {SHORTLIST: shortlist, LEXICON: kept.pack()})


def snapshot(model: nn.Module, valid: list[Pair], tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Its attention on a few held-out pairs."""
    return snapshot_pairs(model, tokenizer, valid)


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
    join=put_together,
    artifacts=artifacts,
    snapshot=snapshot,
)
