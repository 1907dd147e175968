"""Attention as a look-up in a table: the price of a paint, asked for by its colour.

A table has keys (colours) and values (prices). An ordinary look-up needs exactly the right key. Attention compares what
is asked for with every key and takes home a mixture of the values: all alike when the temperature is infinite, the one
best match when it is zero. Between the two, a slightly different question gets a slightly different answer, and that
slope is what a network learns from; the exact look-up has none.

What "matches" means is a choice. The dot product likes long keys: ask it for a dark colour, and a bright one answers.
Cosine similarity compares directions alone, so red and dark red are one to it. For keys of one length both agree.
To take half its squared length off each key's match makes the best match the nearest key, and serves both.

And the last layer of a classifier is a look-up too: the query is what the network made of its input, the keys are one
vector per label, the weights are the probabilities, and the mixture is the label it expects, as a vector.

    python examples/lookup.py --to lookup.svg
"""

import argparse
import math
from collections.abc import Sequence
from pathlib import Path

import torch
import torch.nn.functional as F
from chart import Picture, heat_map
from torch import Tensor, nn

from regard.model.attention import hard_attention, soft_attention

PAINTS = {  # name: colour (red, green, blue) and price
    "white": ((1.0, 1.0, 1.0), 12.0),
    "red": ((1.0, 0.1, 0.1), 20.0),
    "dark red": ((0.5, 0.05, 0.05), 24.0),
    "orange": ((1.0, 0.6, 0.0), 18.0),
    "yellow": ((1.0, 1.0, 0.1), 16.0),
    "green": ((0.1, 0.7, 0.2), 22.0),
    "blue": ((0.1, 0.3, 1.0), 26.0),
    "plum": ((0.4, 0.1, 0.5), 30.0),
}
NAMES = list(PAINTS)
TEMPERATURES = (math.inf, 1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.0)
SHORT = {"asks": 50}
ASKED = (1.0, 0.7, 0.1)  # a golden yellow, between orange and yellow


def table() -> tuple[Tensor, Tensor]:
    """Keys (N, 3) and values (N, 1)."""
    colours, prices = zip(*PAINTS.values(), strict=True)
    return torch.tensor(colours), torch.tensor(prices)[:, None]


def direction(colours: Tensor) -> Tensor:
    """The same colours at length one, so that their dot product is the cosine of the angle between them."""
    return F.normalize(colours, dim=-1)


def cool(temperatures: Sequence[float]) -> dict[float, dict[str, Tensor]]:
    """Temperature -> weights (N,), the price (1,) and its slope (3,): how it follows a change of the question."""
    keys, values = table()
    found = {}
    for temperature in temperatures:
        query = direction(torch.tensor(ASKED)).requires_grad_()  # (3,)
        price, weights = soft_attention(query, direction(keys), values, temperature=temperature)
        # At both ends nothing depends on the question any more, or only in jumps: there is no slope.
        has_slope = price.requires_grad
        slope = torch.autograd.grad(price.sum(), query)[0] if has_slope else torch.zeros(3)
        found[temperature] = {"weights": weights.detach(), "price": price.detach(), "slope": slope}
    return found


def ways_to_match(asked: Tensor, keys: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
    """Three notions of a good match, each as queries and keys whose dot product it is."""
    half = keys.square().sum(dim=-1, keepdim=True) / 2  # (N, 1)
    return {
        "dot product": (asked, keys),
        "cosine": (direction(asked), direction(keys)),
        # |asked - key|² = |asked|² - 2 (asked · key - |key|² / 2), and |asked|² is the same for all keys
        "nearest": (F.pad(asked, (0, 1), value=1.0), torch.cat([keys, -half], dim=-1)),
    }


def compare(count: int, *, noise: float = 0.08, seed: int = 0) -> dict[str, Tensor]:
    """Asks `count` times for each paint by a slightly wrong colour -> way to match -> shares of answers (N, N)."""
    torch.manual_seed(seed)
    keys, _ = table()
    asked = keys[:, None] + noise * torch.randn(len(keys), count, 3)  # (N, count, 3)
    found = {}
    for way, (queries, against) in ways_to_match(asked, keys).items():
        _, choices = hard_attention(queries, against.expand(len(keys), count, -1, -1))  # (N, count, N)
        found[way] = choices.mean(dim=1)  # (N, N)
    return found


def agreement(count: int, *, seed: int = 0) -> float:
    """How often dot product and cosine choose the same key, if all keys have one length."""
    torch.manual_seed(seed)
    asked, keys = torch.rand(count, 3), direction(table()[0])  # (count, 3), (N, 3)
    ways = ways_to_match(asked, keys)
    chosen = [hard_attention(q, k.expand(count, -1, -1))[1] for q, k in (ways["dot product"], ways["cosine"])]
    return (chosen[0] == chosen[1]).all(dim=-1).float().mean().item()


class Classifier(nn.Module):
    """An ordinary classifier: two layers, then a score for every label."""

    def __init__(self, features: int, labels: int, width: int = 16) -> None:
        super().__init__()
        self.think = nn.Sequential(nn.Linear(features, width), nn.Tanh())
        self.score = nn.Linear(width, labels)  # its rows are the labels' embeddings

    def forward(self, x: Tensor) -> Tensor:
        """x (B, features) -> logits (B, labels)."""
        return self.score(self.think(x))


def train_classifier(labels: int = 4, steps: int = 100, *, seed: int = 0) -> tuple[Classifier, Tensor, Tensor]:
    """A classifier that learned to distinguish clouds of points, with 200 new points and their labels."""
    torch.manual_seed(seed)
    centres = 3 * torch.randn(labels, 2, dtype=torch.float64)  # (labels, 2)
    answers = torch.randint(labels, (600,))
    points = centres[answers] + torch.randn(600, 2, dtype=torch.float64)  # (600, 2)
    classifier = Classifier(2, labels).double()  # many digits, so that what is equal shows as equal
    optimizer = torch.optim.Adam(classifier.parameters(), lr=0.02)
    for _ in range(steps):
        loss = F.cross_entropy(classifier(points[:400]), answers[:400])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return classifier, points[400:], answers[400:]


@torch.no_grad()
def classify_by_attention(classifier: Classifier, points: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """points (B, 2) -> logits (B, labels), probabilities (B, labels), expected label embedding (B, D)."""
    thought = classifier.think(points)  # (B, D)
    embeddings, bias = classifier.score.weight, classifier.score.bias  # (labels, D), (labels,)
    query = F.pad(thought, (0, 1), value=1.0)  # (B, D + 1): a bias is one more feature that is always 1
    keys = torch.cat([embeddings, bias[:, None]], dim=-1)  # (labels, D + 1)
    keys = keys.expand(len(points), -1, -1)  # (B, labels, D + 1): the same labels for every point
    expected, weights = soft_attention(query, keys, embeddings)  # (B, D), (B, labels)
    return (keys @ query[..., None])[..., 0], weights, expected


@torch.no_grad()
def read_classifier(classifier: Classifier, points: Tensor, answers: Tensor) -> dict[str, float]:
    """How far the classifier and its reading as attention are apart, at most; and how well it classifies."""
    logits, weights, expected = classify_by_attention(classifier, points)
    found = classifier(points)  # (B, labels)
    probabilities = found.softmax(dim=-1)  # (B, labels)
    return {
        "logits": (logits - found).abs().max().item(),
        "probabilities": (weights - probabilities).abs().max().item(),
        "expected label embedding": (expected - probabilities @ classifier.score.weight).abs().max().item(),
        "accuracy": (weights.argmax(dim=-1) == answers).float().mean().item(),
    }


def report(cooled: dict[float, dict[str, Tensor]], compared: dict[str, Tensor], read: dict[str, float]) -> None:
    """Prints a table for each of the three."""
    print(f"asked for the colour {ASKED}: weights by temperature (cosine), the price, and its slope")
    print("  temperature" + "".join(f"{name:>9}" for name in NAMES) + "    price    slope")
    for temperature, found in cooled.items():
        shares = "".join(f"{weight:9.3f}" for weight in found["weights"].tolist())
        print(f"  {temperature:>11g}{shares}{found['price'].item():9.2f}{found['slope'].norm().item():9.2f}")

    print("\neach paint asked for by a slightly wrong colour: how often itself was found, or else what most often")
    print("  asked for   " + "".join(f"{way:>26}" for way in compared))
    for i, name in enumerate(NAMES):
        print(f"  {name:<12}" + "".join(f"{_who(shares[i].tolist(), i):>26}" for shares in compared.values()))
    print("  on average  " + "".join(f"{shares.diag().mean().item():>26.1%}" for shares in compared.values()))
    print(f"  for keys of one length, dot product and cosine agree on {agreement(1_000):.1%} of 1,000 colours")

    print(f"\na classifier ({read['accuracy']:.1%} right on new points) and attention over its labels differ by")
    for what in ("logits", "probabilities", "expected label embedding"):
        print(f"  {what:<26}{read[what]:.1e} at most")


def _who(shares: list[float], asked: int) -> str:
    others = [-1.0 if i == asked else share for i, share in enumerate(shares)]
    most = max(others)
    return f"{shares[asked]:.1%}" + (f", {NAMES[others.index(most)]} {most:.1%}" if most > 0 else "")


def paint(cooled: dict[float, dict[str, Tensor]], to: str | Path) -> None:
    """The weights as a heat map: a row per temperature, a column per paint."""
    picture = Picture(660, 350, "Weights of a look-up over falling temperature")
    left, top, cell = 130, 70, 30
    picture.text(20, 26, "A golden yellow is asked for: each paint's weight as the temperature falls")
    heat_map(picture, left, top, cell, [found["weights"].tolist() for found in cooled.values()], wide=2)
    for x, name in enumerate(NAMES):
        picture.text(left + 2 * cell * (x + 0.5), top - 8, name, anchor="middle")
    for y, temperature in enumerate(cooled):
        words = {math.inf: "infinite", 0.0: "0 (exact)"}.get(temperature, f"{temperature:g}")
        picture.text(left - 8, top + cell * y + 20, words, anchor="end")
        for x, weight in enumerate(cooled[temperature]["weights"].tolist()):
            ink, middle = "#ffffff" if weight > 0.45 else "#000000", left + 2 * cell * (x + 0.5)
            picture.text(middle, top + cell * y + 20, f"{weight:.3f}", anchor="middle", colour=ink)
    picture.text(left, top + cell * len(cooled) + 24, "darker is more; each row sums to 1")
    picture.save(to)


def main(*, asks: int = 1_000, seed: int = 0, to: str | Path | None = None) -> dict[str, dict]:
    """A look-up at every temperature, compares two ways to match, reads a classifier as a look-up."""
    results = {
        "cooled": cool(TEMPERATURES),
        "compared": compare(asks, seed=seed),
        "read": read_classifier(*train_classifier(seed=seed)),
    }
    report(*results.values())
    if to:
        paint(results["cooled"], to)
    return results


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Attention as a look-up in a table.")
    parser.add_argument("--asks", type=int, default=1_000, help="how often each paint is asked for")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--short", action="store_true", help="ask less often")
    parser.add_argument("--to", metavar="FILE.svg", help="where to draw the weights")
    given = parser.parse_args()
    torch.set_num_threads(1)  # small tensors: threads would only wait for each other
    main(**(SHORT if given.short else {"asks": given.asks}), seed=given.seed, to=given.to)
