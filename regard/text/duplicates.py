"""Counts duplicates in a stream of any length: exactly while there is room for all, then by a sample of the hashes."""

MOST = 4_000_000  # hashes that are held; 60 bytes each


class Duplicates:
    """What was seen: all of it, or of many texts those whose hashes are multiples of `one_in`, a power of 2."""

    def __init__(self, most: int = MOST) -> None:
        self.one_in, self._most = 1, most
        self._seen: set[int] = set()

    def add(self, text: str) -> int:
        """How many duplicates this text stands for: 0 if it is new, or not in the sample."""
        number = hash(text)
        if number % self.one_in:
            return 0
        if number in self._seen:
            return self.one_in
        self._seen.add(number)
        if len(self._seen) > self._most:
            self.one_in *= 2
            self._seen = {one for one in self._seen if one % self.one_in == 0}
        return 0
