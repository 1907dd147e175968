"""What `regard look` traces of a writer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.look.attribution import explain_text
from regard.look.inspection import Inspection
from regard.look.trace import trace_text

if TYPE_CHECKING:
    from regard.families.write.pipeline import Writer


def look_at_text(trained: Writer, text: str, ids: list[int], why: bool, notes: list[str]) -> Inspection:
    """The attention and the probability of each token of a text."""
    kinds, scores, logit_lens = trace_text(trained.model, trained.tokenizer, ids, None)
    reasons = (
        explain_text(trained.model, trained.tokenizer, ids, kinds["text"].column_words) if why and scores else None
    )
    return Inspection(
        "write", text, "", kinds, scores, logit_lens=logit_lens, why=reasons, notes=notes,
        head_roles=trained.info.head_roles,
    )  # fmt: skip
