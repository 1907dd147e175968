"use strict";
// The five steps of a head, on a sentence of the pupil.
course.experiments.head = (box, model) => {
  const { config, tokenizer } = model;
  let text = "The old dog drinks the water in the garden.", layer = 0, head = 0, step = 3;
  const names = ["1. matmul: Q K'", "2. scale: divided by √d_k", "3. mask: the future", "4. softmax", "5. matmul: weights times V (first values)"];
  const { box: drawn, show } = course.drawing(() => {
    const ids = course.encode(model, text).slice(0, 12), tokens = tokenizer.tokens(ids), { steps, logits } = course.pass(model, ids), found = steps[layer];
    const shown = [found.products, found.scaled, found.masked, found.shares, found.mixed.map((rows) => rows.map((row) => row.slice(0, 6)))][step][head];
    const taps = engine.makeTaps(), read = model.model.logits(model.model.read(ids, taps)), apart = Math.max(...logits.map((row, t) => Math.max(...row.map((value, i) => Math.abs(value - read[t][i])))));
    return [course.heat(tokens, step === 4 ? shown[0].map((_, i) => `v${i + 1}`) : tokens, shown, { plain: true }), course.note(`These steps against the engine of this page: logits differ by at most ${course.tiny(apart)}.`)];
  });
  const layers = course.pass(model, course.encode(model, "A")).steps.length;
  box.append(course.input("text", text, (value) => { text = value; show(); }), course.row(
    course.select("step", names, (value) => { step = value; show(); }),
    course.which("layer", layers, (value) => { layer = value; show(); }),
    course.which("head", config.heads, (value) => { head = value; show(); })), drawn);
  step = 0;
  show();
  return { measure() {
    const ids = course.encode(model, "The old dog drinks the water in the garden.");
    const mean = (/** @type {number[][][][]} */ maps) => { const all = maps.flat(2); return all.reduce((sum, row) => sum + course.entropy(row), 0) / all.length; };
    const [scaled, plain] = [true, false].map((scale) => mean(course.pass(model, ids, { scale }).maps.slice(0, 1)));
    return { choice: plain > scaled + 1e-6 ? 0 : plain < scaled - 1e-6 ? 1 : 2, text: `Mean entropy of a row in the first layer: ${course.number(scaled)} bits with the division, ${course.number(plain)} without; d_k is ${config.width / config.heads}.` };
  } };
};
