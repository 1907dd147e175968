"""Recall over a growing distance: attention against an LSTM, a GRU, a convolution and a linear layer.

A row of random symbols goes by. One of the first eight carries a mark; at the end is a question, and the answer is
the marked symbol. Five networks with nearly the same number of weights are trained alike, from nothing, for each
distance between mark and question.

Attention reaches every place in one step, however far. LSTM and GRU have to carry the symbol through every step
between, and what they should learn from fades on the way back; not for their gates, which are sigmoids and as
differentiable as softmax: beginning by keeping what they hold, the GRU learns it over 64 steps in 600 updates, the LSTM
not over 32. The convolution sees as far as its kernels reach, 13 places here, and nothing beyond. The
linear layer reaches every place too, but with fixed weights: enough if the mark is always at the same place, not enough
if it roams, because then where to look depends on the data. Fixed weights can at best name the commonest of the early
symbols.

    python examples/long_range.py --to long_range.svg
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from chart import Picture, legend, line_chart
from torch import Tensor, nn

from regard.model.attention import MultiHeadAttention
from regard.model.capture import record_attention
from regard.model.positions import Sinusoidal

SYMBOLS, EARLY = 8, 8  # how many symbols there are; the mark is at one of so many first places
WEIGHTS = 4_840  # of the attention; the others come as near as their widths allow
SHORT = {"distances": (4, 24), "steps": 80}
TASKS = {"mark at one place": False, "mark roams": True}


def draw(count: int, distance: int, roams: bool) -> tuple[Tensor, Tensor, Tensor]:
    """Rows of symbols that end with the question (B, T), marks (B, T), and the marked symbols (B,).

    From the mark to the question are `distance` steps; if the mark roams, up to seven more.
    """
    ids = torch.randint(SYMBOLS, (count, EARLY + distance))  # (B, T)
    ids[:, -1] = SYMBOLS  # the question
    places = torch.randint(EARLY, (count,)) if roams else torch.full((count,), EARLY - 1)  # (B,)
    return ids, F.one_hot(places, ids.shape[1]), ids[torch.arange(count), places]


class Embed(nn.Module):
    """Symbol and mark as one vector: a sum, so that no fixed weight can pick the symbol that came with the mark."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.symbol, self.mark = nn.Embedding(SYMBOLS + 1, width), nn.Embedding(2, width)

    def forward(self, ids: Tensor, marks: Tensor) -> Tensor:
        """ids, marks (B, T) -> (B, T, D)."""
        return self.symbol(ids) + self.mark(marks)


class Attention(nn.Module):
    """The question attends to all places at once, to each as much as the data say."""

    def __init__(self, length: int, width: int = 32) -> None:
        super().__init__()
        self.embed, self.positions = Embed(width), Sinusoidal(width, length)
        self.attention = MultiHeadAttention(width, heads=1)
        self.answer = nn.Linear(width, SYMBOLS)

    def forward(self, ids: Tensor, marks: Tensor) -> Tensor:
        """ids, marks (B, T) -> logits (B, SYMBOLS)."""
        x = self.positions(self.embed(ids, marks))  # (B, T, D)
        key, value = self.attention.read(x)  # (B, 1, T, D) each
        return self.answer(self.attention(x[:, -1:], key, value)[:, 0])  # (B, SYMBOLS)


class Lstm(nn.Module):
    """Reads from left to right and answers with what it still holds at the end."""

    def __init__(self, length: int, width: int = 23) -> None:
        super().__init__()
        self.embed, self.cells = Embed(width), nn.LSTM(width, width, batch_first=True)
        self.answer = nn.Linear(width, SYMBOLS)
        # Gates that begin by keeping what is held: left as they are, they forget it within 16 steps and learn nothing.
        nn.init.constant_(self.cells.bias_hh_l0[width : 2 * width], 2.0)

    def forward(self, ids: Tensor, marks: Tensor) -> Tensor:
        """ids, marks (B, T) -> logits (B, SYMBOLS)."""
        held, _ = self.cells(self.embed(ids, marks))  # (B, T, D)
        return self.answer(held[:, -1])  # (B, SYMBOLS)


class Gru(nn.Module):
    """The same with two gates instead of three: a quarter fewer weights, so it is wider for as many."""

    def __init__(self, length: int, width: int = 26) -> None:
        super().__init__()
        self.embed, self.cells = Embed(width), nn.GRU(width, width, batch_first=True)
        self.answer = nn.Linear(width, SYMBOLS)
        nn.init.constant_(self.cells.bias_hh_l0[width : 2 * width], 2.0)  # begins by keeping, as the LSTM does

    def forward(self, ids: Tensor, marks: Tensor) -> Tensor:
        """ids, marks (B, T) -> logits (B, SYMBOLS)."""
        held, _ = self.cells(self.embed(ids, marks))  # (B, T, D)
        return self.answer(held[:, -1])  # (B, SYMBOLS)


class Convolution(nn.Module):
    """Three layers, each looking at five neighbours: the last place has heard from 13 places, itself among them."""

    def __init__(self, length: int, width: int = 17) -> None:
        super().__init__()
        self.embed = Embed(width)
        self.layers = nn.ModuleList(nn.Conv1d(width, width, kernel_size=5) for _ in range(3))
        self.answer = nn.Linear(width, SYMBOLS)

    def forward(self, ids: Tensor, marks: Tensor) -> Tensor:
        """ids, marks (B, T) -> logits (B, SYMBOLS)."""
        x = self.embed(ids, marks).transpose(1, 2)  # (B, D, T)
        for layer in self.layers:
            x = layer(F.pad(x, (4, 0))).relu()  # (B, D, T): padded on the left, so the last place stays the last
        return self.answer(x[:, :, -1])  # (B, SYMBOLS)


class Linear(nn.Module):
    """A fixed weight for every place: the longer the row, the narrower the vectors it can afford."""

    def __init__(self, length: int) -> None:
        super().__init__()
        width = round(WEIGHTS / (SYMBOLS * length + SYMBOLS + 3))  # what a unit of width costs: answer and embedding
        self.embed, self.answer = Embed(width), nn.Linear(length * width, SYMBOLS)

    def forward(self, ids: Tensor, marks: Tensor) -> Tensor:
        """ids, marks (B, T) -> logits (B, SYMBOLS)."""
        return self.answer(self.embed(ids, marks).flatten(1))  # (B, T * D) -> (B, SYMBOLS)


KINDS: dict[str, type[nn.Module]] = {
    "attention": Attention,
    "LSTM": Lstm,
    "GRU": Gru,
    "convolution": Convolution,
    "linear layer": Linear,
}


def train(kind: str, distance: int, roams: bool, steps: int, seed: int) -> nn.Module:
    """A network of this kind, after so many steps of 64 fresh rows each."""
    torch.manual_seed(seed)
    network = KINDS[kind](EARLY + distance)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.003)
    for _ in range(steps):
        ids, marks, answers = draw(64, distance, roams)
        loss = F.cross_entropy(network(ids, marks), answers)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network


@torch.no_grad()
def accuracy(network: nn.Module, distance: int, roams: bool) -> float:
    """The share of 1,000 new rows that are answered rightly."""
    torch.manual_seed(-1)
    ids, marks, answers = draw(1_000, distance, roams)
    return (network(ids, marks).argmax(dim=-1) == answers).float().mean().item()


@torch.no_grad()
def weight_on_mark(network: nn.Module, distance: int, roams: bool) -> float:
    """How much of its attention the question gives to the marked place, on average."""
    ids, marks, _ = draw(200, distance, roams)
    with record_attention(network) as seen:
        network(ids, marks)
    weights = seen["attention"][0][:, 0, 0]  # (B, 1, 1, T) -> (B, T)
    return (weights * marks).sum(dim=-1).mean().item()


def commonest(rows: int = 10_000) -> float:
    """How often the marked symbol is the commonest of the early ones: all that fixed weights can make use of."""
    torch.manual_seed(-1)
    counts = F.one_hot(torch.randint(SYMBOLS, (rows, EARLY)), SYMBOLS).sum(dim=1)  # (rows, SYMBOLS)
    return (counts.max(dim=-1).values / EARLY).mean().item()


def time_step(kind: str, distance: int, rows: int = 64, times: int = 20) -> float:
    """Milliseconds of one training step, the median of several."""
    network = KINDS[kind](EARLY + distance)
    found = []
    for _ in range(times):
        ids, marks, answers = draw(rows, distance, True)
        begun = time.perf_counter()
        F.cross_entropy(network(ids, marks), answers).backward()
        found.append(1000 * (time.perf_counter() - begun))
    return sorted(found)[times // 2]


def report(
    results: dict[str, dict[str, list[float]]], on_mark: dict[str, list[float]], distances: Sequence[int]
) -> None:
    """Prints a table for each task, and how long a step of training takes."""
    for task, lines in results.items():
        print(f"\n{task}: right answers".ljust(41) + "".join(f"{distance:>7}" for distance in distances))
        for kind, shares in lines.items():
            counts = [sum(w.numel() for w in KINDS[kind](EARLY + distance).parameters()) for distance in distances]
            size = f"{min(counts):,}" + (f" to {max(counts):,}" if max(counts) > min(counts) else "")
            print(f"  {kind:<13} {size:>16} weights" + "".join(f"{share:7.1%}" for share in shares))
        print("  attention's weight on the mark".ljust(40) + "".join(f"{share:7.1%}" for share in on_mark[task]))
    print("\nmilliseconds of a training step".ljust(41) + "".join(f"{distance:>7}" for distance in distances))
    for kind in KINDS:
        print(f"  {kind}".ljust(40) + "".join(f"{time_step(kind, distance):7.1f}" for distance in distances))
    print(f"\nguessing: {1 / SYMBOLS:.1%}; naming the commonest of {EARLY} early symbols: {commonest():.1%}")


def paint(results: dict[str, dict[str, list[float]]], distances: Sequence[int], to: str | Path) -> None:
    """Right answers over distance, one line per network, one panel per task."""
    picture = Picture(860, 310, "Right answers over the distance between mark and question")
    for number, (task, lines) in enumerate(results.items()):
        line_chart(
            picture, 56 + 350 * number, 40, 280, 210,
            title=f"{task}: right answers", across="steps from mark to question",
            places=[str(distance) for distance in distances], lines=lines,
        )  # fmt: skip
    legend(picture, 722, 50, list(KINDS))
    picture.save(to)


def main(
    distances: Sequence[int] = (4, 8, 16, 32, 64), *, steps: int = 600, seed: int = 0, to: str | Path | None = None
) -> dict[str, dict[str, list[float]]]:
    """Trains every network on both tasks at every distance -> task -> network -> share of right answers."""
    results: dict[str, dict[str, list[float]]] = {task: {kind: [] for kind in KINDS} for task in TASKS}
    on_mark: dict[str, list[float]] = {task: [] for task in TASKS}
    for task, roams in TASKS.items():
        for distance in distances:
            for kind in KINDS:
                network = train(kind, distance, roams, steps, seed)
                results[task][kind].append(accuracy(network, distance, roams))
                if kind == "attention":
                    on_mark[task].append(weight_on_mark(network, distance, roams))
    report(results, on_mark, distances)
    if to:
        paint(results, distances, to)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Recall over a growing distance.")
    parser.add_argument("--distances", type=int, nargs="+", default=[4, 8, 16, 32, 64])
    parser.add_argument("--steps", type=int, default=600, help="training steps of 64 rows")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="two distances, fewer steps: a few seconds")
    parser.add_argument("--to", metavar="FILE.svg", help="where to draw the accuracies")
    given = parser.parse_args()
    torch.set_num_threads(1)  # small tensors: threads would only wait for each other
    shape = SHORT if given.short else {"distances": given.distances, "steps": given.steps}
    main(**shape, seed=given.seed, to=given.to)
