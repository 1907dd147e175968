"""Inspections of trained models: a forced pass is traced, and put together to be shown."""

from __future__ import annotations

from typing import Any

import torch

from regard.decoding.found import Hypothesis
from regard.decoding.settings import Search
from regard.engines.layout import default_limit
from regard.errors import ConfigError
from regard.families.answer.pipeline import Answerer
from regard.families.fill.pipeline import Filler
from regard.families.pipeline import Pipeline
from regard.families.translate.pipeline import Translator
from regard.families.translate.translation import notes_on
from regard.look.attribution import Why, explain_gaps, explain_pair, explain_text
from regard.look.cancel import check_cancelled
from regard.look.inspection import Inspection, Kind, TokenScore
from regard.look.trace import as_batch, score_tokens, see_through, trace_pair, trace_text
from regard.model.capture import record_hidden
from regard.text.given import a_text, name_unknown


def look_at_pair(translator: Translator, text: str, target: str | None, search: Search, why: bool) -> Inspection:
    """The attention of a translator while it translates a text, or over a forced `target`."""
    tokenizer = translator.tokenizer
    _, parts, sources = translator.split([text])
    if len(parts) != 1:
        what = f"translated in {len(parts)} parts; look at one of them" if parts else "blank; there is nothing to see"
        raise ConfigError(f"the text is {what}")
    if target is None:
        best = translator.run(sources, [default_limit(len(sources[0]))], search)[0][0]
        said = [*best.ids, *(translator.generation.ends[:1] if best.is_finished else [])]
    else:
        said = tokenizer.encode_targets([a_text(target, "a translation").strip()])[0]
        translator.refuse_long("target", said)
    if not said:
        raise ConfigError("the translation is empty, so there is nothing to show; give a target")
    model = translator.model
    kinds, told, lens = trace_pair(model, tokenizer, (sources[0], said))
    aligning = translator.alignment_heads
    looks = kinds["cross"].weights[aligning["layer"]][aligning["heads"]].mean(0).tolist()  # (T, S)
    ids = said[:-1] if said[-1] in (*translator.generation.ends, tokenizer.end_id) else said
    links = translator.aligner.align(sources[0], Hypothesis(ids, 0.0, len(ids) < len(said), looks))
    reasons = explain_pair(model, tokenizer, (sources[0], said), kinds["cross"].column_words) if why else None
    return Inspection("translate", text.strip(), tokenizer.decode(ids), kinds, told, links, aligning, lens, reasons,
                notes_on(tokenizer, [text], [1], sources)[0])  # fmt: skip


def look_at_text(trained: Pipeline, task: str, text: str, ids: list[int], why: bool, notes: list[str]) -> Inspection:
    """The attention and the probability of each token of a text."""
    kinds, said, lens = trace_text(trained.model, trained.tokenizer, ids, None)
    reasons = explain_text(trained.model, trained.tokenizer, ids, kinds["text"].column_words) if why and said else None
    return Inspection(task, text, "", kinds, said, lens=lens, why=reasons, notes=notes)


def look_at_gaps(trained: Filler, text: str, ids: list[int], gaps: list[int], why: bool) -> Inspection:
    """The attention of each token of a text, and what fills its gaps."""
    model, tokenizer, unknown = trained.model, trained.tokenizer, trained.unknown(text)
    notes = [name_unknown(unknown)] if unknown else []
    kinds, _, _ = trace_text(model, tokenizer, ids, [])
    if not gaps:
        return Inspection("fill", text, text, kinds, notes=notes)
    with torch.inference_mode():
        with record_hidden(model) as states:
            logits = model.logits(model(as_batch(model, ids))[0, gaps])  # (gaps, V)
        logits[:, list(tokenizer.special_ids)] = -torch.inf  # a gap is never filled with one of these
        best = logits.argmax(-1).tolist()
        said = score_tokens(logits, best, gaps, tokenizer)
        lens = see_through(model, model.stack, states["stack"], gaps, tokenizer)
    reasons = explain_gaps(model, tokenizer, ids, gaps, best, kinds["text"].column_words) if why else None
    return Inspection("fill", text, trained.put_in(text, best), kinds, said, lens=lens, why=reasons, notes=notes)


def look_at_answer(answerer: Answerer, question: str, story: Any, why: bool) -> Inspection:
    """The attention of each hop over a story, and the importance of each sentence."""
    answer = answerer.answer(story, question)
    rows = [f"hop {number}" for number in range(1, len(answer.hops) + 1)]
    weights = torch.tensor(answer.hops)[None, None]  # (1, 1, hops, M)
    kind = Kind(rows, answer.sentences, weights, list(range(len(rows))), list(range(len(answer.sentences))))
    chances = answerer.chances(answer.sentences, question)
    said = [TokenScore(len(rows) - 1, answer.text, answer.probability, chances[:8])]
    reasons = None
    if why:
        lost = []
        for gone in range(len(answer.sentences)):
            check_cancelled()
            rest = [sentence for place, sentence in enumerate(answer.sentences) if place != gone]
            found = dict(answerer.chances(rest, question)) if rest else {}
            lost.append(answer.probability - found.get(answer.text, 0.0))
        reasons = Why([], [lost], [], [])
    return Inspection("answer", question, answer.text, {"hops": kind}, said, why=reasons, notes=answer.notes)


def look_at_reader(trained: Pipeline, text: str, ids: list[int], notes: list[str]) -> Inspection:
    """The attention of each token of a text, in an encoder."""
    kinds, _, _ = trace_text(trained.model, trained.tokenizer, ids, [])
    return Inspection("encode", text, "", kinds, notes=notes)
