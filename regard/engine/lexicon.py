"""A lexicon learned by counting: how likely a source token becomes a target token (IBM Model 1, Brown et al. 1993), and
the other way round.

It knows nothing of places and order, and is a matter of seconds: enough to say which words are worth considering, and
to tell a head that aligns from one that does not.
"""

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from regard.data.tokens import EncodedPairs
from regard.look.chances import UNKNOWN

ROUNDS = 5  # of counting; after so many the order of the likely ones no longer changes much
PART = 2000  # pairs of sentences whose links are made at a time
MOST_LINKS = 8_000_000  # pairs of tokens that are counted; of a larger text, pairs of sentences are taken at intervals


@dataclass(frozen=True)
class Lexicon:
    """For each source and target token that were seen together, how likely the second is given the first."""

    vocab_size: int
    keys: Tensor  # (N,) source * vocab_size + target, ascending
    chances: Tensor  # (N,) of the target given the source
    back: Tensor  # (N,) of the source given the target

    @cached_property
    def agreed(self) -> Tensor:
        """How likely both become each other: a frequent word goes with everything, but only in one direction. (N,)"""
        return (self.chances * self.back).sqrt()

    def look_up(self, sources: Tensor, targets: Tensor) -> Tensor:
        """How likely each target and each source become each other, 0 for what was never seen: (S,), (T,) -> (T, S)."""
        wanted = targets[:, None] + sources[None, :] * self.vocab_size  # (T, S)
        places = torch.searchsorted(self.keys, wanted).clamp(max=len(self.keys) - 1)  # (T, S)
        return torch.where(self.keys[places] == wanted, self.agreed[places], 0.0)

    def likely(self, count: int) -> dict[int, list[int]]:
        """For each source token, the `count` likeliest targets, likeliest first."""
        sources, targets = self.keys // self.vocab_size, self.keys % self.vocab_size  # (N,) each
        order = torch.argsort(self.chances, descending=True, stable=True)
        found: dict[int, list[int]] = {}
        for source, target in zip(sources[order].tolist(), targets[order].tolist(), strict=True):
            listed = found.setdefault(source, [])
            if len(listed) < count:
                listed.append(target)
        return found

    def pack(self) -> bytes:
        """As it is kept in a model's folder, without what is hardly ever so."""
        from safetensors.torch import save

        is_kept = self.agreed > UNKNOWN
        keys, chances = self.keys[is_kept], self.agreed[is_kept]
        sources, targets = (keys // self.vocab_size).int(), (keys % self.vocab_size).int()
        return bytes(save({"sources": sources, "targets": targets, "chances": chances}))


def learn_lexicon(pairs: EncodedPairs, vocab_size: int) -> Lexicon:
    """Counts which tokens stand together, again and again, each time by what the last count made likely."""
    links = int((pairs.sources.lengths * pairs.targets.lengths).sum())
    rows = torch.arange(0, len(pairs), max(1, -(-links // MOST_LINKS)))  # (R,)
    keys, where, steps, places = _links(pairs, rows, vocab_size)
    forward = _count(where, steps, keys // vocab_size)  # (N,)
    return Lexicon(vocab_size, keys, forward, _count(where, places, keys % vocab_size))


def _links(pairs: EncodedPairs, rows: Tensor, vocab_size: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Every source token with every target token of its pair: the entries (N,), and of each link (L,) its entry, and
    which target and which source token of the text it is. In parts and in few bytes: these are the largest things that
    a training holds.
    """
    keys, steps, places, said = [], [], [], 0
    for part in rows.split(PART):
        sources, targets, mine, their = _links_of(pairs, part)
        keys.append(sources * vocab_size + targets)
        steps.append((mine + said).int())
        places.append(their.int())
        said += int(pairs.targets.lengths[part].sum())
    every = torch.cat(keys)  # (L,)
    keys.clear()
    known, where = torch.unique(every, return_inverse=True)  # (N,), (L,)
    return known, where.int(), torch.cat(steps), torch.cat(places)


def _count(where: Tensor, said: Tensor, givers: Tensor) -> Tensor:
    """How likely what is said is, given what it may come from.

    where (L,): the entry of each link; said (L,): which token of the text it explains; givers (N,): of each entry
    """
    chances = torch.ones(len(givers))
    for _ in range(ROUNDS):
        weights = chances[where]  # (L,)
        mass = torch.zeros(int(said.max()) + 1).index_add_(0, said, weights)  # of each token, over all it may come from
        counts = torch.zeros(len(givers)).index_add_(0, where, weights / mass[said])  # (N,)
        totals = torch.zeros(int(givers.max()) + 1).index_add_(0, givers, counts)  # of each giver
        chances = counts / totals[givers]
    return chances


def _links_of(pairs: EncodedPairs, rows: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Every source token with every target token of its pair: (L,) sources, targets, and which target token of the
    text it is, and which source token."""
    source_starts, source_sizes = pairs.sources.starts[rows], pairs.sources.lengths[rows]  # (R,) each
    target_starts, target_sizes = pairs.targets.starts[rows], pairs.targets.lengths[rows]  # (R,) each
    owner = torch.repeat_interleave(torch.arange(len(rows)), target_sizes)  # (T,) the pair of each target token
    first = torch.cumsum(target_sizes, 0) - target_sizes  # (R,)
    target_places = target_starts[owner] + torch.arange(len(owner)) - first[owner]  # (T,)
    sizes = source_sizes[owner]  # (T,) how many sources each target token is linked with
    steps = torch.repeat_interleave(torch.arange(len(owner)), sizes)  # (L,)
    begin = torch.cumsum(sizes, 0) - sizes  # (T,)
    source_places = source_starts[owner][steps] + torch.arange(len(steps)) - begin[steps]  # (L,)
    flat = pairs.sources.flat[source_places].long(), pairs.targets.flat[target_places[steps]].long()
    return *flat, steps, source_places
