"use strict";
// The gradient of one text in one pass, and in as many as it has beginnings.
course.experiments.parallel = (box) => {
  const width = 16, size = 20;
  const compare = (/** @type {number} */ length) => {
    const random = engine.makeRandom(9), draw = (/** @type {number} */ rows, /** @type {number} */ columns) => course.fresh(rows, columns, random), ids = Array.from({ length: length + 1 }, () => Math.floor(random() * size));
    const [table, places, output] = [draw(size, width), draw(64, width), draw(width, size)], layers = Array.from({ length: 2 }, () => Array.from({ length: 5 }, () => draw(width, width)));
    const all = [table, places, output, ...layers.flat()];
    const run = (/** @type {number[]} */ some) => {
      let x = course.plus(course.pick(table, some), course.pick(places, some.map((_, i) => i)));
      for (const [query, key, value, up, down] of layers) {
        const given = course.norm(x), scores = course.scale(course.multiply(course.multiply(given, query), course.transpose(course.multiply(given, key))), 1 / Math.sqrt(width));
        x = course.plus(course.multiply(course.softmax(scores, (t, s) => s <= t), course.multiply(given, value)), x);
        x = course.plus(course.multiply(course.relu(course.multiply(course.norm(x), up)), down), x);
      }
      return course.multiply(x, output);
    };
    const gradients = (/** @type {() => void} */ work) => {
      for (const one of all) one.grad.fill(0);
      const begun = performance.now();
      work();
      return { milliseconds: performance.now() - begun, grads: all.flatMap((one) => [...one.grad]) };
    };
    const atOnce = () => course.back(course.crossEntropy(run(ids.slice(0, -1)), ids.slice(1)));
    const oneByOne = () => {
      for (let end = 1; end <= length; end++) {
        const last = course.pick(run(ids.slice(0, end)), [end - 1]);
        course.back(course.scale(course.crossEntropy(last, [ids[end]]), 1 / length));
      }
    };
    // The fastest of several: the first runs of a script are slow in every browser.
    const fastest = (/** @type {() => void} */ work) => Array.from({ length: 5 }, () => gradients(work)).reduce((a, b) => (a.milliseconds <= b.milliseconds ? a : b));
    const [together, apart] = [fastest(atOnce), fastest(oneByOne)];
    const most = Math.max(...together.grads.map((g, i) => Math.abs(g - apart.grads[i]))), norm = Math.hypot(...together.grads);
    return { together, apart, most, norm };
  };
  let length = 16;
  const { box: drawn, show } = course.drawing(() => {
    const found = compare(length);
    return [course.bars(["one pass", `${length} passes`], [found.together.milliseconds, found.apart.milliseconds], Math.max(found.apart.milliseconds, found.together.milliseconds), 1),
      course.note(`Milliseconds in this browser, the fastest of five: ${course.number(found.apart.milliseconds / found.together.milliseconds, 1)} times as long. Largest difference of the gradients: ${course.tiny(found.most)}.`)];
  });
  box.append(course.row(course.slider("words", [2, 48, 1, length], (value) => { length = value; show(); }), course.button("again", show)), drawn);
  show();
  return { measure() {
    const found = compare(24), share = found.most / found.norm;
    return { choice: share < 1e-6 ? 0 : share < 0.3 ? 1 : 2, text: `24 words: the gradients have the length ${course.number(found.norm)} and differ by at most ${course.tiny(found.most)}. One pass took ${course.number(found.together.milliseconds, 1)} ms, 24 passes ${course.number(found.apart.milliseconds, 1)} ms.` };
  } };
};
