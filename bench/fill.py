"""A filler against Hugging Face's BertForMaskedLM: same shape, same steps, same batches, in turns in one run.

Speed: tokens per second of each, and the ratio of the medians over windows of 20 steps. Quality: accuracy on the same
masked tokens of held-out lines. Both start from the same weights, with the same learning rate; what differs is
dropout alone.
"""

import statistics
import sys
import time
from pathlib import Path

import torch
from measure import arguments, report
from transformers import BertConfig, BertForMaskedLM

from regard.config import default_learning_rate, merge, resolve
from regard.device import deterministic
from regard.engines.network import fill, shapes_of
from regard.engines.score import score_masked
from regard.families.fill.recipe import FILL
from regard.formats import bert
from regard.machine import count_cores
from regard.model.size import count_parameters
from regard.training.encode import encode_listed
from regard.training.loop import Trainer
from regard.training.optim import learning_rate, make_optimizer, set_learning_rate

WINDOW = 20
ROUNDS = 10  # times the held-out lines are scored, with other tokens masked


class Peer:
    """A plain loop over Hugging Face's network."""

    def __init__(self, config, tokenizer, ours) -> None:
        self.model = BertForMaskedLM(BertConfig(**bert.export_config(config.model, tokenizer.pad_id)))
        left = self.model.load_state_dict(bert.export_weights(ours.state_dict()), strict=False)
        assert not left.unexpected_keys
        self.model.tie_weights()
        self.config = config.train
        self.optimizer = make_optimizer(self.model, self.config)
        self.pad_id = tokenizer.pad_id

    def step(self, number: int, batch) -> None:
        self.model.train()
        labels = batch.labels.masked_fill(~batch.is_label, -100)
        loss = self.model(input_ids=batch.ids, attention_mask=(batch.ids != self.pad_id).long(), labels=labels).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        set_learning_rate(self.optimizer, learning_rate(number, self.config))
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)

    def accuracy(self, ours, held_out) -> float:
        """Its weights in our network, which gives the same logits, so that both are scored alike."""
        state = {name: tensor.numpy() for name, tensor in self.model.state_dict().items() if "decoder" not in name
                 and "position_ids" not in name}  # fmt: skip
        fill(ours, bert.import_weights(state, shapes_of(ours)))
        return score_masked(ours, held_out, lambda: None)[0]


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--steps", type=int, default=600)
    given = parser.parse_args()
    with deterministic(count_cores()):
        report(bench(given.data, given.steps), given.json)


def bench(data: Path, steps: int) -> dict[str, object]:
    files = FILL.gather(text=data / "train.en", valid=data / "val.en")
    corpus = FILL.read(*files, resolve({}))
    lines = corpus.examples.listed()
    settings = merge(FILL.kinds["bert"], FILL.sizes["tiny"])
    config = resolve(merge(merge(settings, FILL.defaults(corpus, "bert", None)), {"model": {"kind": "bert"}}))
    tokenizer = FILL.learn(corpus, config, lambda: None)
    rate = config.train.learning_rate or default_learning_rate(config.model.width)
    config = resolve(
        merge(config.model_dump(), {"model": {"vocab_size": tokenizer.vocab_size}, "train": {"learning_rate": rate}})
    )
    feed = FILL.batches(encode_listed(FILL, lines, tokenizer, config), tokenizer, config)
    validator = FILL.validator(corpus.examples.valid, feed, tokenizer, config, lambda: None)
    torch.manual_seed(config.seed)
    model = FILL.build(config.model, tokenizer)
    trainer = Trainer(model, FILL.loss(config), feed.batch, config.train, config.seed)
    peers = {"hf": Peer(config, tokenizer, model)}
    speeds = race(trainer, peers, feed, steps)
    scratch = FILL.build(config.model, tokenizer)
    held_out = _held_out(corpus, tokenizer, config)
    accuracies = {"ours": score_masked(model, held_out, lambda: None)[0]}
    accuracies |= {name: peer.accuracy(scratch, held_out) for name, peer in peers.items()}
    ratios = [a / b for a, b in zip(speeds["ours"], speeds["hf"], strict=True)]
    return {
        "ratio_hf": round(statistics.median(ratios), 3),
        "ratio_hf_range": [round(min(ratios), 3), round(max(ratios), 3)],
        "tokens_per_second": {name: round(statistics.median(found)) for name, found in speeds.items()},
        "accuracy": {name: round(100 * value, 2) for name, value in accuracies.items()},
        "steps": steps,
        "vocabulary": tokenizer.vocab_size,
        "weights": count_parameters(model),
        "signature": f"{validator.signature}, {ROUNDS} rounds",
        "threads": torch.get_num_threads(),
    }


def race(trainer, peers, feed, steps: int) -> dict[str, list[float]]:
    """All networks take the same steps in turns, WINDOW at a time: tokens per second of each window."""
    speeds: dict[str, list[float]] = {"ours": [], **{name: [] for name in peers}}
    for start in range(0, steps, WINDOW):
        group = [feed.batch(position) for position in range(start, start + WINDOW)]
        tokens = sum(batch.tokens for batch in group)
        began = time.perf_counter()
        for _ in group:  # the trainer takes the same batches from its feed
            trainer.make_step()
        speeds["ours"].append(tokens / (time.perf_counter() - began))
        for name, peer in peers.items():
            began = time.perf_counter()
            for number, batch in enumerate(group, start=start + 1):
                peer.step(number, batch)
            speeds[name].append(tokens / (time.perf_counter() - began))
        print(f"step {start + WINDOW}: { ({name: round(found[-1]) for name, found in speeds.items()}) }", flush=True)
    return speeds


def _held_out(corpus, tokenizer, config):
    from regard.data.masking import encode_texts, make_masking, masked_batches

    longest = min(config.text.max_length, config.model.max_positions)
    valid = encode_texts(corpus.examples.valid, tokenizer, longest)
    return list(masked_batches(valid, tokenizer, make_masking(tokenizer, config.train.mask_rate, False), ROUNDS))


if __name__ == "__main__":
    sys.exit(main())
