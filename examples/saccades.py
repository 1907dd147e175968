"""Eyes that move: finds and reads a digit by four small glimpses, each placed by what the ones before it showed.

The digits are scikit-learn's, of 8x8 pixels, and each is in the left or in the right half of a field of 16x8. The
network never sees the whole. A glimpse is four numbers: 2x2 pixels as they are (fine), or 4x4 pixels blurred into 2x2
(coarse); 32 fine and 21 coarse places are there to choose from. To choose one is hard attention: what was seen so far
makes the query, every place has a key, the best match is glimpsed. A hard choice has no slope, so the chooser learns
from success: choices that led to a better answer than expected become likelier (REINFORCE), and what to expect is
learned too. The answer itself learns by its loss, as usual.

The same network is trained alike with places chosen at random, and with learned places that are the same for every
image. The first shows what it is worth to learn where to look, the second what it is worth to look again.

    pip install scikit-learn
    python examples/saccades.py --to saccades.svg
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from chart import COLOURS, GREY, Picture, heat_map
from torch import Tensor, nn

from regard.model.attention import hard_attention

# Left, top and size of every glimpse there is, in pixels; in the order of `cut`.
FINE = [(x, y, 2) for y in range(0, 8, 2) for x in range(0, 16, 2)]
COARSE = [(x, y, 4) for y in range(0, 6, 2) for x in range(0, 14, 2)]
PLACES = FINE + COARSE
GLIMPSES, HELD_OUT = 4, 500
CHOOSERS = ("what was seen", "learned, but fixed", "at random")
SHORT = {"seeds": (0,), "steps": 300, "choosers": ("what was seen", "at random")}


def load() -> tuple[Tensor, Tensor]:
    """Images (1797, 8, 8) from 0 to 1, and their labels (1797,)."""
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        raise SystemExit("saccades.py needs the digits of scikit-learn, which is not installed; "
                         "install it with: pip install scikit-learn") from error  # fmt: skip
    digits = load_digits()
    return torch.tensor(digits.images, dtype=torch.float32) / 16, torch.tensor(digits.target)


def stand(images: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
    """Each digit once in the left half and once in the right: (B, 8, 8), (B,) -> (2 B, 8, 16), (2 B,)."""
    return torch.cat([F.pad(images, (0, 8)), F.pad(images, (8, 0))]), labels.repeat(2)


def cut(fields: Tensor) -> Tensor:
    """Every glimpse there is: (B, 8, 16) -> (B, N, 4)."""
    fine = F.unfold(fields[:, None], 2, stride=2)  # (B, 4, 32)
    blurred = F.avg_pool2d(fields[:, None], 2)  # (B, 1, 4, 8)
    return torch.cat([fine, F.unfold(blurred, 2)], dim=-1).transpose(1, 2)  # (B, 4, 32 + 21) -> (B, N, 4)


@dataclass(frozen=True)
class Run:
    """What came of a batch: logits (B, 10), and for each glimpse (B, GLIMPSES) …"""

    logits: Tensor
    path: Tensor  # which place was chosen
    likely: Tensor  # log of how likely that choice was
    open: Tensor  # entropy: how undecided the chooser was
    expected: Tensor  # the reward it reckoned with before it looked


class Reader(nn.Module):
    """Glimpses four places, then classifies the digit."""

    def __init__(self, chooser: str, width: int = 64, key_width: int = 16) -> None:
        super().__init__()
        self.chooser = chooser
        # What is remembered is a map: four numbers and a 1 where it has looked, zeros where it has not.
        self.think = nn.Sequential(
            nn.Linear(len(PLACES) * 5, 2 * width), nn.ReLU(), nn.Linear(2 * width, width), nn.ReLU()
        )
        self.keys = nn.Parameter(torch.randn(len(PLACES), key_width))  # (N, K)
        self.ask = nn.Linear(width, key_width)
        self.habit = nn.Parameter(torch.zeros(GLIMPSES, key_width))  # what it asks for whatever it has seen
        self.expect = nn.Linear(width, 1)
        self.answer = nn.Linear(width, 10)

    def query(self, thought: Tensor, turn: int) -> Tensor:
        """What it wants to see next: thought (B, D) -> (B, K). At random: nothing, so that all places are alike."""
        if self.chooser == "at random":
            return torch.zeros(len(thought), self.keys.shape[1])
        habit = self.habit[turn].expand(len(thought), -1)  # (B, K)
        # A quarter, so that at first all choices are about as likely and each is tried.
        return habit if self.chooser == "learned, but fixed" else habit + self.ask(thought) / 4

    def forward(self, glimpses: Tensor, *, explore: bool) -> Run:
        """glimpses (B, N, 4), of which it sees four. To explore: choose by chance, the better the likelier."""
        memory = F.pad(torch.zeros_like(glimpses), (0, 1))  # (B, N, 5)
        is_new = torch.ones(glimpses.shape[:2], dtype=torch.bool)  # (B, N)
        turns = []
        for turn in range(GLIMPSES):
            thought = self.think(memory.flatten(1))  # (B, D)
            query = self.query(thought, turn)  # (B, K)
            seen, choice = self.look(query, glimpses, is_new, by_chance=explore or self.chooser == "at random")
            log_probs = (query @ self.keys.T).masked_fill(~is_new, -1e9).log_softmax(dim=-1)  # (B, N)
            expected = self.expect(thought.detach())[:, 0]  # the forecast must not shape the thought
            likely, entropy = (log_probs * choice).sum(dim=-1), -(log_probs.exp() * log_probs).sum(dim=-1)  # (B,) each
            turns.append((choice.argmax(dim=-1), likely, entropy, expected))
            memory = memory + choice[..., None] * F.pad(seen, (0, 1), value=1.0)[:, None]  # (B, N, 5)
            is_new = is_new & (choice == 0)
        logits = self.answer(self.think(memory.flatten(1)))  # (B, 10)
        return Run(logits, *(torch.stack(column, dim=1) for column in zip(*turns, strict=True)))

    @torch.no_grad()
    def look(self, query: Tensor, glimpses: Tensor, is_new: Tensor, *, by_chance: bool) -> tuple[Tensor, Tensor]:
        """What is at the place that matches best (B, 4), and the choice (B, N). No place is chosen twice.

        By chance: the best of all matches plus Gumbel noise is a draw from their softmax. The noise is one more column
        of the keys, for which every query has a 1.
        """
        keys = self.keys.expand(len(query), -1, -1)  # (B, N, K)
        noise = -torch.empty(*keys.shape[:2], 1).exponential_().log() * by_chance  # (B, N, 1)
        query, keys = F.pad(query, (0, 1), value=1.0), torch.cat([keys, noise], dim=-1)  # (B, K + 1), (B, N, K + 1)
        return hard_attention(query, keys, glimpses, may_attend=is_new)


def loss_of(run: Run, labels: Tensor, openness: float) -> tuple[Tensor, float]:
    """What to make smaller, and the mean reward: the log-probability of the right answer."""
    surprise = F.cross_entropy(run.logits, labels, reduction="none")  # (B,)
    reward = -surprise.detach()[:, None]  # (B, 1): the same for each glimpse on the way
    better = reward - run.expected  # (B, GLIMPSES): than expected
    # In units of its own spread: near the end all answers are good, and what still makes them better must count.
    gain = better.detach() / better.detach().std()
    choosing = -(gain * run.likely + openness * run.open).sum(dim=1).mean()
    return surprise.mean() + choosing + better.square().mean(), reward.mean().item()


def train(chooser: str, glimpses: Tensor, labels: Tensor, steps: int, seed: int) -> tuple[Reader, list[float]]:
    """A reader after so many steps of 256 images, and the mean reward of every step."""
    torch.manual_seed(seed)
    reader, rewards = Reader(chooser), []
    optimizer = torch.optim.Adam(reader.parameters())
    rates = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.01, total_steps=steps, pct_start=0.1)
    for step in range(steps):
        some = torch.randint(len(labels), (256,))
        # Who decides too soon never finds the better places: being undecided is rewarded, less and less.
        loss, reward = loss_of(reader(glimpses[some], explore=True), labels[some], 0.1 * (1 - step / steps))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(reader.parameters(), 1.0)
        optimizer.step()
        rates.step()
        rewards.append(reward)
    return reader, rewards


@torch.no_grad()
def evaluate(reader: Reader, glimpses: Tensor, labels: Tensor) -> dict[str, float]:
    """On digits it has not seen: right answers, how many different sets of places, what share of glimpses was fine."""
    run = reader(glimpses, explore=False)
    return {
        "right": (run.logits.argmax(dim=-1) == labels).float().mean().item(),
        "sets": float(len(run.path.sort(dim=-1).values.unique(dim=0))),  # in whatever order
        "fine": (run.path < len(FINE)).float().mean().item(),
    }


def report(results: dict[str, list[dict[str, float]]], seeds: Sequence[int]) -> None:
    """Prints right answers for each chooser and seed."""
    print(f"{HELD_OUT} new digits, each left and right; {GLIMPSES} glimpses of 4 numbers each: right answers")
    heads = "".join(f"{f'seed {seed}':>9}" for seed in seeds)
    print(f"  {'places chosen by':<20}{heads}     mean   sets of places   fine glimpses")
    for chooser, scores in results.items():
        shares = [one["right"] for one in scores]
        means = {name: sum(one[name] for one in scores) / len(scores) for name in ("right", "sets", "fine")}
        cells = "".join(f"{share:9.1%}" for share in [*shares, means["right"]])
        print(f"  {chooser:<20}{cells}{means['sets']:17.1f}{means['fine']:16.0%}")


@torch.no_grad()
def paint(reader: Reader, fields: Tensor, labels: Tensor, to: str | Path) -> None:
    """Four kinds of digit, left and right, with the places of its glimpses: numbered, as large as their scale."""
    picture, pixel = Picture(920, 360, "Where a network looked to find and read a digit"), 13
    picture.text(24, 28, "Four glimpses at digits it has not seen, numbered in order; a large box is a coarse glimpse")
    rows = torch.cat([(labels == digit).nonzero()[[0, -1], 0] for digit in (1, 2, 4, 7)])  # (8,): the first is left
    run = reader(cut(fields[rows]), explore=False)
    for i, field in enumerate(fields[rows]):
        left, top = 24 + 224 * (i // 2), 50 + 170 * (i % 2)
        heat_map(picture, left, top, pixel, field.tolist(), darkest=1.8)  # pale, so that the boxes stand out
        boxes = [[number * pixel for number in PLACES[place]] for place in run.path[i].tolist()]
        for (x, y, size), colour in zip(boxes, COLOURS[1:], strict=True):
            picture.box(left + x + 1, top + y + 1, size - 2, size - 2, kind="glimpse", edge=colour, edge_width=2.5)
        # In the middle, which no two places share; and after the boxes, so that none is drawn across a number.
        for turn, (x, y, size) in enumerate(boxes):
            middle, above = left + x + size / 2, top + y + size / 2 - 6.5
            picture.box(middle - 4.5, above, 9, 13, kind="tag", fill=COLOURS[1 + turn])
            picture.text(middle, above + 11, str(turn + 1), anchor="middle", colour="#ffffff")
        predicted, label = run.logits[i].argmax().item(), labels[rows[i]].item()
        words = f"reads {predicted}" + ("" if predicted == label else f", is {label}")
        picture.text(left + 8 * pixel, top + 8 * pixel + 18, words, anchor="middle", colour=GREY)
    picture.save(to)


def main(
    seeds: Sequence[int] = (0, 1, 2),
    *,
    steps: int = 600,
    choosers: Sequence[str] = CHOOSERS,
    to: str | Path | None = None,
) -> dict[str, dict]:
    """Trains every chooser on every seed's own split -> the scores of each, and the rewards of the last trainings."""
    images, labels = load()
    results: dict[str, list[dict[str, float]]] = {chooser: [] for chooser in choosers}
    readers, rewards = {}, {}
    for seed in seeds:
        order = torch.randperm(len(labels), generator=torch.Generator().manual_seed(seed))
        old, new = (stand(images[some], labels[some]) for some in (order[HELD_OUT:], order[:HELD_OUT]))
        for chooser in choosers:
            readers[chooser], rewards[chooser] = train(chooser, cut(old[0]), old[1], steps, seed)
            results[chooser].append(evaluate(readers[chooser], cut(new[0]), new[1]))
    report(results, seeds)
    if to:
        paint(readers["what was seen"], *new, to)
    return {"scores": results, "rewards": rewards}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Reads digits from a few glimpses.")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--steps", type=int, default=600, help="training steps of 256 images")
    parser.add_argument("--short", action="store_true", help="one seed, fewer steps: a few seconds")
    parser.add_argument("--to", metavar="FILE.svg", help="where to draw the places of its glimpses")
    given = parser.parse_args()
    torch.set_num_threads(1)  # small tensors: threads would only wait for each other
    main(**(SHORT if given.short else {"seeds": given.seeds, "steps": given.steps}), to=given.to)
