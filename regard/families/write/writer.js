"use strict";
// A writer in the page: what POST /v1/completions and /api/look answer, computed here.
engine.families.write = (about, weights, tokenizer) => {
  const { config, generation } = about, model = engine.makeWriter(config, weights, generation);
  const begin = tokenizer.roles.begin ?? 0;
  // One of ours begins each text with a mark, others as their tokenizer says.
  const encode = (/** @type {string} */ text) => {
    const ids = tokenizer.encode(text);
    return ids.length && (about.is_foreign || ids[0] === begin) ? ids : [begin, ...ids];
  };

  const complete = async (/** @type {any} */ fields, /** @type {Push} */ push) => {
    const prompt = fields.prompt ?? "", before = tokenizer.encodePart(prompt).slice(-8);
    const random = engine.makeRandom(fields.seed ?? Math.floor(Math.random() * 2 ** 31));
    const sampling = { temperature: fields.temperature, topP: fields.top_p < 1 ? fields.top_p : null };
    const known = tokenizer.decode(before).length, ids = /** @type {number[]} */ ([]);
    const { logits: first, step } = model.open(encode(prompt));
    let logits = first, text = "";
    for (let count = 0; count < fields.max_tokens; count++) {
      const id = engine.draw(logits, sampling, random);
      if (generation.ends.includes(id)) break;
      ids.push(id);
      const whole = tokenizer.decode([...before, ...ids]).slice(known);
      if (!whole.endsWith("\ufffd") || count === fields.max_tokens - 1) { // else a character is not whole yet
        await push({ choices: [{ text: whole.slice(text.length) }] });
        text = whole;
      }
      if (count < fields.max_tokens - 1) logits = step(id);
    }
    return { text };
  };

  const look = async (/** @type {any} */ fields, /** @type {Push} */ __, /** @type {Pause} */ pause) => {
    const { edits = [] } = fields, all = encode(fields.text), ids = all.slice(-config.max_positions), unknown = tokenizer.unknown(fields.text);
    const notes = unknown.length ? [`never seen in training, and read as unknown: ${unknown.slice(0, 10).join(", ")}`] : [];
    if (ids.length < all.length) notes.push(`the text has ${all.length} tokens, and the model sees ${ids.length} at a time; the last ${ids.length} are shown`);
    const target = ids.slice(1), rows = target.map((_, place) => place);
    const read = (/** @type {number[]} */ given, /** @type {Change} */ change) => model.logits(model.read(given, engine.makeTaps([...edits, ...(change.edits ?? [])]), change.scaled)).slice(0, -1);
    const found = await engine.lookAtText(model, ids, { target, rows, places: rows, shift: 1, read, why: fields.why, pause, edits, instead: begin }, config, tokenizer);
    return { task: "write", text: fields.text, answer: "", notes, ...found };
  };
  const open = (/** @type {any} */ fields) => {
    const ids = encode(fields.text).slice(-config.max_positions);
    return { target: ids.slice(1), ids, run: (/** @type {Taps} */ taps) => model.logits(model.read(ids, taps)).slice(0, -1) };
  };
  return { model, routes: { "/v1/completions": complete, "/api/look": look, ...engine.insideRoutes(open, { model, stacks: { stack: model.stack }, weights, config, tokenizer }) } };
};

// The causal language model over ids.
engine.makeWriter = (config, weights, generation) => {
  const table = engine.need(weights, "embedding.table.weight"), output = weights.get("output.weight") ?? table;
  const stack = engine.makeStack(weights, "stack", config), { width } = config, room = config.max_positions;
  const logits = (/** @type {Float32Array} */ hidden) => engine.rows(engine.linear(hidden, output), output.shape[0]);
  return {
    width, stack, logits,
    read: (ids, taps, scaled = null) => stack.forward(engine.embed(table, ids, 1, scaled), { isCausal: true, taps }),
    // The logits after a text, and after each further token; when the window is full, its older half is dropped.
    open(ids) {
      let held = ids.slice(-room), cache = stack.openCache();
      const next = (/** @type {number[]} */ some) => {
        const [row] = logits(stack.forward(engine.embed(table, some), { cache }).subarray(-width));
        for (const id of generation.suppressed) row[id] = -1e9;
        return row;
      };
      const step = (/** @type {number} */ id) => {
        if (held.length < room) {
          held.push(id);
          return next([id]);
        }
        held = [...held.slice(Math.floor(room / 2)), id];
        cache = stack.openCache();
        return next(held);
      };
      return { logits: next(held), step };
    },
  };
};
