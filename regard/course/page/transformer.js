"use strict";
// A causal Transformer written out, one step after another, with switches to take parts of it away; on a trained model.
// switches: scale, mask, residual(name), norm(name), average (one map for all heads), zero (a place whose vector is set to 0).
course.pass = ({ config, weights }, ids, { scale = true, mask = true, residual = () => true, norm = () => true, average = false, zero = null } = {}) => {
  const { width, heads } = config, groups = config.kv_heads ?? heads, size = width / heads, deep = config.value_width ?? size, count = ids.length;
  const table = engine.need(weights, "embedding.table.weight"), learned = weights.get("stack.positions.table"), maps = /** @type {number[][][][]} */ ([]), steps = /** @type {Steps[]} */ ([]);
  let x = engine.embed(table, ids);
  if (config.positions !== "rotary") ids.forEach((_, p) => engine.add(x.subarray(p * width, (p + 1) * width), learned ? learned.data.subarray(p * width, (p + 1) * width) : engine.sinusoids(p, width)));
  if (zero !== null) x.fill(0, zero * width, (zero + 1) * width);
  x = engine.readNorm(weights, "stack.input_norm", config.epsilon)(x);

  const attention = (/** @type {string} */ name) => (/** @type {Float32Array} */ given) => {
    const project = (/** @type {string} */ part) => engine.readLinear(weights, `${name}.${part}`)(given), places = ids.map((_, p) => p);
    const [query, key, value] = ["query", "key", "value"].map(project);
    if (config.positions === "rotary") { engine.rotate(query, heads, places, config.rotary_base); engine.rotate(key, groups, places, config.rotary_base); }
    const dot = (/** @type {number} */ h, /** @type {number} */ t, /** @type {number} */ s) => {
      let sum = 0;
      const group = Math.floor((h * groups) / heads);
      for (let i = 0; i < size; i++) sum += query[(t * heads + h) * size + i] * key[(s * groups + group) * size + i];
      return sum;
    };
    const products = Array.from({ length: heads }, (_, h) => ids.map((__, t) => ids.map((___, s) => dot(h, t, s)))); // Q K'
    const scaled = products.map((head) => head.map((row) => row.map((score) => (scale ? score / Math.sqrt(size) : score))));
    const masked = scaled.map((head) => head.map((row, t) => row.map((score, s) => (mask && s > t ? -Infinity : score))));
    let shares = masked.map((head) => head.map((row) => [...engine.softmax(Float64Array.from(row))]));
    if (average) {
      const mean = ids.map((_, t) => ids.map((__, s) => shares.reduce((sum, head) => sum + head[t][s] / heads, 0)));
      shares = shares.map(() => mean);
    }
    const mixed = new Float32Array(count * heads * deep);
    shares.forEach((head, h) => head.forEach((row, t) => row.forEach((share, s) => {
      const group = Math.floor((h * groups) / heads);
      for (let i = 0; i < deep; i++) mixed[(t * heads + h) * deep + i] += share * value[(s * groups + group) * deep + i];
    })));
    maps.push(shares);
    steps.push({ products, scaled, masked, shares, mixed: products.map((_, h) => ids.map((__, t) => [...mixed.subarray((t * heads + h) * deep, (t * heads + h) * deep + deep)])) });
    return engine.readLinear(weights, `${name}.output`)(mixed);
  };
  const around = (/** @type {string} */ name, /** @type {Layer} */ layer) => {
    const normed = norm(name) ? engine.readNorm(weights, `${name}.norm`, config.epsilon) : (/** @type {Float32Array} */ some) => some, isPre = config.norm === "pre";
    const found = layer(isPre ? normed(x) : x), sum = residual(name) ? engine.add(found, x) : found;
    x = isPre ? sum : normed(sum);
  };
  for (let number = 0; weights.has(`stack.blocks.${number}.self_attention.query.weight`); number++) {
    const block = `stack.blocks.${number}`;
    around(`${block}.self_residual`, attention(`${block}.self_attention`));
    around(`${block}.feed_residual`, engine.makeFeedForward(weights, `${block}.feed_forward`, config));
  }
  x = engine.readNorm(weights, "stack.norm", config.epsilon)(x);
  const output = weights.get("output.weight") ?? table, logits = engine.rows(engine.linear(x, output), output.shape[0]);
  const loss = ids.length > 1 ? logits.slice(0, -1).reduce((sum, row, t) => sum - engine.logSoftmax(row)[ids[t + 1]], 0) / (ids.length - 1) : 0;
  return { logits, maps, steps, loss, hidden: x };
};

// The ids of a text as the model begins it.
course.encode = ({ tokenizer }, text) => {
  const ids = tokenizer.encode(text), begin = tokenizer.roles.begin ?? 0;
  return ids[0] === begin ? ids : [begin, ...ids];
};

course.entropy = (row) => -row.reduce((sum, w) => sum + (w > 0 ? w * Math.log2(w) : 0), 0);
