"use strict";
// A translator in the page: what POST /api/translate and /api/look answer, computed here.
engine.families.translate = (about, weights, tokenizer) => {
  const { config, generation } = about, model = engine.makeTranslator(config, weights, generation);
  const longest = Math.min(about.longest, config.positions === "learned" ? config.max_positions : Infinity);
  /** @type {{ source: string, beam: Beam } | null} */
  let searched = null; // the newest beam search

  const encode = (/** @type {string} */ text) => {
    const ids = tokenizer.encode(text.trim());
    if (ids.length > longest) throw new Error(`the text has ${ids.length} tokens, and this page translates at most ${longest} at a time; shorten it`);
    return ids;
  };
  /** @type {(source: number[], options: { beam?: number, n_best?: number, prefix?: string }) => Hypothesis[]} */
  const search = (source, { beam = 4, n_best = 1, prefix = "" }) => {
    const forced = [...(generation.first === null ? [] : [generation.first]), ...(prefix ? tokenizer.encodePart(prefix) : [])];
    const spare = forced.length - Number(generation.is_end_forced);
    const most = Math.min(Math.max(engine.limitOf(source.length) + spare, forced.length + 1), about.places);
    const step = model.open(source, forced), width = Math.max(beam, n_best);
    if (width === 1) return [engine.greedy(step, model.start, generation.ends, most, forced)];
    /** @type {Tried[]} */
    const tree = [];
    const found = engine.beam(step, model.start, generation.ends, most, width, n_best, forced, tree);
    const nodes = tree.map((one) => ({ ...one, token: tokenizer.tokens([one.token])[0], isEnd: generation.ends.includes(one.token) }));
    searched = { source: source.join(), beam: { width, nodes, before: tokenizer.tokens(forced) } };
    return found;
  };
  const align = (/** @type {number[]} */ source, /** @type {number[]} */ ids, /** @type {Float32Array[]} */ attention) => {
    const written = (/** @type {number[]} */ some) => tokenizer.tokens(some).map((token, place) =>
      (tokenizer.special.has(some[place]) && some[place] !== tokenizer.roles.unknown ? " " : token));
    const steps = about.alignment.is_after === false ? attention : attention.slice(1);
    return engine.alignWords(steps, written(source.slice(0, -1)), written(ids));
  };
  // The attention of each step by the heads that align, (T, S) as rows.
  const alignment = (/** @type {Float32Array[]} */ layers, /** @type {number} */ columns) => {
    const { layer, heads } = about.alignment, size = layers[layer].length / config.heads, mean = new Float32Array(size);
    for (const head of heads) for (let i = 0; i < size; i++) mean[i] += layers[layer][head * size + i] / heads.length;
    return engine.rows(mean, columns);
  };
  const put = (/** @type {number[]} */ source, /** @type {Hypothesis} */ found, /** @type {any[]} */ alternatives) => {
    const ids = found.isFinished ? found.ids : engine.cutRepetition(found.ids), notes = [];
    if (!found.isFinished) notes.push(ids.length < found.ids.length ? "a repetition at the end was cut" : `the translation found no end and was cut at ${ids.length} tokens`);
    const taps = engine.makeTaps();
    model.force(source, [...found.ids, generation.ends[0]], taps);
    const steps = alignment(engine.layersOf(taps, "decoder", "cross_attention"), source.length).slice(0, found.ids.length + Number(found.isFinished));
    return { text: tokenizer.decode(ids), score: found.score, tokens: tokenizer.tokens(ids), source_tokens: tokenizer.tokens(source.slice(0, -1)),
      alignment: align(source, ids, steps), notes, alternatives };
  };

  const translate = (/** @type {any} */ fields) => {
    const source = encode(fields.text);
    if (source.length === tokenizer.encode("").length) return { translations: [{ text: "", score: 0, tokens: [], source_tokens: [], alignment: [], notes: [], alternatives: [] }] };
    const [best, ...others] = search(source, fields);
    return { translations: [put(source, best, others.map((other) => put(source, other, [])))] };
  };

  const readPair = (/** @type {any} */ fields) => {
    const source = encode(fields.text), best = fields.target === undefined ? search(source, {})[0] : null;
    const target = best ? [...best.ids, ...(best.isFinished ? generation.ends.slice(0, 1) : [])] : tokenizer.encodeTarget(fields.target.trim());
    if (!target.length) throw new Error("the translation is empty, so there is nothing to show; give a target");
    return { source, target };
  };
  const open = (/** @type {any} */ fields) => {
    const { source, target } = readPair(fields);
    // What it would write by itself with edits: greedy, and read anew for each token, so that each edit is at its place.
    const write = (/** @type {Edit[]} */ edits) => {
      const ids = /** @type {number[]} */ ([]), most = Math.min(engine.limitOf(source.length), about.places, 2 * target.length + 10);
      for (let last = -1; ids.length < most && !generation.ends.includes(last);) {
        const rows = model.logits(model.force(source, [...ids, 0], engine.makeTaps(edits)));
        [last] = engine.largest(rows[rows.length - 1], 1);
        ids.push(last);
      }
      return tokenizer.decode(ids.filter((id) => !generation.ends.includes(id)));
    };
    return { target, write, ids: [...source, ...target], run: (/** @type {Taps} */ taps) => model.logits(model.force(source, target, taps)) };
  };

  const look = async (/** @type {any} */ fields, /** @type {Push} */ __, /** @type {Pause} */ pause) => {
    const { edits = [] } = fields, { source, target } = readPair(fields), taps = engine.makeTaps(edits), hidden = model.force(source, target, taps);
    const mine = tokenizer.tokens(source), theirs = tokenizer.tokens(target), special = tokenizer.specialTokens();
    const cross = engine.layersOf(taps, "decoder", "cross_attention");
    const kinds = {
      cross: engine.makeKind(theirs, mine, cross, config.heads, special),
      encoder: engine.makeKind(mine, mine, engine.layersOf(taps, "encoder", "self_attention"), config.heads, special),
      decoder: engine.makeKind(theirs, theirs, engine.layersOf(taps, "decoder", "self_attention"), config.heads, special),
    };
    engine.measure(kinds);
    const isEnded = [...generation.ends, tokenizer.roles.end].includes(target[target.length - 1]);
    const ids = isEnded ? target.slice(0, -1) : target;
    const read = (/** @type {number[]} */ given, /** @type {Change} */ change) => model.logits(model.force(given, target, engine.makeTaps([...edits, ...(change.edits ?? [])]), change.scaled));
    return {
      task: "translate", text: fields.text.trim(), answer: tokenizer.decode(ids), notes: [], kinds,
      token_scores: engine.scoreTokens(model.logits(hidden), target, target.map((_, place) => place), tokenizer),
      alignment: align(source, ids, alignment(cross, source.length)), aligning: about.alignment,
      beam: searched?.source === source.join() ? searched.beam : null,
      logit_lens: engine.logitLens(taps.hidden.slice(-(cross.length + 1)), model, model.decoder.norm, target.map((_, place) => place), tokenizer),
      why: fields.why ? await engine.explain({ pause, source, target, rows: target.map((_, place) => place), words: kinds.cross.column_words, read, instead: null,
        heads: engine.headsOf(taps, config.heads), tokenizer, attended: engine.stepsAfter(alignment(cross, source.length), about.alignment) }) : null,
    };
  };
  return { model, routes: { "/api/translate": translate, "/api/look": look, ...engine.insideRoutes(open, { model, stacks: { encoder: null, decoder: model.decoder }, weights, config, tokenizer }) } };
};

// The encoder-decoder over ids.
engine.makeTranslator = (config, weights, generation) => {
  const table = engine.need(weights, "embedding.table.weight"), output = weights.get("output.weight") ?? table, bias = weights.get("output_bias");
  const encoder = engine.makeStack(weights, "encoder", config), decoder = engine.makeStack(weights, "decoder", config);
  const { width } = config, scale = Math.sqrt(width);
  const embed = (/** @type {number[]} */ ids, /** @type {Change["scaled"]} */ scaled = null) => engine.embed(table, ids, scale, scaled);
  const logits = (/** @type {Float32Array} */ hidden) => engine.rows(engine.linear(hidden, output, bias), output.shape[0]).map((row) => {
    for (const id of generation.suppressed) row[id] -= 1e9;
    return row;
  });
  return {
    width, decoder, logits, start: generation.start,
    // A forced pass: hidden states (T, D) from which each token of the target is predicted.
    force(source, target, taps, scaled = null) {
      const memory = decoder.readMemory(encoder.forward(embed(source, scaled), { taps }));
      return decoder.forward(embed([generation.start, ...target.slice(0, -1)]), { isCausal: true, memory, taps });
    },
    // A step function for a search, with a cache; prefix: what is read right after the start.
    open(source, prefix) {
      const memory = decoder.readMemory(encoder.forward(embed(source), {})), cache = decoder.openCache();
      const step = (/** @type {number[]} */ last) => {
        const isFirst = cache.length === 0;
        const found = decoder.forward(embed(isFirst ? [...last, ...prefix] : last), { memory, cache });
        return logits(isFirst ? found.subarray(-width) : found);
      };
      return Object.assign(step, { keep: (/** @type {number[]} */ parents) => engine.keepRows(cache, parents) });
    },
  };
};

// The attention that belongs to each token: of the step after it, where such heads align; the last has its own.
engine.stepsAfter = (rows, { is_after }) => (is_after === false ? rows : rows.map((row, t) => rows[t + 1] ?? row));

// Most tokens of a translation, the end included.
engine.limitOf = (length) => Math.ceil((3 * length + 20) / 32) * 32;
