"use strict";
// A filler in the page: what POST /api/fill and /api/look answer, computed here.
engine.families.fill = (about, weights, tokenizer) => {
  const { config } = about, model = engine.makeFiller(config, weights), MASK = "[MASK]";
  const mask = tokenizer.roles.mask ?? -1;
  // A gap has no spaces around it, and all other names in a text are text.
  const encode = (/** @type {string} */ text) => {
    const [start, end] = tokenizer.encode(""), parts = text.split(MASK);
    const trimmed = parts.map((part, place) => {
      const left = place > 0 ? part.trimStart() : part;
      return place < parts.length - 1 ? left.trimEnd() : left;
    });
    const ids = [start, ...trimmed.flatMap((part, place) => [...(place ? [mask] : []), ...tokenizer.encodePart(part)]), end];
    if (ids.length > config.max_positions) throw new Error(`the text has ${ids.length} tokens, and the model reads at most ${config.max_positions}; shorten it`);
    return ids;
  };
  const gapsOf = (/** @type {number[]} */ ids) => ids.flatMap((id, place) => (id === mask ? [place] : []));
  const pick = (/** @type {Float32Array} */ hidden, /** @type {number[]} */ places) => model.logits(engine.gather(hidden, places, config.width));
  // The text with these tokens in its gaps; one that continues a word is joined to it.
  const putIn = (/** @type {string} */ text, /** @type {number[]} */ ids) => {
    const [first, ...rest] = text.split(MASK);
    return tokenizer.tokens(ids).reduce((filled, piece, place) => (piece.startsWith(" ") ? filled : filled.trimEnd()) + piece.trim() + rest[place], first).trim();
  };
  // A gap is never filled with a special token.
  const bar = (/** @type {Float32Array} */ row) => row.map((logit, id) => (tokenizer.special.has(id) ? -Infinity : logit));

  const fill = (/** @type {any} */ fields) => {
    const ids = encode(fields.text), gaps = gapsOf(ids);
    if (!gaps.length) throw new Error(`the text has no ${MASK}; write ${MASK} where a word is to be filled in`);
    const rows = pick(model.read(ids, null), gaps), best = rows.map((row) => engine.largest(bar(row), fields.top ?? about.fields.top.default));
    const candidates = best.map((some, gap) => {
      const probabilities = engine.logSoftmax(rows[gap]);
      return some.map((id) => ({ text: tokenizer.tokens([id])[0].trim(), probability: Math.exp(probabilities[id]) }));
    });
    return { text: putIn(fields.text, best.map(([id]) => id)), gaps: candidates, unknown: fields.text.split(MASK).flatMap(tokenizer.unknown) };
  };

  const look = async (/** @type {any} */ fields, /** @type {Push} */ __, /** @type {Pause} */ pause) => {
    const { edits = [] } = fields, ids = encode(fields.text), gaps = gapsOf(ids), unknown = fields.text.split(MASK).flatMap(tokenizer.unknown);
    const notes = unknown.length ? [`never seen in training, and read as unknown: ${unknown.slice(0, 10).join(", ")}`] : [];
    const read = (/** @type {number[]} */ given, /** @type {Change} */ change) => pick(model.read(given, engine.makeTaps([...edits, ...(change.edits ?? [])]), change.scaled), gaps);
    const target = gaps.length ? read(ids, {}).map((row) => engine.largest(bar(row), 1)[0]) : [];
    const found = await engine.lookAtText(model, ids, { target, rows: gaps, places: gaps, shift: 0, read, why: fields.why, pause, edits, instead: mask, bar }, config, tokenizer);
    return { task: "fill", text: fields.text, answer: gaps.length ? putIn(fields.text, target) : fields.text, notes, ...found };
  };
  const open = (/** @type {any} */ fields) => {
    const ids = encode(fields.text), gaps = gapsOf(ids), run = (/** @type {Taps} */ taps) => pick(model.read(ids, taps), gaps).map(bar);
    return { target: run(engine.makeTaps()).map((row) => engine.largest(row, 1)[0]), ids, run };
  };
  return { model, routes: { "/api/fill": fill, "/api/look": look, ...engine.insideRoutes(open, { model, stacks: { stack: model.stack }, weights, config, tokenizer }) } };
};

// The bidirectional encoder with its prediction head, over ids.
engine.makeFiller = (config, weights) => {
  const table = engine.need(weights, "embedding.table.weight"), output = weights.get("output.weight") ?? table;
  const types = weights.get("token_types.weight"), stack = engine.makeStack(weights, "stack", config), activate = engine.activations[config.activation];
  const dense = engine.readLinear(weights, "head_dense"), norm = engine.readNorm(weights, "head_norm", config.epsilon), bias = weights.get("bias");
  return {
    width: config.width, stack,
    logits: (hidden) => engine.rows(engine.linear(norm(dense(hidden).map(activate)), output, bias), output.shape[0]),
    read(ids, taps, scaled = null) {
      const x = engine.embed(table, ids, 1, scaled);
      return stack.forward(types ? engine.add(x, types.data.subarray(0, config.width)) : x, { taps });
    },
  };
};
