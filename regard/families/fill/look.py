"""What `regard look` traces of a filler."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from regard.look.attribution import explain_gaps
from regard.look.inspection import Inspection
from regard.look.trace import apply_logit_lens, as_batch, score_tokens, trace_text
from regard.model.capture import record_hidden
from regard.text.given import name_unknown

if TYPE_CHECKING:
    from regard.families.fill.pipeline import Filler


def look_at_gaps(trained: Filler, text: str, ids: list[int], gaps: list[int], why: bool) -> Inspection:
    """The attention of each token of a text, and what fills its gaps."""
    model, tokenizer, unknown = trained.model, trained.tokenizer, trained.unknown(text)
    notes = [name_unknown(unknown)] if unknown else []
    kinds, _, _ = trace_text(model, tokenizer, ids, [])
    if not gaps:
        return Inspection("fill", text, text, kinds, notes=notes, head_roles=trained.info.head_roles)
    with torch.inference_mode():
        with record_hidden(model) as states:
            logits = model.logits(model(as_batch(model, ids))[0, gaps])  # (gaps, V)
        logits[:, list(tokenizer.special_ids)] = -torch.inf  # a gap is never filled with one of these
        best = logits.argmax(-1).tolist()
        scores = score_tokens(logits, best, gaps, tokenizer)
        logit_lens = apply_logit_lens(model, model.stack, states["stack"], gaps, tokenizer)
    reasons = explain_gaps(model, tokenizer, ids, gaps, best, kinds["text"].column_words) if why else None
    return Inspection(
        "fill", text, trained.put_in(text, best), kinds, scores, logit_lens=logit_lens, why=reasons, notes=notes,
        head_roles=trained.info.head_roles,
    )  # fmt: skip
