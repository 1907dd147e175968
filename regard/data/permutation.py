"""A pseudo-random order of any number of things, of which any part is computed alone, in no memory."""

import numpy as np
from numpy.typing import NDArray

from regard.device import derive_seed

ROUNDS = 6
ODD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD6E8FEB86659FD93))  # multipliers that spread bits

Numbers = NDArray[np.int64]


class Permutation:
    """place -> number, one to one, both below `count`: a Feistel network over the bits of a place."""

    def __init__(self, count: int, *seed: object) -> None:
        bits = max(2, (count - 1).bit_length())
        self.count = count
        self._low = np.uint64(bits // 2)  # bits of the lower half
        self._masks = np.uint64((1 << bits // 2) - 1), np.uint64((1 << (bits - bits // 2)) - 1)
        self._keys = [np.uint64(derive_seed(*seed, number)) for number in range(ROUNDS)]

    def __call__(self, places: Numbers) -> Numbers:
        """The numbers at these places."""
        found = self._mix(places.astype(np.uint64))
        outside = np.flatnonzero(found >= self.count)
        while len(outside):  # the network permutes up to the next power of two: follow it back into the range
            found[outside] = self._mix(found[outside])
            outside = outside[found[outside] >= self.count]
        return found.astype(np.int64)

    def _mix(self, places: NDArray[np.uint64]) -> NDArray[np.uint64]:
        low, high = places & self._masks[0], places >> self._low
        for number, key in enumerate(self._keys):
            if number % 2:
                low ^= _scatter(high, key) & self._masks[0]
            else:
                high ^= _scatter(low, key) & self._masks[1]
        return high << self._low | low


def _scatter(values: NDArray[np.uint64], key: np.uint64) -> NDArray[np.uint64]:
    """Numbers that look random, by key."""
    values = (values ^ key) * ODD[0]
    values ^= values >> np.uint64(32)
    values *= ODD[1]
    return values ^ values >> np.uint64(29)
