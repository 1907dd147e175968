"use strict";
// A trained encoder with and without its positions, and how alike places are.
course.experiments.order = (box, { config, weights, tokenizer }) => {
  const table = engine.need(weights, "embedding.table.weight"), types = weights.get("token_types.weight"), { width } = config;
  // The encoder, whose positions are added only if wanted; without them rotary angles are those of one place.
  /** @type {(ids: number[], hasPositions: boolean) => Float32Array[]} */
  const read = (ids, hasPositions) => {
    const x = engine.embed(table, ids);
    if (types) engine.add(x, types.data.subarray(0, width));
    const learned = weights.get("stack.positions.table");
    if (hasPositions && config.positions !== "rotary") ids.forEach((_, p) => engine.add(x.subarray(p * width, (p + 1) * width), learned ? learned.data.subarray(p * width, (p + 1) * width) : engine.sinusoids(p, width)));
    let state = engine.readNorm(weights, "stack.input_norm", config.epsilon)(x);
    const places = ids.map((_, p) => (hasPositions ? p : 0));
    for (let number = 0; weights.has(`stack.blocks.${number}.self_attention.query.weight`); number++) {
      state = engine.makeBlock(weights, `stack.blocks.${number}`, config).forward(state, { places, held: [{ keys: [], values: [] }], isCausal: false, memory: null, taps: null });
    }
    return engine.rows(engine.readNorm(weights, "stack.norm", config.epsilon)(state), width);
  };
  // How far the vectors of all words are moved when two places are swapped.
  /** @type {(ids: number[], pair: number[], hasPositions: boolean) => number[]} */
  const swap = (ids, [a, b], hasPositions) => {
    const order = ids.map((_, i) => (i === a ? b : i === b ? a : i)), before = read(ids, hasPositions), after = read(order.map((i) => ids[i]), hasPositions);
    return ids.map((_, i) => Math.max(...before[i].map((value, k) => Math.abs(value - after[order.indexOf(i)][k]))));
  };
  let sentence = "The old dog drinks the water in the garden.", kind = 0, cell = [2, 3];
  const { box: swapped, show: showSwap } = course.drawing(() => {
    const ids = tokenizer.encode(sentence), names = tokenizer.tokens(ids);
    if (ids.length < 6) throw new Error("a few words more: two are to be swapped");
    const pair = [2, ids.length - 3];
    return [course.note(`Swapped: ${regard.shown(names[pair[0]])} and ${regard.shown(names[pair[1]])}. Largest change of each word's vector:`),
      course.heat(["without positions", "with positions"], names, [swap(ids, pair, false), swap(ids, pair, true)])];
  });
  /** @type {(places: number[], size: number) => Float32Array[]} */
  const waves = (places, size) => places.map((p) => engine.sinusoids(p, size));
  /** @type {(vectors: Numbers[]) => number[][]} */
  const alike = (vectors) => vectors.map((a) => vectors.map((b) => engine.cosine(a, b)));
  const { box: places, show: showPlaces } = course.drawing(() => {
    const numbers = Array.from({ length: 10 }, (_, i) => i), names = numbers.map((n) => `${n}`);
    if (kind === 0) return course.heat(names, names, alike(waves(numbers, 32)));
    if (kind === 1) {
      const learned = weights.get("stack.positions.table");
      if (!learned) throw new Error(`this model has ${config.positions} positions, none that are learned`);
      return course.heat(names, names, alike(engine.rows(learned.data, width).slice(0, 10)));
    }
    if (kind === 2) {
      const random = engine.makeRandom(3), draw = () => Float32Array.from({ length: 16 }, () => random() - 0.5), [query, key] = [draw(), draw()];
      const turn = (/** @type {Float32Array} */ x, /** @type {number} */ p) => engine.rotate(x.slice(), 1, [p], 10000);
      return [course.note("One query and one key at each pair of places: the product is the same along every diagonal."),
        course.heat(names, names, numbers.map((q) => numbers.map((k) => turn(query, q).reduce((sum, x, i) => sum + x * turn(key, k)[i], 0))))];
    }
    const grid = (/** @type {number} */ y, /** @type {number} */ x) => [...engine.sinusoids(y, 16), ...engine.sinusoids(x, 16)], own = grid(cell[0], cell[1]);
    return [course.note("Click a cell: half of the vector is the row's, half the column's."), course.heat(names.slice(0, 6), names.slice(0, 8),
      Array.from({ length: 6 }, (_, y) => Array.from({ length: 8 }, (__, x) => grid(y, x).reduce((sum, value, k) => sum + (value * own[k]) / 16, 0))), { act: (y, x) => { cell = [y, x]; showPlaces(); } })];
  });
  box.append(course.input("sentence", sentence, (value) => { sentence = value; showSwap(); }), swapped,
    course.row(course.select("places", ["sinusoidal", "learned by this model", "rotary", "two dimensions"], (value) => { kind = value; showPlaces(); })), places);
  showSwap();
  showPlaces();
  return { measure() {
    const ids = tokenizer.encode("The old dog drinks the water in the garden."), pair = [2, ids.length - 3], others = (/** @type {number[]} */ moved) => Math.max(...moved.filter((_, i) => !pair.includes(i)));
    const [without, having] = [others(swap(ids, pair, false)), others(swap(ids, pair, true))];
    return { choice: without < 1e-3 ? 2 : without < 0.1 * having ? 0 : 1, text: `Largest change of another word's vector: ${course.tiny(without)} without positions (rounding), ${course.number(having)} with them.` };
  } };
};
