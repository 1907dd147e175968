"""What `regard look` traces of an answerer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch

from regard.look.attribution import Why
from regard.look.cancel import check_cancelled
from regard.look.inspection import Inspection, Kind, TokenScore

if TYPE_CHECKING:
    from regard.families.answer.pipeline import Answerer


def look_at_answer(answerer: Answerer, question: str, story: Any, why: bool) -> Inspection:
    """The attention of each hop over a story, and the importance of each sentence."""
    answer = answerer.answer(story, question)
    rows = [f"hop {number}" for number in range(1, len(answer.hops) + 1)]
    weights = torch.tensor(answer.hops)[None, None]  # (1, 1, hops, M)
    kind = Kind(rows, answer.sentences, weights, list(range(len(rows))), list(range(len(answer.sentences))))
    probabilities = answerer.probabilities(answer.sentences, question)
    scores = [TokenScore(len(rows) - 1, answer.text, answer.probability, probabilities[:8])]
    reasons = None
    if why:
        lost = []
        for gone in range(len(answer.sentences)):
            check_cancelled()
            rest = [sentence for place, sentence in enumerate(answer.sentences) if place != gone]
            found = dict(answerer.probabilities(rest, question)) if rest else {}
            lost.append(answer.probability - found.get(answer.text, 0.0))
        reasons = Why([], [lost], [], [])
    return Inspection("answer", question, answer.text, {"hops": kind}, scores, why=reasons, notes=answer.notes)
