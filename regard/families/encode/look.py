"""What `regard look` traces of an encoder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.look.inspection import Inspection
from regard.look.trace import trace_text

if TYPE_CHECKING:
    from regard.families.encode.pipeline import Encoder


def look_at_reader(trained: Encoder, text: str, ids: list[int], notes: list[str]) -> Inspection:
    """The attention of each token of a text, in an encoder."""
    kinds, _, _ = trace_text(trained.model, trained.tokenizer, ids, [])
    return Inspection("encode", text, "", kinds, notes=notes)
