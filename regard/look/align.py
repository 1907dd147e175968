"""From where each subword was read to which words belong together. Imports no torch; knows tokens and numbers.

A decoder looks for a word of the source when that word is to be said, and again, more clearly, when it has just been
said: so a token is aligned by the row of the step after it, the one that has it as its newest token.
"""

from collections.abc import Sequence

Links = list[tuple[int, int]]  # (word of the source, word of the target), both from 0


def words_of(tokens: Sequence[str]) -> list[int | None]:
    """The word that each token begins in, counted by the spaces in between; None for one that is only space."""
    words: list[int | None] = []
    word, is_inside = -1, False
    for token in tokens:
        first = None
        for letter in token:
            if letter.isspace():
                is_inside = False
                continue
            if not is_inside:
                word, is_inside = word + 1, True
            first = word if first is None else first
        words.append(first)
    return words


def align_words(looks: Sequence[Sequence[float]], source_tokens: Sequence[str], target_tokens: Sequence[str]) -> Links:
    """Which words belong together: of each token of the target, the one token of the source it looked at most.

    looks (T, S + 1): of each token, where the step after it looked; where that step was not taken, nothing is known.
    The last column, the end of the source, is nothing to align with.
    """
    sources, targets = words_of(source_tokens), words_of(target_tokens)
    links = set()
    for target, row in zip(targets, looks, strict=False):
        source = sources[max(range(len(sources)), key=row.__getitem__)] if sources else None
        if source is not None and target is not None:
            links.add((source, target))
    return sorted(links)


def to_pharaoh(links: Links) -> str:
    """As in `0-0 1-2`."""
    return " ".join(f"{source}-{target}" for source, target in links)
