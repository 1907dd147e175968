"use strict";
// Cross-attention of a translation, forced or found.
course.experiments.pair = (box, model) => {
  const { routes, config } = model;
  let source = "Hello, I love you.", target = "Bonjour, je t'aime.", isForced = true, layer = 0, head = 0;
  const pause = () => Promise.resolve();
  const look = (text, forced) => routes["/api/look"]({ text, why: false, ...(forced === null ? {} : { target: forced }) }, pause, pause);
  const { box: drawn, show } = course.drawing(async () => {
    const found = await look(source, isForced ? target : null), { rows, columns, weights } = found.kinds.cross;
    const mean = head ? weights[layer][head - 1] : engine.mean(weights[layer]);
    return [regard.make("p", { class: "answer" }, found.answer), course.heat(rows, columns, engine.rows(mean, columns.length).map((row) => [...row]), { plain: true }),
      course.bars(found.token_scores.map((one) => one.token), found.token_scores.map((one) => one.probability)), course.note("Below the weights: the probability of each token of the target.")];
  });
  const layers = [...model.weights.keys()].filter((name) => /^decoder\.blocks\.\d+\.cross_attention\.query\.weight$/.test(name)).length;
  box.append(course.input("source", source, (value) => { source = value; show(); }), course.input("target", target, (value) => { target = value; show(); }),
    course.row(regard.make("label", {}, regard.make("input", { type: "checkbox", checked: true, onchange: (event) => { isForced = event.target.checked; show(); } }), " force this target"),
      course.select("layer", Array.from({ length: layers }, (_, i) => `${i + 1}`), (value) => { layer = value; show(); }), course.select("head", ["mean", ...Array.from({ length: config.heads }, (_, i) => `${i + 1}`)], (value) => { head = value; show(); })), drawn);
  show();
  return { async measure() {
    const { rows, columns, weights } = (await look("The old dog sees a young cat.", "Le chien.")).kinds.cross, size = weights[0][0].length, [s, t] = [columns.length, rows.length];
    const sums = engine.rows(weights[0][0], s).map((row) => row.reduce((sum, x) => sum + x, 0)), isRow = size === s * t && sums.every((sum) => Math.abs(sum - 1) < 1e-3);
    return { choice: isRow ? 1 : size === s * s ? 2 : 0, text: `${s} source tokens, ${t} target tokens: the weights are ${t} × ${s}, and each of the ${t} rows adds up to ${course.number(sums[0], 2)}.` };
  } };
};
