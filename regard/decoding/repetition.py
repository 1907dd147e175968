"""A search that did not finish has often fallen into repetition: the same few tokens in a loop."""

REPEATS = 4  # fewer may be intended ("no, no, no")


def cut_repetition(ids: list[int]) -> list[int]:
    """The ids with a loop at their end cut to its first round; unchanged where there is none."""
    for period in range(1, len(ids) // REPEATS + 1):
        rounds = 1
        while ids[len(ids) - (rounds + 1) * period : len(ids) - rounds * period] == ids[-period:]:
            rounds += 1
        if rounds >= REPEATS:
            return ids[: len(ids) - (rounds - 1) * period]
    return ids
