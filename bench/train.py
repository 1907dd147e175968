"""How fast training is: source and target tokens a second, against the same shape elsewhere, in turns.

Every side runs in processes of its own, reads a line for each turn with a number of updates, and answers with
tokens, seconds and memory; meanwhile the others wait. All sides make the same updates: the same pairs, dropout, label
smoothing, Adam, clipping. A peer is measured in several layouts, and the best of them counts.
"""

import json
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
import torch.nn.functional as F
from measure import arguments, report
from torch import Tensor, nn
from turns import Side, memory_mb, serve

from regard.config import RunConfig, merge, resolve
from regard.data.batch import PairBatch
from regard.data.store import TokenStore
from regard.device import deterministic
from regard.families.translate.recipe import TRANSLATE
from regard.model.positions import sinusoids
from regard.model.products import onednn_is_better, products_by_onednn
from regard.text.tokenizer import Tokenizer
from regard.training import workers
from regard.training.checkpoint import TrainState
from regard.training.forked import forked_workers
from regard.training.prepare import prepare

SETTINGS: dict[str, Any] = {
    "size": "tiny", "device": "cpu", "text": {"vocab_size": 10_000}, "model": {"dropout": 0.3},
    "train": {"tokens_per_batch": 8192, "learning_rate": 0.003},
}  # fmt: skip
UPDATES = 4  # a turn

# side -> (what, processes, threads of each, parts of a batch one after another in a process)
SIDES = {
    "regard 2x1": ("regard", 2, 1, 2),  # as without options
    "regard 2x1 in one": ("regard", 2, 1, 1),
    "regard 1x2": ("regard", 1, 2, 2),
    "hf 1x2": ("hf", 1, 2, 1),
    "hf 1x2 in halves": ("hf", 1, 2, 2),
    "hf 1x1": ("hf", 1, 1, 1),
    "nn 1x2": ("nn", 1, 2, 1),
    "nn 1x2 in halves": ("nn", 1, 2, 2),
    "nn 1x1": ("nn", 1, 1, 1),
    "hf 2x1": ("hf", 2, 1, 1),
    # What makes ours faster on some processors, for the peer that can have it: attention without the fused kernel.
    "hf 1x2 by oneDNN": ("hf by oneDNN", 1, 2, 1),
    "hf 1x1 by oneDNN": ("hf by oneDNN", 1, 1, 1),
}


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--side", nargs=4, help="(used by the bench itself)")
    given = parser.parse_args()
    if given.side:
        work(given.data, *given.side)
        return
    with tempfile.TemporaryDirectory() as temporary:
        report(bench(given.data, given.turns, Path(temporary)), given.json)


def bench(data: Path, turns: int, folder: Path) -> dict[str, Any]:
    run = folder / "model" / "run"
    run.mkdir(parents=True)
    files = TRANSLATE.gather(
        data / "train.lc.tok.en", data / "train.lc.tok.de",
        valid_source=data / "val.lc.tok.en", valid_target=data / "val.lc.tok.de",
    )  # fmt: skip
    for _ in prepare(TRANSLATE, run, None, *files, SETTINGS, lambda: None, None):
        pass
    sides = {name: start(name, run) for name in SIDES}
    found: dict[str, list[dict[str, float]]] = {name: [] for name in SIDES}
    for turn in range(turns + 1):
        for name, processes in sides.items():
            answer = ask(processes)
            if turn:  # the first is to warm up
                found[name].append(answer)
        print(f"turn {turn}:", {name: round(rows[-1]["speed"]) for name, rows in found.items() if rows}, flush=True)
    for processes in sides.values():
        for process in processes:
            process.close()
    speed = {name: statistics.median(row["speed"] for row in rows) for name, rows in found.items()}
    memory = {name: max(row["memory"] for row in rows) for name, rows in found.items()}
    best = {
        kind: max((n for n in SIDES if SIDES[n][0] == kind and SIDES[n][1] == 1), key=speed.__getitem__)
        for kind in ("hf", "nn", "hf by oneDNN")
    }

    def ratio(other: str) -> float:
        pairs = zip(found["regard 2x1"], found[other], strict=True)
        return round(statistics.median(mine["speed"] / theirs["speed"] for mine, theirs in pairs), 3)

    flops = count_flops(run)
    peak = sgemm_peak()
    return {
        "ratio_hf": ratio(best["hf"]),
        "ratio_nn": ratio(best["nn"]),
        "ratio_hf_two_processes": ratio("hf 2x1"),
        "ratio_hf_by_onednn": ratio(best["hf by oneDNN"]),
        "ratio_workers_over_threads": ratio("regard 1x2"),
        "best_layout": best,
        "tokens_per_second": {name: round(value) for name, value in speed.items()},
        "memory_mb": {name: round(value) for name, value in memory.items()},
        "gflops": round(flops * speed["regard 2x1"] / 1e9, 1),
        "sgemm_peak_gflops": round(peak, 1),
        "share_of_sgemm_peak": round(flops * speed["regard 2x1"] / 1e9 / peak, 3),
        "turns": turns,
        "peers": "AdamW, fused, as ours",
    }


def start(name: str, run: Path) -> list[Side]:
    what, processes, threads, _ = SIDES[name]
    count = 1 if what == "regard" else processes  # regard starts its own workers
    words = [__file__, "--data", str(run), "--side", name]
    env = {"OMP_NUM_THREADS": str(threads), "GLOO_SOCKET_IFNAME": "lo"}
    return [Side([*words, str(rank), str(count), str(run / f"{name} rendezvous")], **env) for rank in range(count)]


def ask(processes: list[Side]) -> dict[str, float]:
    for process in processes:
        process.send(updates=UPDATES)
    answers = [process.answer() for process in processes]
    tokens, seconds = sum(a["tokens"] for a in answers), max(a["seconds"] for a in answers)
    return {"speed": tokens / seconds, "memory": sum(a["memory"] for a in answers)}


def work(run: Path, name: str, rank: str, count: str, rendezvous: str) -> None:
    """One process of a side: works when it reads a line."""
    what, processes, threads, parts = SIDES[name]
    torch.set_num_threads(threads)
    record = json.loads((run / "run.json").read_text())
    tokenizer = Tokenizer.load(run / "tokenizer.json")
    shared = {"workers": processes, "threads": threads, "train": {"grad_accumulation": processes * parts}}
    config = resolve(merge(record["config"], shared))
    if what == "regard":
        workers.load_all()
        with forked_workers(processes - 1, workers.work) as forked, deterministic(threads):
            group = workers.WorkerGroup(run, TRANSLATE, config, tokenizer, TrainState(), lambda: None, forked=forked)
            from regard.training.distributed import Command

            def update() -> int:
                group.world.broadcast(Command.STEP)
                return group.trainer.make_step().tokens

            others = group._local._processes if group._local else []
            serve_updates(update, [os.getpid(), *(other.pid for other in others)])
            group.close()
        return
    if int(count) > 1:
        dist.init_process_group(
            "gloo", store=dist.FileStore(rendezvous, int(count)), rank=int(rank), world_size=int(count)
        )
    torch.manual_seed(0)
    by_onednn = what == "hf by oneDNN"
    peer = Plain(config, tokenizer.pad_id) if what == "nn" else Marian(config, tokenizer.pad_id, is_eager=by_onednn)
    loop = PlainLoop(peer, run, config, tokenizer, int(rank), int(count))
    with products_by_onednn(by_onednn):
        serve_updates(loop.update, [os.getpid()])


def serve_updates(update: Any, pids: list[int]) -> None:
    def work(updates: int) -> dict[str, Any]:
        began = time.perf_counter()
        tokens = sum(update() for _ in range(updates))
        return {"tokens": tokens, "seconds": time.perf_counter() - began, "memory": memory_mb(*pids)}

    serve(work)


class PlainLoop:
    """The loop that everybody writes: forward, loss, backward, clip, step."""

    def __init__(
        self, peer: nn.Module, run: Path, config: RunConfig, tokenizer: Tokenizer, rank: int, count: int
    ) -> None:
        self.pad_id, self.rank, self.count = tokenizer.pad_id, rank, count
        self.parts = config.train.grad_accumulation or 1
        self.feed = TRANSLATE.batches(TokenStore(run).arrays(), tokenizer, config)
        self.peer = nn.parallel.DistributedDataParallel(peer) if count > 1 else peer
        self.optimizer = torch.optim.AdamW(
            peer.parameters(), lr=1e-3, betas=(0.9, 0.98), weight_decay=0.0, eps=1e-9, fused=True
        )
        self.position = 0
        peer.train()

    def update(self) -> int:
        tokens = 0
        for part in range(self.rank, self.parts, self.count):
            batch = self.feed.batch(self.position + part)
            logits = self.peer(batch.source, batch.target, batch.source != self.pad_id)  # (B, T, V)
            loss = F.cross_entropy(
                logits.flatten(0, 1), batch.labels.flatten(), ignore_index=self.pad_id, label_smoothing=0.1
            )
            (loss / (self.parts // self.count)).backward()
            tokens += batch.tokens
        self.position += self.parts
        nn.utils.clip_grad_norm_(self.peer.parameters(), 1.0)
        self.optimizer.step()
        self.optimizer.zero_grad(set_to_none=True)
        return tokens


class Marian(nn.Module):
    """transformers' MarianMTModel of the same shape."""

    def __init__(self, config: RunConfig, pad_id: int, *, is_eager: bool) -> None:
        super().__init__()
        from transformers import MarianConfig, MarianMTModel

        m = config.model
        self.model = MarianMTModel(MarianConfig(
            vocab_size=m.vocab_size, d_model=m.width, encoder_layers=m.layers, decoder_layers=m.layers,
            encoder_ffn_dim=m.ffn_width, decoder_ffn_dim=m.ffn_width, encoder_attention_heads=m.heads,
            decoder_attention_heads=m.heads, dropout=m.dropout, activation_function="relu", pad_token_id=pad_id,
            decoder_start_token_id=pad_id, eos_token_id=0, scale_embedding=True, max_position_embeddings=512,
            attn_implementation="eager" if is_eager else "sdpa",
        ))  # fmt: skip

    def forward(self, source: Tensor, target: Tensor, is_real: Tensor) -> Tensor:
        return self.model(
            input_ids=source, attention_mask=is_real.long(), decoder_input_ids=target, use_cache=False
        ).logits


class Plain(nn.Module):
    """torch.nn.Transformer with an embedding tied to the output."""

    def __init__(self, config: RunConfig, pad_id: int) -> None:
        super().__init__()
        m = config.model
        self.table = nn.Embedding(m.vocab_size, m.width, padding_idx=pad_id)
        nn.init.normal_(self.table.weight, std=m.width**-0.5)
        self.net = nn.Transformer(m.width, m.heads, m.layers, m.layers, m.ffn_width, m.dropout, batch_first=True)
        self.register_buffer("waves", sinusoids(torch.arange(512), m.width))
        self.drop = nn.Dropout(m.dropout)

    def embed(self, ids: Tensor) -> Tensor:
        return self.drop(self.table(ids) * self.table.embedding_dim**0.5 + self.waves[: ids.shape[1]])

    def forward(self, source: Tensor, target: Tensor, is_real: Tensor) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(target.shape[1], dtype=torch.bool)
        hidden = self.net(
            self.embed(source), self.embed(target), tgt_mask=causal, tgt_is_causal=True,
            src_key_padding_mask=~is_real, memory_key_padding_mask=~is_real,
        )  # fmt: skip
        return F.linear(hidden, self.table.weight)


def count_flops(run: Path) -> float:
    """Floating-point operations per token of a training step of ours."""
    from torch.utils.flop_counter import FlopCounterMode

    record = json.loads((run / "run.json").read_text())
    tokenizer, config = Tokenizer.load(run / "tokenizer.json"), resolve(record["config"])
    feed = TRANSLATE.batches(TokenStore(run).arrays(), tokenizer, config)
    model, loss = TRANSLATE.build(config.model, tokenizer), TRANSLATE.loss(config)
    batches: list[PairBatch] = [feed.batch(position) for position in range(8)]
    with FlopCounterMode(display=False) as counter:
        for batch in batches:
            loss(model, batch)[0].backward()
    return counter.get_total_flops() / sum(batch.tokens for batch in batches)


def sgemm_peak() -> float:
    """GFLOP/s of large products of matrices on all cores."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    a, size = torch.randn(2048, 2048), 2048
    times = []
    with products_by_onednn(onednn_is_better()):
        for _ in range(8):  # the first is to warm up
            began = time.perf_counter()
            a @ a
            times.append(time.perf_counter() - began)
    return 2 * size**3 / min(times) / 1e9


if __name__ == "__main__":
    sys.exit(main())
