"""What `regard look` traces of a translator."""

from __future__ import annotations

from typing import TYPE_CHECKING

from regard.decoding.found import Hypothesis
from regard.decoding.settings import Search
from regard.engines.layout import default_limit
from regard.errors import ConfigError
from regard.families.translate.parts import Part
from regard.families.translate.translation import Translation, join, notes_on
from regard.look.attribution import explain_pair
from regard.look.inspection import Inspection
from regard.look.joined import join_inspections
from regard.look.trace import trace_pair
from regard.text.given import a_text

if TYPE_CHECKING:
    from regard.families.translate.pipeline import Translator


def look_at_pair(translator: Translator, text: str, target: str | None, search: Search, why: bool) -> Inspection:
    """The attention of a translator while it translates a text, part by part, or over a forced `target`."""
    (parts,) = translator.split([text], None if target is None else False)
    if not parts or any(part.is_cut for part in parts):
        what = f"translated in {len(parts)} parts; look at one of them" if parts else "blank; there is nothing to see"
        raise ConfigError(f"the text is {what}")
    seen = [_look_at_part(translator, part, target, search, why) for part in parts]
    notes = notes_on(translator.tokenizer, text, [part.ids for part in parts])
    made = [
        Translation(one.answer, 0.0, [], translator.tokenizer.tokens(part.ids[:-1]), one.alignment)
        for one, part in zip(seen, parts, strict=True)
    ]
    whole = join(made, parts, translator.target_language)
    return join_inspections(seen, text.strip(), whole.text, whole.alignment, notes)


def _look_at_part(translator: Translator, part: Part, target: str | None, search: Search, why: bool) -> Inspection:
    tokenizer, source = translator.tokenizer, part.ids
    if target is None:
        best = translator.run([source], [default_limit(len(source))], search)[0][0]
        generated = [*best.ids, *(translator.generation.ends[:1] if best.is_finished else [])]
    else:
        generated = tokenizer.encode_targets([a_text(target, "a translation").strip()])[0]
        translator.refuse_long("target", generated)
    if not generated:
        raise ConfigError("the translation is empty, so there is nothing to show; give a target")
    model = translator.model
    kinds, scores, logit_lens = trace_pair(model, tokenizer, (source, generated))
    aligning = translator.alignment_heads
    attention = kinds["cross"].weights[aligning["layer"]][aligning["heads"]].mean(0).tolist()  # (T, S)
    ids = generated[:-1] if generated[-1] in (*translator.generation.ends, tokenizer.end_id) else generated
    links = translator.aligner.align(source, Hypothesis(ids, 0.0, len(ids) < len(generated), attention))
    reasons = explain_pair(model, tokenizer, (source, generated), kinds["cross"].column_words) if why else None
    return Inspection(
        "translate", part.text, tokenizer.decode(ids), kinds, scores, links, aligning, logit_lens, reasons,
        head_roles=translator.info.head_roles,
    )  # fmt: skip
