"""Attention along the edges of a graph: to which community does each node belong?

Every node has a few noisy numbers that hint at its community, too noisy to decide it alone. Most edges run inside a
community, some do not. One network with one number of weights is trained three times, under three masks: each node
attends to itself (no attention, then), to every node (as in a text), or to its neighbours. Attention sees a set; the
mask is the only way it gets to know the edges.

The graphs it is tested on are new ones, with other nodes and other edges.

    python examples/graph.py --to graph.svg
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from chart import GREY, Picture, heat_map
from torch import Tensor, nn

from regard.model.attention import MultiHeadAttention
from regard.model.capture import record_attention
from regard.model.masks import graph_mask

COMMUNITIES, NODES, FEATURES = 4, 24, 8
INSIDE, ACROSS = 0.6, 0.05  # how likely an edge is between two nodes of one community, and of two
SPREAD, NOISE = 0.7, 1.25  # of each feature: between the communities' centres, and around them
SHORT = {"seeds": (0,), "steps": 120}


@dataclass(frozen=True)
class Graphs:
    """A batch of graphs: features (B, N, FEATURES), communities (B, N), and which are neighbours (B, 1, N, N)."""

    features: Tensor
    communities: Tensor
    neighbours: Tensor

    def __getitem__(self, rows: slice | Tensor) -> "Graphs":
        """Some of the graphs."""
        return Graphs(self.features[rows], self.communities[rows], self.neighbours[rows])


def place_centres(seed: int) -> Tensor:
    """What the features of each community are about -> (COMMUNITIES, FEATURES)."""
    torch.manual_seed(seed)
    return SPREAD * torch.randn(COMMUNITIES, FEATURES)


def grow(count: int, centres: Tensor) -> Graphs:
    """Random graphs whose nodes are sorted by community, so that a picture of their edges has blocks."""
    communities = torch.arange(NODES) * COMMUNITIES // NODES  # (N,)
    together = communities[:, None] == communities  # (N, N)
    probability = torch.where(together, INSIDE, ACROSS).triu(diagonal=1)  # (N, N): each pair once
    masks = [
        graph_mask(torch.bernoulli(probability).nonzero().tolist(), NODES) for _ in range(count)
    ]  # (1, 1, N, N) each
    features = centres[communities] + NOISE * torch.randn(count, NODES, FEATURES)  # (B, N, FEATURES)
    return Graphs(features, communities.expand(count, -1), torch.cat(masks))


# Which nodes a node may attend to. The first leaves each alone with itself: its output is its input.
MASKS: dict[str, Callable[[Graphs], Tensor | None]] = {
    "itself": lambda graphs: graph_mask([], NODES),
    "everybody": lambda graphs: None,
    "neighbours": lambda graphs: graphs.neighbours,
}


class Network(nn.Module):
    """Two layers of attention between a linear layer and another."""

    def __init__(self, width: int = 32, heads: int = 2) -> None:
        super().__init__()
        self.embed = nn.Linear(FEATURES, width)
        self.layers = nn.ModuleList(MultiHeadAttention(width, heads) for _ in range(2))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.answer = nn.Linear(width, COMMUNITIES)

    def forward(self, features: Tensor, may_attend: Tensor | None) -> Tensor:
        """features (B, N, FEATURES), may_attend (B or 1, 1, N, N) -> logits (B, N, COMMUNITIES)."""
        x = self.embed(features)  # (B, N, D)
        for attention, norm in zip(self.layers, self.norms, strict=True):
            x = norm(x + attention(x, *attention.read(x), may_attend))  # (B, N, D)
        return self.answer(x)


def train(mask: str, graphs: Graphs, steps: int, seed: int) -> Network:
    """The network after so many steps of eight graphs each."""
    torch.manual_seed(seed)
    network = Network()
    optimizer = torch.optim.Adam(network.parameters(), lr=0.003)
    for _ in range(steps):
        some = graphs[torch.randint(len(graphs.features), (8,))]
        logits = network(some.features, MASKS[mask](some))  # (B, N, COMMUNITIES)
        loss = F.cross_entropy(logits.flatten(0, 1), some.communities.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return network


@torch.no_grad()
def accuracy(network: Network, mask: str, graphs: Graphs) -> float:
    """The share of nodes whose community is found."""
    predicted = network(graphs.features, MASKS[mask](graphs)).argmax(dim=-1)  # (B, N)
    return (predicted == graphs.communities).float().mean().item()


@torch.no_grad()
def look(network: Network, mask: str, graphs: Graphs) -> Tensor:
    """The attention of the first layer, mean of its heads -> (B, N, N): rows attend to columns."""
    with record_attention(network) as seen:
        network(graphs.features, MASKS[mask](graphs))
    return seen["layers.0"][0].mean(dim=1)  # (B, H, N, N) -> (B, N, N)


def report(results: dict[str, list[float]], attention: dict[str, Tensor], graph: Graphs, seeds: Sequence[int]) -> None:
    """Prints how many nodes were right, and where the attention went."""
    weights = sum(w.numel() for w in Network().parameters())
    print(f"nodes of new graphs whose community is found (the same {weights:,} weights each time)")
    print(
        "  may look at "
        + "".join(f"{f'seed {seed}':>9}" for seed in seeds)
        + "     mean   weight on neighbours or self"
    )
    for mask, shares in results.items():
        on_edges = (attention[mask] * graph.neighbours[0, 0]).sum(dim=-1).mean().item()
        cells = "".join(f"{share:9.1%}" for share in [*shares, sum(shares) / len(shares)])
        print(f"  {mask:<12}{cells}{on_edges:15.1%}")
    edges = (graph.neighbours.sum().item() - NODES) // 2
    print(f"  guessing: {1 / COMMUNITIES:.0%}; the graph in the picture has {edges} edges")


def paint(results: dict[str, list[float]], attention: dict[str, Tensor], to: str | Path) -> None:
    """What one graph's nodes look at, without the mask and with it, as heat maps."""
    picture = Picture(650, 400, "Attention between the nodes of a graph, without and with a mask of its edges")
    cell, top = 11, 70
    darkest = max(attention["neighbours"].max().item(), attention["everybody"].max().item())
    for number, mask in enumerate(("everybody", "neighbours")):
        left = 50 + 305 * number
        mean = sum(results[mask]) / len(results[mask])
        picture.text(left, top - 36, f"may look at {mask}:")
        picture.text(left, top - 16, f"{mean:.1%} of new nodes right")
        heat_map(picture, left, top, cell, attention[mask].tolist(), darkest=darkest)
        for community in range(COMMUNITIES):
            middle = cell * NODES * (community + 0.5) / COMMUNITIES
            picture.text(left - 8, top + middle + 4, "ABCD"[community], anchor="end", colour=GREY)
            picture.text(left + middle, top + cell * NODES + 18, "ABCD"[community], anchor="middle", colour=GREY)
    words = "Rows look at columns, darker is more; nodes are sorted by community, A to D."
    picture.text(50, top + cell * NODES + 46, words, colour=GREY)
    picture.save(to)


def main(seeds: Sequence[int] = (0, 1, 2), *, steps: int = 300, to: str | Path | None = None) -> dict[str, dict]:
    """Trains under each mask -> accuracies by mask and seed, weights (N, N) by mask, and the graph they are of."""
    results: dict[str, list[float]] = {mask: [] for mask in MASKS}
    attention: dict[str, Tensor] = {}
    for seed in seeds:
        centres = place_centres(seed)
        known, new = grow(400, centres), grow(100, centres)
        for mask in MASKS:
            network = train(mask, known, steps, seed)
            results[mask].append(accuracy(network, mask, new))
            attention[mask] = look(network, mask, new[:1])[0]  # (N, N), of the last seed's first graph
    report(results, attention, new[:1], seeds)
    if to:
        paint(results, attention, to)
    return {"accuracies": results, "attention": attention, "graph": new[:1]}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Attention along the edges of a graph.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=300, help="training steps of eight graphs")
    parser.add_argument("--short", action="store_true", help="one seed, fewer steps: a few seconds")
    parser.add_argument("--to", metavar="FILE.svg", help="where to draw what the nodes look at")
    given = parser.parse_args()
    torch.set_num_threads(1)  # small tensors: threads would only wait for each other
    main(**(SHORT if given.short else {"seeds": given.seeds, "steps": given.steps}), to=given.to)
