"use strict";
// BERT's output layer with random weights: 7 hidden states times 30,522 rows of 768 numbers, which are drawn as they are needed.
course.experiments.logits = async (box) => {
  const [count, width, size] = [7, 768, 30522];
  const draw = (/** @type {number} */ seed) => () => { // small and fast
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
  const compute = async (spread = 0.02) => {
    const random = draw(1), gauss = () => (random() + random() + random() + random() - 2) * 1.7320508; // variance 1, nearly normal
    const hidden = Array.from({ length: count }, () => Float64Array.from({ length: width }, gauss)), logits = hidden.map(() => new Float32Array(size)), row = new Float64Array(width);
    const next = draw(2);
    for (let id = 0; id < size; id++) {
      if (id % 500 === 0) await engine.yieldOnce(); // the page stays alive
      for (let i = 0; i < width; i++) row[i] = (next() - 0.5) * 3.4641 * spread;
      for (let t = 0; t < count; t++) {
        let sum = 0;
        const state = hidden[t];
        for (let i = 0; i < width; i++) sum += state[i] * row[i];
        logits[t][id] = sum;
      }
    }
    return logits;
  };
  const found = await compute();
  let place = 0, factor = 1;
  const { box: drawn, show } = course.drawing(() => {
    const logits = found[place].map((value) => value * factor), shares = engine.softmax(Float64Array.from(logits)), best = engine.largest(logits, 8), likeliest = engine.largest(shares, 8);
    return [course.table(["logit", "probability"], best.map((id) => [`piece ${id}`, course.number(logits[id], 3), course.number(shares[id], 5)])),
      course.note(`Sum of the logits ${course.number(logits.reduce((sum, x) => sum + x, 0), 1)}, of the probabilities ${course.number(shares.reduce((sum, x) => sum + x, 0), 6)}. Largest logit: ${best[0]}, largest probability: ${likeliest[0]}.`)];
  });
  box.append(course.row(course.slider("place", [1, 7, 1, 1], (value) => { place = value - 1; show(); }), course.slider("all logits times", [0, 20, 0.5, 1], (value) => { factor = value; show(); })), drawn);
  show();
  return { measure() {
    const sum = found[0].reduce((total, x) => total + x, 0), least = found[0].reduce((a, b) => Math.min(a, b));
    return { choice: Math.abs(sum - 1) < 0.01 ? 0 : Math.abs(sum) < 0.01 ? 1 : 2, text: `Shape (1, ${found.length}, ${found[0].length}). Sum of the first place's logits: ${course.number(sum, 2)}; the least of them is ${course.number(least, 2)}.` };
  } };
};
