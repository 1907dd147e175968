"use strict";
// Heads side by side, and what is lost when they share one map.
course.experiments.heads = (box, model) => {
  const { config, tokenizer, weights } = model;
  let text = "The old dog drinks the water in the garden.", layer = 0, isMean = false;
  const { box: drawn, show } = course.drawing(() => {
    const ids = course.encode(model, text).slice(0, 11), tokens = tokenizer.tokens(ids), own = course.pass(model, ids), mean = course.pass(model, ids, { average: true });
    const maps = (isMean ? mean : own).maps[layer];
    return [regard.make("div", { class: "pair" }, ...maps.slice(0, isMean ? 1 : 4).map((map, h) => regard.make("div", {}, course.heading(isMean ? "all heads" : `head ${h + 1}`),
      course.heat(tokens, tokens, map.map((row, t) => row.map((w, s) => (s > t ? null : w))), { plain: true, bare: true })))),
    course.note("Point at a cell to read its number: how much the token of the row attends to that of the column."),
    course.note(`Loss of this text: ${course.number(own.loss)} nats a token with its ${config.heads} heads, ${course.number(mean.loss)} with one average for all.`)];
  });
  const layers = course.pass(model, course.encode(model, "A")).steps.length;
  box.append(course.input("text", text, (value) => { text = value; show(); }), course.row(
    course.which("layer", layers, (value) => { layer = value; show(); }), course.tick("one average for all heads", (is) => { isMean = is; show(); })), drawn);
  show();
  return { measure() {
    const name = "stack.blocks.0.self_attention", parts = ["query", "key", "value", "output"].map((part) => engine.need(weights, `${name}.${part}.weight`).shape);
    const now = parts.reduce((sum, [rows, columns]) => sum + rows * columns, 0), { width, heads } = config, [query, key, value] = parts.map(([rows]) => rows);
    const joined = width * query + width * key + width * value + value * width; // one head of these widths, and its output
    return { choice: joined < now ? 0 : joined === now ? 1 : 2, text: `${heads} heads of width ${query / heads}: ${now} weights. One head of width ${query}: ${joined}.` };
  } };
};
