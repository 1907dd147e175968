"use strict";
// Heads side by side, and what is lost when they share one map.
course.experiments.heads = (box, model) => {
  const { config, tokenizer, weights } = model;
  let text = "The old dog sees a young cat.", layer = 0, isMean = false;
  const { box: drawn, show } = course.drawing(() => {
    const ids = course.encode(model, text).slice(0, 10), tokens = tokenizer.tokens(ids), own = course.pass(model, ids), mean = course.pass(model, ids, { average: true });
    const maps = (isMean ? mean : own).maps[layer];
    return [regard.make("div", { class: "pair" }, ...maps.slice(0, isMean ? 1 : 4).map((map, h) => regard.make("div", {}, regard.make("h3", {}, isMean ? "all heads" : `head ${h + 1}`),
      course.heat(tokens, tokens, map.map((row, t) => row.map((w, s) => (s > t ? null : w))), { digits: 1, plain: true })))),
    course.note(`Loss of this text: ${course.number(own.loss)} nats a token with its ${config.heads} heads, ${course.number(mean.loss)} with one average for all.`)];
  });
  const layers = course.pass(model, course.encode(model, "A")).steps.length;
  box.append(course.input("text", text, (value) => { text = value; show(); }), course.row(
    course.select("layer", Array.from({ length: layers }, (_, i) => `${i + 1}`), (value) => { layer = value; show(); }), course.tick("one average for all heads", (is) => { isMean = is; show(); })), drawn);
  show();
  return { measure() {
    const name = "stack.blocks.0.self_attention", parts = ["query", "key", "value", "output"].map((part) => engine.need(weights, `${name}.${part}.weight`).shape);
    const now = parts.reduce((sum, [rows, columns]) => sum + rows * columns, 0), { width, heads } = config, [query, key, value] = parts.map(([rows]) => rows);
    const joined = width * query + width * key + width * value + value * width; // one head of these widths, and its output
    return { choice: joined < now ? 0 : joined === now ? 1 : 2, text: `${heads} heads of width ${query / heads}: ${now} weights. One head of width ${query}: ${joined}.` };
  } };
};
