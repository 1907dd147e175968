"""A search that found no end often found a loop: the same few tokens again and again."""

REPEATS = 4  # fewer may be meant ("no, no, no"), at the very end of a text that found no end


def without_runaway(ids: list[int]) -> list[int]:
    """The ids with a loop at their end cut to its first round; the same ids where there is no loop."""
    for period in range(1, len(ids) // REPEATS + 1):
        rounds = 1
        while ids[len(ids) - (rounds + 1) * period : len(ids) - rounds * period] == ids[-period:]:
            rounds += 1
        if rounds >= REPEATS:
            return ids[: len(ids) - (rounds - 1) * period]
    return ids
