"""Which of several texts is closest to all of them, by chrF: minimum Bayes risk of translations that were sampled.

Nothing but Python: pairs of texts by the thousand, which share what is counted of each.
"""

from collections import Counter
from collections.abc import Sequence

ORDER = 6  # longest character n-grams, and how many times recall counts more: as sacrebleu's chrF has them
BETA = 2.0

Ngrams = list[Counter[str]]  # of each length


def count_ngrams(text: str) -> Ngrams:
    """How often each run of 1 to 6 characters is in a text; blanks do not count."""
    letters = "".join(text.split())
    return [Counter(letters[i : i + size] for i in range(len(letters) - size + 1)) for size in range(1, ORDER + 1)]


def chrf(text: Ngrams, reference: Ngrams) -> float:
    """The F-score of the n-grams that a text shares with a reference, 0 to 100; lengths that one lacks are left out."""
    precision = recall = 0.0
    sizes = 0
    for mine, theirs in zip(text, reference, strict=True):
        if not mine or not theirs:
            break  # nor are there longer ones
        shared = sum((mine & theirs).values())
        precision += shared / mine.total()
        recall += shared / theirs.total()
        sizes += 1
    if not precision:
        return 0.0
    precision, recall = precision / sizes, recall / sizes
    return 100 * (1 + BETA**2) * precision * recall / (BETA**2 * precision + recall)


def closest_to_all(texts: Sequence[str]) -> int:
    """Where the text is whose mean chrF with all of them as references is highest; of equals, the first."""
    counts = Counter(texts)
    if len(counts) == 1:
        return 0
    ngrams = {text: count_ngrams(text) for text in counts}
    means = {
        text: sum(times * chrf(mine, ngrams[other]) for other, times in counts.items())
        for text, mine in ngrams.items()
    }  # fmt: skip
    return texts.index(max(means, key=means.__getitem__))
