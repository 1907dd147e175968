"""A lexicon learned by counting: how likely a source token becomes a target token, and the other way round.

First words alone are counted (IBM Model 1, Brown et al. 1993), then what both directions agree on (Liang et al. 2006),
then with the HMM over positions (hmm.py), which separates a word from a frequent neighbour. It takes seconds: enough
for a shortlist, and to find the attention heads that align.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from regard.alignment.hmm import Array, counted_jumps, first_jumps, follow
from regard.alignment.lexical_table import RAREST, LexicalTable
from regard.alignment.links import UNLIKE
from regard.data.tokens import EncodedPairs, TokenLists

ROUNDS_ALONE, ROUNDS_AGREED, ROUNDS_ORDERED = 2, 3, 4  # of counting
PART = 2000  # pairs of sentences whose links are made at a time
MOST_LINKS = 8_000_000  # pairs of tokens that are counted; of a larger text, pairs of sentences are taken at intervals
LINKS_AT_ONCE = 100_000  # that are followed in their order


@dataclass(frozen=True)
class Lexicon:
    """For each source and target token that were seen together, the probability of each given the other; and the
    HMM's jump probabilities in the source and in the target.
    """

    vocab_size: int
    keys: Tensor  # (N,) source * vocab_size + target, ascending
    probabilities: Tensor  # (N,) of the target given the source
    back: Tensor  # (N,) of the source given the target
    jumps: tuple[Array, Array]  # in the source, in the target

    def likely(self, count: int) -> dict[int, list[int]]:
        """For each source token, the `count` likeliest targets, likeliest first."""
        sources, targets = self.keys // self.vocab_size, self.keys % self.vocab_size  # (N,) each
        order = torch.argsort(self.probabilities, descending=True, stable=True)
        order = order[torch.argsort(sources[order], stable=True)]  # by source, likeliest first
        sizes = torch.bincount(sources, minlength=self.vocab_size)  # (V,)
        ranks = torch.arange(len(order)) - (sizes.cumsum(0) - sizes)[sources[order]]  # (N,) within its source
        order = order[ranks < count]
        found: dict[int, list[int]] = {}
        for source, target in zip(sources[order].tolist(), targets[order].tolist(), strict=True):
            found.setdefault(source, []).append(target)
        return found

    def kept(self) -> LexicalTable:
        """As saved: without unlikely entries."""
        is_kept = torch.maximum(self.probabilities, self.back) > RAREST
        keys, probabilities, back = (one[is_kept].numpy() for one in (self.keys, self.probabilities, self.back))
        return LexicalTable(keys // self.vocab_size, keys % self.vocab_size, probabilities, back, self.jumps)


def learn_lexicon(pairs: EncodedPairs, vocab_size: int, is_word: Tensor) -> Lexicon:
    """Expectation maximization over which tokens occur together.

    pairs: each side with its end; is_word (V,): which tokens have letters: a mark is not what a word comes from
    """
    links = int(np.multiply(pairs.sources.lengths, pairs.targets.lengths, dtype=np.int64).sum())
    chosen = pairs.sample(-(-len(pairs) // max(1, -(-links // MOST_LINKS))))
    sides = _Side.of(chosen.sources), _Side.of(chosen.targets)
    keys, where, steps, places = _links(sides, vocab_size)
    sources, targets = keys // vocab_size, keys % vocab_size  # (N,) each
    probabilities, back = _count(where, (steps, places), (sources, targets), vocab_size)
    del steps, places
    fits = torch.where(is_word[sources] == is_word[targets], 1.0, UNLIKE)  # (N,)
    lengths = tuple(side.lengths.numpy() for side in sides)
    forward = _follow_all(where.numpy(), lengths, sources, probabilities, fits, vocab_size, is_back=False)
    backward = _follow_all(where.numpy(), lengths, targets, back, fits, vocab_size, is_back=True)
    return Lexicon(vocab_size, keys, forward[0], backward[0], (forward[1], backward[1]))


@dataclass(frozen=True)
class _Side:
    """One side of all pairs that are counted."""

    flat: Tensor  # (all tokens,)
    starts: Tensor  # (R,)
    lengths: Tensor  # (R,)

    @classmethod
    def of(cls, lists: TokenLists) -> "_Side":
        flat, starts = (torch.from_numpy(array) for array in lists.whole())
        return cls(flat, starts, torch.from_numpy(lists.lengths.astype(np.int64)))


Sides = tuple[_Side, _Side]  # sources, targets


def _links(sides: Sides, vocab_size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Every source token with every target token of its pair: the entries (N,), and of each link (L,) its entry, and
    which target and which source token of the text it is. In parts and in few bytes: these are the largest things that
    a training holds.
    """
    count = int((sides[0].lengths * sides[1].lengths).sum())
    small = torch.int32 if vocab_size**2 <= torch.iinfo(torch.int32).max else torch.int64
    every = torch.empty(count, dtype=small)  # (L,) entries by their keys
    steps, places = torch.empty(count, dtype=torch.int32), torch.empty(count, dtype=torch.int32)  # (L,) each
    known = torch.empty(0, dtype=small)  # (N,)
    start = seen = 0
    for part in torch.arange(len(sides[0].starts)).split(PART):
        sources, targets, mine, their = _links_of(sides, part)
        here = slice(start, start + len(sources))
        every[here], steps[here], places[here] = sources * vocab_size + targets, mine + seen, their
        known = torch.unique(torch.cat([known, torch.unique(every[here])]))
        start += len(sources)
        seen += int(sides[1].lengths[part].sum())
    where = every if small == torch.int32 else torch.empty_like(steps)
    for there, keys in zip(where.split(LINKS_AT_ONCE), every.split(LINKS_AT_ONCE), strict=True):
        there.copy_(torch.searchsorted(known, keys))
    return known.long(), where, steps, places


def _count(
    where: Tensor, explained: tuple[Tensor, Tensor], givers: tuple[Tensor, Tensor], vocab_size: int
) -> tuple[Tensor, Tensor]:
    """Translation probabilities in both directions: at first each by itself (IBM Model 1), then by what both agree on.

    where (L,): the entry of each link; explained (L,): which token of the text it explains; givers (N,): of each entry
    """
    probabilities = [torch.ones(len(givers[0])) for _ in explained]
    for number in range(ROUNDS_ALONE + ROUNDS_AGREED):
        shares = []  # (L,) of each link among all that explain the same token
        for table, tokens in zip(probabilities, explained, strict=True):
            weights = table.index_select(0, where)  # (L,)
            mass = torch.zeros(int(tokens.max()) + 1).index_add_(0, tokens, weights)
            shares.append(weights.div_(mass.index_select(0, tokens)))
        if number >= ROUNDS_ALONE:
            shares = [shares[0].mul_(shares[1])] * 2
        probabilities = [_shares(where, share, giver, vocab_size) for share, giver in zip(shares, givers, strict=True)]
    return probabilities[0], probabilities[1]


def _shares(where: Tensor, weights: Tensor, givers: Tensor, vocab_size: int) -> Tensor:
    """Of what each giver gives, the share of each entry: (L,), (L,), (N,) -> (N,)."""
    counts = torch.zeros(len(givers)).index_add_(0, where, weights)
    totals = torch.zeros(vocab_size).index_add_(0, givers, counts)
    return counts / totals[givers].clamp(min=1e-9)


def _follow_all(
    where: Array, lengths: tuple[Array, ...], givers: Tensor, probabilities: Tensor, fits: Tensor, vocab_size: int, *,
    is_back: bool,
) -> tuple[Tensor, Array]:  # fmt: skip
    """Counts again, by the order in which the givers' side is read; the ends of texts are left out.

    where (L,): of each pair, entries by target and source; lengths: tokens of its source and of its target
    """
    starts = np.cumsum(lengths[0] * lengths[1]) - lengths[0] * lengths[1]  # (R,)
    groups, jumps = _alike(lengths[is_back], lengths[not is_back]), first_jumps()
    found = np.zeros(len(where), np.float32)
    for _ in range(ROUNDS_ORDERED):
        table = (probabilities * fits).numpy()
        made = np.zeros(len(jumps))
        for rows in groups:
            ours, theirs = lengths[is_back][rows[0]] - 1, lengths[not is_back][rows] - 1  # one, (B,)
            each = np.minimum(np.arange(theirs.max()), theirs[:, None] - 1)  # (B, T) what is too many is not counted
            place = np.arange(ours)  # (S,)
            by_source = lengths[0][rows][:, None, None]  # links between one target token and the next
            target, source = (place[None, None], each[:, :, None]) if is_back else (each[:, :, None], place[None, None])
            links = starts[rows][:, None, None] + target * by_source + source  # (B, T, S)
            likely, counts = follow(table[where[links]], theirs, jumps)
            is_real = (np.arange(theirs.max()) < theirs[:, None])[:, :, None] & np.ones(ours, bool)  # (B, T, S)
            found[links[is_real]] = likely[is_real]
            made += counts
        jumps = counted_jumps(made)
        probabilities = _shares(torch.from_numpy(where), torch.from_numpy(found), givers, vocab_size)
    return probabilities * fits, jumps


def _alike(ours: Array, theirs: Array) -> list[Array]:
    """Rows of pairs that are followed together: as long on our side, and about as long on theirs. Not empty ones."""
    order = np.lexsort((theirs, ours))
    order = order[(ours[order] > 1) & (theirs[order] > 1)]
    groups: list[list[int]] = []
    for row in order:
        if (
            groups
            and ours[groups[-1][0]] == ours[row]
            and (len(groups[-1]) + 1) * ours[row] * theirs[row] <= LINKS_AT_ONCE
        ):
            groups[-1].append(row)
        else:
            groups.append([row])
    return [np.array(rows) for rows in groups]


def _links_of(sides: Sides, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Every source token with every target token of its pair: (L,) sources, targets, and which target token of the
    text it is, and which source token."""
    sources, targets = sides
    source_starts, source_sizes = sources.starts[rows], sources.lengths[rows]  # (R,) each
    target_starts, target_sizes = targets.starts[rows], targets.lengths[rows]  # (R,) each
    owner = torch.repeat_interleave(torch.arange(len(rows)), target_sizes)  # (T,) the pair of each target token
    first = torch.cumsum(target_sizes, 0) - target_sizes  # (R,)
    target_places = target_starts[owner] + torch.arange(len(owner)) - first[owner]  # (T,)
    sizes = source_sizes[owner]  # (T,) how many sources each target token is linked with
    steps = torch.repeat_interleave(torch.arange(len(owner)), sizes)  # (L,)
    begin = torch.cumsum(sizes, 0) - sizes  # (T,)
    source_places = source_starts[owner][steps] + torch.arange(len(steps)) - begin[steps]  # (L,)
    flat = sources.flat[source_places], targets.flat[target_places[steps]]
    return *flat, steps, source_places
