"""One change at a time: what it does to held-out BLEU for the same number of tokens seen.

Quality is compared, not time, so that runs may share a machine; what a step of a variant costs is reported beside it as
processor time. Each finished variant is in the JSON file at once, and one that is there is not run again.
"""

import random
import sys
import time
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import torch
from measure import arguments, read, record
from torch import Tensor, nn

from regard.config import RunConfig, Settings, TrainConfig, merge, resolve
from regard.data.batch import PairBatch
from regard.data.collate import collate_pairs
from regard.data.loader import Loader
from regard.data.tokens import TokenLists
from regard.device import derive_seed, deterministic
from regard.families.table import count_words
from regard.families.translate.recipe import TRANSLATE, gather
from regard.text.stream import ListedExamples
from regard.text.tokenizer import Tokenizer
from regard.training.encode import encode_listed
from regard.training.loop import Trainer, average, is_milestone
from regard.training.optim import learning_rate, make_optimizer
from regard.training.prepare import decide
from regard.training.recipe import Corpus


def never_stop() -> None:
    """Never asks a run to stop."""


@dataclass(frozen=True)
class Variant:
    settings: Settings = field(default_factory=dict)
    muon_rate: float | None = None  # matrices inside the network by Muon, the rest by AdamW
    bpe_dropout: float = 0.0


VARIANTS: dict[str, Variant] = {
    "base": Variant(),  # what the table of defaults says for this corpus
    "muon": Variant(muon_rate=0.01),
    "muon-0.03": Variant(muon_rate=0.03),
    "linear": Variant({"train": {"schedule": "linear"}}),
    "muon-linear": Variant({"train": {"schedule": "linear"}}, muon_rate=0.01),
    "post-norm": Variant({"model": {"norm": "post"}}),
    "vocab-1200": Variant({"text": {"vocab_size": 1200}}),
    "vocab-3000": Variant({"text": {"vocab_size": 3000}}),
    "vocab-5000": Variant({"text": {"vocab_size": 5000}}),
    "vocab-10000": Variant({"text": {"vocab_size": 10000}}),
    "batch-4096": Variant({"train": {"tokens_per_batch": 4096}}),
    "dropout-0.1": Variant({"model": {"dropout": 0.1}}),
    "dropout-0.2": Variant({"model": {"dropout": 0.2}}),
    "dropout-0.3": Variant({"model": {"dropout": 0.3}}),
    "bpe-dropout": Variant(bpe_dropout=0.1),
    "r-drop": Variant({"train": {"r_drop": 5.0}}),
    "rate-0.003": Variant({"train": {"learning_rate": 0.003}}),
    "rate-0.008": Variant({"train": {"learning_rate": 0.008}}),
}


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--set", dest="corpus", choices=["multi30k", "tatoeba"], default="multi30k")
    parser.add_argument("--tokens", type=float, default=4e6, help="source and target tokens seen by each variant")
    parser.add_argument("--only", nargs="*", help="names of variants; all of them if not given")
    parser.add_argument("--pairs", type=int, help="learn from this many of them; all if not given")
    given = parser.parse_args()
    measured = read(given.json)
    corpus = read_corpus(given.data, given.corpus)
    if given.pairs:
        few = random.Random(1).sample(corpus.examples.listed(), given.pairs)
        words = sum(count_words(pair[:2]) for pair in few)
        corpus = replace(corpus, examples=ListedExamples(few, corpus.examples.valid, words))
    of = f"{given.corpus} {given.pairs} pairs" if given.pairs else given.corpus
    for name in given.only or VARIANTS:
        key = f"{of} {name} {given.tokens / 1e6:g}M"
        if key not in measured:
            record(key, run(corpus, VARIANTS[name], given.tokens), given.json)


def read_corpus(data: Path, name: str) -> Corpus:
    if name == "multi30k":
        sides = [data / f"{part}.lc.tok.{side}" for part in ("train", "val") for side in ("en", "de")]
        files, valid = gather(sides[0], sides[1], valid_source=sides[2], valid_target=sides[3])
    else:
        files, valid = gather(data)
    return TRANSLATE.read(files, valid, resolve({}))


def run(corpus: Corpus, variant: Variant, tokens: float) -> dict[str, Any]:
    pairs = corpus.examples.listed()
    config = decide(TRANSLATE, corpus, merge({"threads": 1, "train": {"decay_steps": 10**9}}, variant.settings))
    tokenizer = TRANSLATE.learn(corpus, config, never_stop)
    config = resolve(merge(config.model_dump(), {"model": {"vocab_size": tokenizer.vocab_size}}))
    feed = TRANSLATE.batches(encode_listed(TRANSLATE, pairs, tokenizer, config), tokenizer, config)
    validator = TRANSLATE.validator(corpus.examples.valid, feed, tokenizer, config, never_stop)
    steps = round(tokens * feed.batches_per_epoch / feed.facts["tokens"])
    config = resolve(merge(config.model_dump(), {"train": {"decay_steps": steps}}))
    batch = Redrawn(corpus, tokenizer, config, variant).batch if variant.bpe_dropout else feed.batch
    with deterministic(1):
        torch.manual_seed(derive_seed(1, "weights"))
        model = TRANSLATE.build(config.model, tokenizer)
        trial = TRANSLATE.build(config.model, tokenizer)
        optimizer = partial(BothOptimizers, muon_rate=variant.muon_rate)
        trainer = Trainer(model, TRANSLATE.loss(config), batch, config.train, 1, make_optimizer=optimizer)  # type: ignore[arg-type]
        slow = {name: tensor.clone() for name, tensor in model.state_dict().items()}
        kept: list[dict[str, Tensor]] = []
        done, began = 0, time.process_time()
        while done < tokens:
            event = trainer.make_step()
            done += event.tokens
            share = max(0.001, 10 / (event.step + 10))  # of the new: spans about the last tenth
            for name, tensor in model.state_dict().items():
                slow[name].lerp_(tensor, share)
            if is_milestone(event.step, per_doubling=16, first=64, widest=None):
                kept = [*kept, {n: t.clone() for n, t in model.state_dict().items()}][-4:]
        seconds = time.process_time() - began
        found: dict[str, Any] = {"steps": event.step, "training_loss": round(event.loss, 3)}
        now = model.state_dict()
        for name, weights in {"average": average([*kept, now]), "last": now, "ema": slow}.items():
            trial.load_state_dict(weights)
            scores = validator.score(trial, never_stop).scores
            found[name] = {key: round(scores[key], 3) for key in ("bleu", "chrf", "loss")}
        return found | {"cpu_ms_per_step": round(1000 * seconds / event.step, 1)}


class Redrawn:
    """Batches whose texts are spelled anew each epoch, merges left out at random (BPE-dropout, 1910.13267)."""

    def __init__(self, corpus: Corpus, tokenizer: Tokenizer, config: RunConfig, variant: Variant) -> None:
        self.texts = [[getattr(pair, side) for pair in corpus.examples.listed()] for side in ("source", "target")]
        self.tokenizer, self.config, self.share = tokenizer, config, variant.bpe_dropout
        self.start = self.end = self.epoch = 0

    def batch(self, position: int) -> PairBatch:
        if position >= self.end:
            self.tokenizer._pieces.model.dropout = self.share
            self.sides = [TokenLists.of(self.tokenizer.encode_all(texts)) for texts in self.texts]
            self.tokenizer._pieces.model.dropout = None
            lengths = [side.lengths for side in self.sides]
            self.order = Loader(lengths, self.config.train.tokens_per_batch, self.config.seed).epoch(self.epoch)
            self.start, self.end, self.epoch = self.end, self.end + len(self.order), self.epoch + 1
        return collate_pairs(*self.sides, self.order[position - self.start], self.tokenizer.pad_id)


class BothOptimizers:
    """AdamW for all, or Muon (float32, matrices of a shape at once) for the matrices inside."""

    def __init__(self, model: nn.Module, config: TrainConfig, muon_rate: float | None) -> None:
        self.adam = make_optimizer(model, config)
        self.rate = muon_rate
        self.config = config
        self.step_number = 0
        ffn_width = (
            [p for name, p in model.named_parameters() if p.ndim == 2 and "table" not in name] if muon_rate else []
        )
        self.shapes = {s: [p for p in ffn_width if p.shape == s] for s in {p.shape for p in ffn_width}}
        self.memory = {s: torch.zeros(len(ps), *s) for s, ps in self.shapes.items()}
        for group in self.adam.param_groups:
            group["params"] = [p for p in group["params"] if not any(p is q for q in ffn_width)]

    @property
    def param_groups(self) -> list[Any]:
        return self.adam.param_groups

    @torch.no_grad()
    def step(self) -> None:
        self.step_number += 1
        self.adam.step()
        for shape, matrices in self.shapes.items():
            slope = torch.stack([p.grad for p in matrices])  # type: ignore[misc]  # (n, rows, columns)
            memory = self.memory[shape].lerp_(slope, 0.05)
            update = orthogonal(slope.lerp(memory, 0.95))
            rate = (
                learning_rate(self.step_number, self.config)
                / self.config.learning_rate
                * self.rate
                * 0.2
                * max(shape) ** 0.5
            )  # type: ignore[operator]
            for p, one in zip(matrices, update, strict=True):
                p.add_(one, alpha=-rate)

    def zero_grad(self, set_to_none: bool = True) -> None:
        self.adam.zero_grad(set_to_none)
        for matrices in self.shapes.values():
            for p in matrices:
                p.grad = None


def orthogonal(x: Tensor) -> Tensor:
    """The nearest matrices whose singular values are about 1, by five Newton-Schulz steps: (n, rows, columns)."""
    if x.shape[1] > x.shape[2]:
        return orthogonal(x.mT).mT
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=-4.7750, alpha=2.0315), x, beta=3.4445)
    return x


if __name__ == "__main__":
    sys.exit(main())
