"use strict";
// The last softmax of a language model, as attention over its vocabulary.
course.experiments.labels = (box, model) => {
  const { tokenizer, weights, config } = model, { width } = config;
  const keys = engine.rows((weights.get("output.weight") ?? engine.need(weights, "embedding.table.weight")).data, width);
  const both = (/** @type {string} */ text, temperature = 1) => {
    const { logits, hidden } = course.pass(model, course.encode(model, text)), query = hidden.subarray(-width);
    const own = engine.softmax(Float64Array.from(logits[logits.length - 1], (value) => value / temperature)), attention = engine.softmax(Float64Array.from(keys, (key) => engine.dot(key, query) / temperature));
    return { own, attention, query };
  };
  let text = "The old dog", temperature = 1;
  const { box: drawn, show } = course.drawing(() => {
    const { own, attention } = both(text, temperature), best = engine.largest(own, 8);
    const mixture = new Float64Array(width);
    attention.forEach((share, id) => keys[id].forEach((value, i) => { mixture[i] += share * value; }));
    const [near] = engine.largest(Float64Array.from(keys, (key) => engine.dot(key, mixture) / (Math.hypot(...key) || 1)), 1);
    return [course.heat(tokenizer.tokens(best), ["last softmax", "attention"], best.map((id) => [own[id], attention[id]]), { digits: 4 }),
      course.note(`The mixture of all label vectors is most like “${regard.shown(tokenizer.tokens([near])[0])}”.`)];
  });
  box.append(course.input("text", text, (value) => { text = value; show(); }), course.row(course.slider("temperature", [0.1, 5, 0.1, 1], (value) => { temperature = value; show(); })), drawn);
  show();
  return { measure() {
    const { own, attention } = both("The old dog"), most = Math.max(...own.map((p, i) => Math.abs(p - attention[i])));
    return { choice: most < 1e-5 ? 0 : most < 0.05 ? 1 : 2, text: `${keys.length} labels of width ${width}; largest difference of two probabilities: ${course.tiny(most)}.` };
  } };
};
