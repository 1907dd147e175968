"use strict";
// One pass down to its numbers: a cell of a head, what is written to the residual stream, and what a change changes.

// The name of the attention of a kind in a layer from 1, as of headsOf.
engine.attentionName = (kind, layer) => {
  const part = kind === "cross" ? "decoder" : kind === "text" ? "stack" : kind;
  return `${part}.blocks.${layer - 1}.${kind === "cross" ? "cross" : "self"}_attention`;
};

engine.dot = (a, b) => {
  let sum = 0;
  for (let i = 0; i < a.length; i++) sum += a[i] * b[i];
  return sum;
};
engine.norm = (x) => Math.sqrt(engine.dot(x, x));
engine.cosine = (a, b) => engine.dot(a, b) / (engine.norm(a) * engine.norm(b) || 1);

// One row of one head: query times each key, scaled, masked, softmax; what each value brings into the residual stream.
engine.cellNumbers = (taps, weights, config, { kind, layer, head, row }) => {
  const name = engine.attentionName(kind, layer), recorded = taps.whole?.vectors[name];
  if (!recorded) throw new Error(`the model has no ${kind} attention in layer ${layer}`);
  const { heads } = config, groups = config.kv_heads ?? heads, group = Math.floor((head * groups) / heads);
  const width = config.width / heads, deep = config.value_width ?? width, { keys, values, queries, count } = recorded;
  const rows = queries.length / (heads * width), columns = keys.length;
  const query = queries.slice((row * heads + head) * width, (row * heads + head + 1) * width);
  const own = (/** @type {number} */ one) => taps.attention[name].slice((one * rows + row) * columns, (one * rows + row + 1) * columns);
  const keysOf = keys.map((key) => key.slice(group * width, (group + 1) * width));
  const output = engine.need(weights, `${name}.output.weight`), inputs = output.shape[1];
  // The value of a place through a head's part of the output projection: (D).
  const bring = (/** @type {number} */ one, /** @type {number} */ place) => {
    const from = Math.floor((one * groups) / heads) * deep, value = values[place].subarray(from, from + deep);
    return Float32Array.from({ length: config.width }, (_, d) => engine.dot(value, output.data.subarray(d * inputs + one * deep, d * inputs + (one + 1) * deep)));
  };
  const written = Array.from({ length: heads }, (_, one) => {
    const sum = new Float32Array(config.width), attended = own(one);
    if (!taps.edits?.off.has(`${name}.${one}`)) attended.forEach((weight, place) => { if (weight) bring(one, place).forEach((value, d) => { sum[d] += weight * value; }); });
    return engine.norm(sum);
  });
  const norms = keys.map((_, place) => engine.norm(bring(head, place)));
  return {
    query, keys: keysOf, scale: Math.sqrt(width), scores: keysOf.map((key) => engine.dot(query, key) / Math.sqrt(width)), weights: own(head),
    may: keys.map((_, place) => place < count(row)), temperature: taps.edits?.temperatures.get(`${name}.${head}`) ?? 1,
    values: values.map((value) => value.slice(group * deep, (group + 1) * deep)), norms, written,
    fixed: (taps.edits?.weights.get(`${name}.${head}`) ?? []).filter((one) => one.row === row).map((one) => one.column),
  };
};

// The residual stream of a stack at one place: what each sub-layer wrote there, and what would be predicted after it.
engine.streamNumbers = (taps, stack, place, width, predict) => {
  const steps = (taps.whole?.writes ?? []).filter(({ name }) => name.startsWith(`${stack}.`));
  const at = (/** @type {Float32Array} */ x) => x.subarray(place * width, (place + 1) * width), last = at(steps[steps.length - 1].after);
  return steps.map(({ name, written, after }) => ({
    name, norm: engine.norm(at(written)), stream: engine.norm(at(after)), cosine: engine.cosine(at(after), last),
    likeliest: predict ? predict(at(after)) : null,
  }));
};

// The most active units of a feed-forward layer at a place, and the tokens that each pushes towards.
engine.activeUnits = (taps, weights, name, place, count, promote) => {
  const units = taps.whole?.units[name], down = engine.need(weights, `${name}.down.weight`), many = down.shape[1];
  if (!units) return [];
  const own = units.subarray(place * many, (place + 1) * many);
  return engine.largest(own.map(Math.abs), count).map((unit) => {
    const sign = Math.sign(own[unit]) || 1;
    return { unit, value: own[unit], towards: promote ? promote(Float32Array.from({ length: down.shape[0] }, (_, d) => sign * down.data[d * many + unit])) : [] };
  });
};

// Every prediction before and after a change: the token's own probability, and those of the likeliest of both.
engine.compareLogits = (before, after, target, tokenizer) => target.map((id, row) => {
  const old = engine.logSoftmax(before[row]), now = engine.logSoftmax(after[row]), p = Math.exp;
  const ids = [...new Set([id, ...engine.largest(before[row], 5), ...engine.largest(after[row], 5)])].sort((a, b) => Math.max(old[b], now[b]) - Math.max(old[a], now[a]));
  const tokens = tokenizer.tokens(ids);
  return {
    token: tokenizer.tokens([id])[0], before: p(old[id]), after: p(now[id]), moved: old.reduce((sum, one, i) => sum + Math.abs(p(one) - p(now[i])), 0) / 2,
    others: ids.map((_, i) => [tokens[i], p(old[ids[i]]), p(now[ids[i]])]),
  };
});

// The words nearest to each of some ids in a table of embeddings, by cosine; and all of them on a plane (two principal components).
engine.nearestWords = (table, ids, count, tokenizer) => {
  const [size, width] = table.shape, vector = (/** @type {number} */ id) => table.data.subarray(id * width, (id + 1) * width);
  const lengths = Float32Array.from({ length: size }, (_, id) => engine.norm(vector(id)) || 1), unique = [...new Set(ids)];
  const near = unique.map((id) => {
    const own = vector(id), found = Float32Array.from({ length: size }, (_, other) => (other === id || tokenizer.special.has(other) ? -2 : engine.dot(own, vector(other)) / lengths[id] / lengths[other]));
    return { id, near: engine.largest(found, count).map((other) => ({ id: other, cosine: found[other] })) };
  });
  const all = [...new Set([...unique, ...near.flatMap((one) => one.near.slice(0, 4).map((other) => other.id))])];
  const plane = engine.onPlane(all.map((id) => vector(id).map((value) => value / lengths[id])));
  const show = (/** @type {number} */ id) => tokenizer.tokens([id])[0];
  return {
    words: near.map((one) => ({ token: show(one.id), near: one.near.map((other) => [show(other.id), other.cosine]) })),
    points: all.map((id, i) => ({ token: show(id), isHere: unique.includes(id), x: plane[i][0], y: plane[i][1] })),
  };
};

// Vectors on their first two principal components, by power iteration from a fixed start.
engine.onPlane = (vectors) => {
  const width = vectors[0].length, mean = new Float64Array(width), found = vectors.map(() => [0, 0]);
  for (const vector of vectors) vector.forEach((value, i) => { mean[i] += value / vectors.length; });
  const rest = vectors.map((vector) => Float64Array.from(vector, (value, i) => value - mean[i]));
  for (const axis of [0, 1]) {
    let direction = Float64Array.from({ length: width }, (_, i) => Math.sin(1 + i * (axis + 1)));
    for (let round = 0; round < 60; round++) {
      const next = new Float64Array(width);
      for (const vector of rest) {
        const along = engine.dot(vector, direction);
        vector.forEach((value, i) => { next[i] += along * value; });
      }
      const length = engine.norm(next) || 1;
      direction = next.map((value) => value / length);
    }
    rest.forEach((vector, row) => {
      const along = found[row][axis] = engine.dot(vector, direction);
      direction.forEach((value, i) => { vector[i] -= along * value; });
    });
  }
  return found;
};

// What every Transformer in a page answers about its inside. open: what it reads and predicts of the given fields.
engine.insideRoutes = (open, { model, stacks, weights, config, tokenizer }) => {
  const { width } = config, likeliest = (/** @type {Float32Array} */ x) => engine.likeliest(model.logits(x)[0], 3, tokenizer);
  const record = (/** @type {any} */ { edits = [], ...fields }) => {
    const pass = open(fields), taps = engine.makeTaps(edits, true);
    pass.run(taps);
    return { pass, taps };
  };
  return {
    "/api/numbers": (fields) => engine.cellNumbers(record(fields).taps, weights, config, fields),
    "/api/stream": (fields) => {
      const { taps } = record(fields), { stack, place } = fields, last = stacks[stack];
      const steps = engine.streamNumbers(taps, stack, place, width, last ? (x) => likeliest(last.norm(x)) : null);
      const units = steps.filter(({ name }) => name.endsWith("feed_forward")).map(({ name }) => ({ name, units: engine.activeUnits(taps, weights, name, place, 5, last ? likeliest : null) }));
      return { steps, units };
    },
    "/api/changed": ({ before, after }) => {
      const pass = open(before), changed = open(after), old = pass.run(engine.makeTaps()), now = changed.run(engine.makeTaps(after.edits));
      if (old.length !== now.length) throw new Error(`the text had ${old.length} predictions and has ${now.length} now; swap a word for one of as many tokens`);
      return { changes: engine.compareLogits(old, now, pass.target, tokenizer), written: changed.write?.(after.edits ?? []) ?? null };
    },
    "/api/near": (fields) => {
      const pass = open(fields), table = engine.need(weights, "embedding.table.weight"), places = Math.min(64, pass.ids.length);
      const learned = config.positions === "learned" ? engine.need(weights, `${Object.keys(stacks)[0]}.positions.table`).data : null;
      const positions = config.positions === "rotary" ? null : Array.from({ length: places }, (_, place) => (learned ? learned.slice(place * width, (place + 1) * width) : engine.sinusoids(place, width)));
      return { ...engine.nearestWords(table, pass.ids.filter((id) => !tokenizer.special.has(id)).slice(0, 60), 6, tokenizer), positions };
    },
  };
};
