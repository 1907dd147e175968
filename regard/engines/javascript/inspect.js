"use strict";
// What a pass attended to and predicted, in the shape that POST /api/look answers (regard/look). Knows no family.

// The recorded weights of one kind of attention, a layer each: (H, T, S).
engine.layersOf = (taps, part, kind) => Object.entries(taps.attention)
  .filter(([name]) => name.startsWith(`${part}.`) && name.endsWith(kind)).map(([, weights]) => weights);

engine.makeKind = (rows, columns, layers, heads, special) => ({
  rows, columns, row_words: engine.wordsShown(rows, special), column_words: engine.wordsShown(columns, special),
  layers: layers.length, heads, weights: layers.map((layer) => engine.rows(layer, layer.length / heads)),
  entropy: [], sink: [], rollout: new Float32Array(0),
});

// The word of each token; a space that is a token belongs to the word after it, a special one to none.
engine.wordsShown = (tokens, special) => {
  const words = engine.wordsOf(tokens.map((token) => (special.has(token) ? " " : token)));
  for (let place = tokens.length - 2; place >= 0; place--) {
    if (words[place] === null && !special.has(tokens[place])) words[place] = words[place + 1];
  }
  return words;
};

// Entropy and sink of each head, and rollout through all layers.
engine.measure = (kinds) => {
  const entries = Object.entries(kinds).sort(([name]) => (name === "cross" ? 1 : -1)); // it needs that of the encoder
  for (const [name, kind] of entries) {
    const height = kind.rows.length, width = kind.columns.length, most = Math.max(1, Math.log2(width));
    kind.entropy = kind.weights.map((layer) => layer.map((head) => -head.reduce((sum, value) => sum + value * Math.log2(Math.max(value, 1e-12)), 0) / height / most));
    kind.sink = kind.weights.map((layer) => layer.map((head) => engine.findSink(head, height, width)));
    const means = kind.weights.map((layer) => engine.mean(layer));
    if (name === "cross") kind.rollout = engine.product(engine.mean(means), kinds.encoder.rollout, width);
    else if (height !== width) kind.rollout = engine.mean(means);
    else {
      const half = (/** @type {Float32Array} */ map) => map.map((value, i) => 0.5 * value + (i % (width + 1) === 0 ? 0.5 : 0));
      const same = new Float32Array(width * width).map((_, i) => (i % (width + 1) === 0 ? 1 : 0));
      kind.rollout = means.reduce((total, map) => engine.product(half(map), total, width), same);
    }
  }
};

engine.mean = (maps) => maps[0].map((_, i) => maps.reduce((sum, map) => sum + map[i], 0) / maps.length);

// a (T, S) times b (S, N), b of N columns.
engine.product = (a, b, columns) => {
  const inner = b.length / columns, found = new Float32Array((a.length / inner) * columns);
  for (let i = 0; i < a.length; i++) {
    const row = Math.floor(i / inner) * columns, other = (i % inner) * columns;
    for (let j = 0; j < columns; j++) found[row + j] += a[i] * b[other + j];
  }
  return found;
};

engine.findSink = (head, height, width) => {
  if (height < 4) return null;
  const shares = Array.from({ length: width }, (_, x) => {
    let sum = 0;
    for (let y = 0; y < height; y++) sum += head[y * width + x];
    return sum / height;
  });
  const [place] = engine.largest(shares, 1);
  return shares[place] >= 0.5 ? place : null;
};

// The likeliest tokens with their probabilities.
engine.likeliest = (logits, count, tokenizer) => {
  const total = engine.logSumExp(logits), best = engine.largest(logits, count);
  return tokenizer.tokens(best).map((token, i) => [token, Math.exp(logits[best[i]] - total)]);
};

engine.scoreTokens = (logits, ids, places, tokenizer) => ids.map((id, row) => ({
  place: places[row], token: tokenizer.tokens([id])[0], probability: Math.exp(logits[row][id] - engine.logSumExp(logits[row])),
  alternatives: engine.likeliest(logits[row], 8, tokenizer),
}));

// The prediction if each layer were the last: states are the input of each block and the output of the last norm.
engine.logitLens = (states, model, norm, places, tokenizer) => states.map((state, number) => {
  const hidden = number === states.length - 1 ? state : norm(state), { width } = model;
  return model.logits(engine.gather(hidden, places, width)).map((row) => engine.likeliest(row, 3, tokenizer));
});

// Every head that a pass went through, with its kind, and layer and head from 1.
engine.headsOf = (taps, heads) => {
  /** @type {Record<string, number>} */
  const layers = {};
  return Object.keys(taps.attention).flatMap((name) => {
    const first = name.split(".")[0], kind = name.endsWith("cross_attention") ? "cross" : first === "stack" ? "text" : first;
    layers[kind] = (layers[kind] ?? 0) + 1;
    return Array.from({ length: heads }, (_, head) => ({ kind, name, layer: layers[kind], head: head + 1 }));
  });
};

// What each word of the source and each head is worth for each token of the target, in nats. read: logits of the target,
// for a source, with edits, or one vector scaled. instead: the token in place of a word that is left out; null: none.
engine.explain = async ({ source, target, rows, words, read, instead, heads, tokenizer, attended, pause }) => {
  const own = (/** @type {Float32Array[]} */ logits) => logits.map((row, t) => row[target[t]] - engine.logSumExp(row));
  const base = own(read(source, {})), zeros = () => target.map(() => source.map(() => 0));
  const left_out = zeros(), gradient = zeros();
  for (const removed of new Set(words)) {
    if (removed === null) continue;
    await pause();
    const kept = source.flatMap((id, place) => (words[place] !== removed ? [id] : instead === null ? [] : [instead]));
    const lost = own(read(kept, {})).map((found, t) => base[t] - found);
    source.forEach((_, place) => { if (words[place] === removed) lost.forEach((loss, t) => { left_out[t][place] = loss; }); });
  }
  const step = 0.01; // the slope along a vector, from both sides of it: gradient x input
  for (let place = 0; place < source.length; place++) {
    await pause();
    const [more, less] = [1 + step, 1 - step].map((factor) => own(read(source, { scaled: { place, factor } })));
    more.forEach((found, t) => { gradient[t][place] = (found - less[t]) / (2 * step); });
  }
  const off = [];
  for (const { kind, name, layer, head } of heads) {
    await pause();
    const logits = read(source, { edits: [{ what: "off", name, head: head - 1 }] }), found = own(logits);
    off.push({ kind, layer, head, loss: found.reduce((sum, one, t) => sum + base[t] - one, 0) / found.length,
      probabilities: found.map(Math.exp), instead: tokenizer.tokens(logits.map((row) => engine.largest(row, 1)[0])) });
  }
  const overlap = (/** @type {number[][]} */ found) => engine.argmaxOverlap(found, rows.map((row) => attended[row]));
  return { rows, left_out, gradient, off, argmax_overlap: { left_out: overlap(left_out), gradient: overlap(gradient) } };
};

// How often what counts most of a row is also what is attended to most.
engine.argmaxOverlap = (found, attended) => {
  const top = (/** @type {ArrayLike<number>} */ row) => engine.largest(Array.from(row, Math.abs), 1)[0];
  return found.filter((row, t) => top(row) === top(attended[t])).length / found.length;
};

// A look into a model of one text. target: what is predicted at `places`, or right after them (shift); read: their logits
// after a change; bar: what may not be predicted taken out.
engine.lookAtText = async (model, ids, { target, rows, places, shift, read, why, instead, pause, edits, bar = (row) => row }, config, tokenizer) => {
  const taps = engine.makeTaps(edits), hidden = model.read(ids, taps), tokens = tokenizer.tokens(ids);
  const kinds = { text: engine.makeKind(tokens, tokens, engine.layersOf(taps, "stack", "self_attention"), config.heads, tokenizer.specialTokens()) };
  engine.measure(kinds);
  const logits = target.length ? model.logits(engine.gather(hidden, places, model.width)).map(bar) : [];
  const attended = engine.rows(engine.mean(kinds.text.weights.flat()), ids.length), words = kinds.text.column_words;
  return {
    kinds, alignment: [], aligning: null, token_scores: engine.scoreTokens(logits, target, places.map((place) => place + shift), tokenizer),
    logit_lens: target.length ? engine.logitLens(taps.hidden, model, model.stack.norm, places, tokenizer) : [],
    why: why && target.length ? await engine.explain({ pause, source: ids, target, rows, words, read, instead, heads: engine.headsOf(taps, config.heads), tokenizer, attended }) : null,
  };
};
