"use strict";
// The layers of a Transformer over rows of vectors: places of one text, or the newest token of each of several.

engine.readLinear = (weights, name) => {
  const weight = engine.need(weights, `${name}.weight`), bias = weights.get(`${name}.bias`);
  return (x) => engine.linear(x, weight, bias);
};

engine.need = (weights, name) => {
  const found = weights.get(name);
  if (!found) throw new Error(`the page has no weights ${name}`);
  return found;
};

// The vectors of ids, times a scale; scaled: one place's vector times a factor more.
engine.embed = (table, ids, scale = 1, scaled = null) => {
  const width = table.shape[1], x = new Float32Array(ids.length * width);
  ids.forEach((id, row) => {
    const factor = scaled?.place === row ? scale * scaled.factor : scale;
    for (let i = 0; i < width; i++) x[row * width + i] = table.data[id * width + i] * factor;
  });
  return x;
};

// Some rows of a matrix.
engine.gather = (x, places, width) => {
  const found = new Float32Array(places.length * width);
  places.forEach((place, row) => found.set(x.subarray(place * width, (place + 1) * width), row * width));
  return found;
};

// A norm; the identity where there is none.
engine.readNorm = (weights, name, epsilon) => {
  const weight = weights.get(`${name}.weight`), bias = weights.get(`${name}.bias`);
  if (!weight) return (x) => x;
  return bias ? (x) => engine.layerNorm(x, weight, bias, epsilon) : (x) => engine.rmsNorm(x, weight, epsilon);
};

// The paper's waves at a place: sines in the first half, cosines in the second.
engine.sinusoids = (place, width) => {
  const half = width / 2;
  return Float32Array.from({ length: width }, (_, i) => {
    const angle = place * 10000 ** -((2 * (i % half)) / width);
    return i < half ? Math.sin(angle) : Math.cos(angle);
  });
};

// Rotary positions, in place: x has a row of so many heads for each of the places.
engine.rotate = (x, heads, places, base) => {
  const width = x.length / places.length / heads, half = width / 2;
  places.forEach((place, row) => {
    for (let i = 0; i < half; i++) {
      const angle = place * base ** -((2 * i) / width), cosine = Math.fround(Math.cos(angle)), sine = Math.fround(Math.sin(angle));
      for (let head = 0; head < heads; head++) {
        const at = (row * heads + head) * width + i, first = x[at], second = x[at + half];
        x[at] = first * cosine - second * sine;
        x[at + half] = second * cosine + first * sine;
      }
    }
  });
  return x;
};

// Multi-head attention, or grouped-query attention.
engine.makeAttention = (weights, name, config) => {
  const [query, key, value, output] = ["query", "key", "value", "output"].map((part) => engine.readLinear(weights, `${name}.${part}`));
  const { heads } = config, groups = config.kv_heads ?? heads, width = config.width / heads, deep = config.value_width ?? width;
  const isRotary = config.positions === "rotary";
  return {
    // Keys and values of each row.
    read(x, places = null) {
      const keys = key(x);
      if (isRotary && places) engine.rotate(keys, groups, places, config.rotary_base);
      return { keys: engine.rows(keys, groups * width), values: engine.rows(value(x), groups * deep) };
    },
    // x (R, D) -> (R, D). seen: what each row attends to, of which it sees the first `count`.
    forward(x, seen, count, places = null, taps = null) {
      const queries = query(x), rows = queries.length / (heads * width), columns = count(rows - 1);
      if (isRotary && places) engine.rotate(queries, heads, places, config.rotary_base);
      const mixed = new Float32Array(rows * heads * deep), scores = new Float64Array(columns);
      const recorded = taps ? new Float32Array(heads * rows * columns) : null; // (H, R, S)
      for (let row = 0; row < rows; row++) {
        const { keys, values } = seen(row), many = count(row);
        for (let head = 0; head < heads; head++) {
          const from = (row * heads + head) * width, group = Math.floor((head * groups) / heads);
          for (let s = 0; s < many; s++) {
            const other = keys[s], at = group * width;
            let sum = 0;
            for (let i = 0; i < width; i++) sum += queries[from + i] * other[at + i];
            scores[s] = sum / Math.sqrt(width);
          }
          engine.weigh(scores, many, taps?.edits, name, head, row);
          if (recorded) recorded.set(scores.subarray(0, many), (head * rows + row) * columns);
          if (taps?.edits?.off.has(`${name}.${head}`)) continue;
          const to = (row * heads + head) * deep, at = group * deep;
          for (let s = 0; s < many; s++) {
            const weight = scores[s], found = values[s];
            for (let i = 0; i < deep; i++) mixed[to + i] += weight * found[at + i];
          }
        }
      }
      if (taps && recorded) taps.attention[name] = recorded;
      if (taps?.whole) taps.whole.vectors[name] = { queries, count, ...seen(rows - 1) }; // of a text, which every row sees
      return output(mixed);
    },
  };
};

engine.makeFeedForward = (weights, name, config) => {
  const [up, down] = ["up", "down"].map((part) => engine.readLinear(weights, `${name}.${part}`));
  const gate = config.is_gated ? engine.readLinear(weights, `${name}.gate`) : null;
  const activate = engine.activations[config.activation];
  return (x, taps = null) => {
    const middle = up(x);
    if (gate) gate(x).forEach((value, i) => { middle[i] *= activate(value); });
    else middle.forEach((value, i) => { middle[i] = activate(value); });
    if (taps?.whole) taps.whole.units[name] = middle;
    return down(middle);
  };
};

// A residual connection around a sub-layer, with its norm before it or after the sum.
engine.makeResidual = (weights, name, config) => {
  const norm = engine.readNorm(weights, `${name}.norm`, config.epsilon);
  return config.norm === "pre" ? (x, layer) => engine.add(layer(norm(x)), x) : (x, layer) => norm(engine.add(layer(x), x));
};

// Self-attention, cross-attention if there is a memory, feed-forward; each with its residual connection.
engine.makeBlock = (weights, name, config) => {
  const own = engine.makeAttention(weights, `${name}.self_attention`, config), ownResidual = engine.makeResidual(weights, `${name}.self_residual`, config);
  const isCross = weights.has(`${name}.cross_attention.query.weight`);
  const cross = isCross ? engine.makeAttention(weights, `${name}.cross_attention`, config) : null;
  const crossResidual = engine.makeResidual(weights, `${name}.cross_residual`, config);
  const feed = engine.makeFeedForward(weights, `${name}.feed_forward`, config), feedResidual = engine.makeResidual(weights, `${name}.feed_residual`, config);
  return {
    readMemory: (memory) => (cross ? cross.read(memory) : { keys: [], values: [] }),
    // held: keys and values so far, of one text whose places are the rows, or of each row; those of x are put there too.
    forward(x, { places, held, isCausal, memory, taps }) {
      const isText = held.length === 1, before = held[0].keys.length;
      x = engine.writeTo(x, ownResidual, `${name}.self_attention`, taps, (given) => {
        const { keys, values } = own.read(given, places);
        keys.forEach((key, row) => {
          held[isText ? 0 : row].keys.push(key);
          held[isText ? 0 : row].values.push(values[row]);
        });
        const count = (/** @type {number} */ row) => (isText && isCausal ? before + row + 1 : held[0].keys.length);
        return own.forward(given, (row) => held[isText ? 0 : row], count, places, taps);
      });
      if (cross && memory) x = engine.writeTo(x, crossResidual, `${name}.cross_attention`, taps, (given) => cross.forward(given, () => memory, () => memory.keys.length, null, taps));
      return engine.writeTo(x, feedResidual, `${name}.feed_forward`, taps, (given) => feed(given, taps));
    },
  };
};

// Positions, blocks one upon another, the last norm. What it has is read off its weights.
engine.makeStack = (weights, name, config) => {
  const { width, epsilon } = config;
  const inputNorm = engine.readNorm(weights, `${name}.input_norm`, epsilon), norm = engine.readNorm(weights, `${name}.norm`, epsilon);
  const isThere = (/** @type {number} */ number) => weights.has(`${name}.blocks.${number}.self_attention.query.weight`);
  /** @type {Block[]} */
  const blocks = [];
  while (isThere(blocks.length)) blocks.push(engine.makeBlock(weights, `${name}.blocks.${blocks.length}`, config));
  const learned = config.positions === "learned" ? engine.need(weights, `${name}.positions.table`) : null;
  const position = (/** @type {number} */ place) => {
    if (!learned) return engine.sinusoids(place, width);
    if (place >= learned.shape[0]) throw new Error(`the text has more than the ${learned.shape[0]} tokens that the model has positions for`);
    return learned.data.subarray(place * width, (place + 1) * width);
  };
  const nothing = () => blocks.map(() => ({ keys: [], values: [] }));
  return {
    norm,
    readMemory: (memory) => blocks.map((block) => block.readMemory(memory)), // once for all steps
    openCache: () => ({ length: 0, rows: [nothing()] }),
    // x (R, D), which is changed -> (R, D). With a cache of one row, x continues its text; with several, each gets one token.
    forward(x, { isCausal = false, memory = null, cache = null, taps = null }) {
      const count = x.length / width, start = cache ? cache.length : 0, rows = cache ? cache.rows : [nothing()];
      const places = Array.from({ length: count }, (_, row) => (rows.length === 1 ? start + row : start));
      if (taps?.edits?.isWithoutPositions) places.fill(0); // rotary by 0 is the identity
      else if (config.positions !== "rotary") places.forEach((place, row) => { engine.add(x.subarray(row * width, (row + 1) * width), position(place)); });
      x = inputNorm(x);
      taps?.whole?.writes.push({ name: `${name}.input`, written: x, after: x });
      blocks.forEach((block, number) => {
        taps?.hidden.push(x.slice());
        x = block.forward(x, { places, held: rows.map((row) => row[number]), isCausal: (isCausal || cache !== null) && !taps?.edits?.isWithoutMask, memory: memory && memory[number], taps });
      });
      if (cache) cache.length += rows.length === 1 ? count : 1;
      x = norm(x);
      taps?.hidden.push(x);
      return x;
    },
  };
};

// Row i of a cache becomes what row `parents[i]` was.
engine.keepRows = (cache, parents) => {
  cache.rows = parents.map((parent) => cache.rows[parent].map(({ keys, values }) => ({ keys: keys.slice(), values: values.slice() })));
};
