"""Which target words are worth considering for a source: the likely ones of each of its words, and those of all.

A shortlist is a text file as CTranslate2 reads it: a source piece, a tab, target pieces; the line without a source
piece holds what is always considered.
"""

from collections.abc import Sequence

import torch

from regard.alignment.learn import Lexicon
from regard.data.tokens import EncodedPairs

LIKELY = 30  # targets for each source token
COMMON = 100  # targets for all: the most frequent ones


def make_shortlist(
    lexicon: Lexicon, pairs: EncodedPairs, pieces: Sequence[str], always: Sequence[int], most: int = LIKELY
) -> str:
    """always: ids that must stay within reach, whatever is translated; a source piece may always be copied."""
    seen = torch.from_numpy(pairs.targets.whole()[0])
    frequent = torch.bincount(seen, minlength=len(pieces)).argsort(descending=True, stable=True)
    everywhere = list(dict.fromkeys([*always, *frequent[:COMMON].tolist()]))
    likely = lexicon.likely(most)
    known = set(everywhere)
    lines = ["\t" + " ".join(pieces[number] for number in everywhere)]
    for source in range(len(pieces)):
        listed = [number for number in dict.fromkeys([source, *likely.get(source, [])]) if number not in known]
        if listed:
            lines.append(f"{pieces[source]}\t" + " ".join(pieces[number] for number in listed))
    return "\n".join(lines) + "\n"
