"use strict";
// Cross-attention of a translation, forced or found.
course.experiments.pair = (box, model) => {
  const { routes, config } = model;
  let source = "Hello, I love you.", target = "Bonjour, je t'aime.", isForced = true, head = 0;
  const layers = [...model.weights.keys()].filter((name) => /^decoder\.blocks\.\d+\.cross_attention\.query\.weight$/.test(name)).length;
  let layer = layers - 1;
  const pause = () => Promise.resolve();
  /** @type {(text: string, forced: string | null) => Promise<any>} */
  const look = (text, forced) => Promise.resolve(routes["/api/look"]({ text, why: false, ...(forced === null ? {} : { target: forced }) }, pause, pause));
  const { box: drawn, show } = course.drawing(async () => {
    const found = await look(source, isForced ? target : null), tokens = /** @type {TokenScore[]} */ (found.token_scores), { rows, columns, weights } = found.kinds.cross;
    const mean = head ? weights[layer][head - 1] : engine.mean(weights[layer]);
    return [regard.make("p", { class: "answer" }, found.answer), course.heat(rows, columns, engine.rows(mean, columns.length).map((row) => [...row]), { plain: true }),
      course.note("Each row is a token of the target, each column one of the source."),
      course.heading("How probable the model holds each token of the target"),
      course.bars(tokens.map((one) => one.token), tokens.map((one) => one.probability))];
  });
  box.append(course.input("source", source, (value) => { source = value; show(); }), course.input("target", target, (value) => { target = value; show(); }),
    course.row(course.tick("force this target", (is) => { isForced = is; show(); }, true),
      course.which("layer", layers, (value) => { layer = value; show(); }, layer), course.select("head", ["mean", ...Array.from({ length: config.heads }, (_, i) => `${i + 1}`)], (value) => { head = value; show(); })), drawn);
  show();
  return { async measure() {
    const { rows, columns, weights } = (await look("The old dog sees a young cat.", "Le chien.")).kinds.cross, size = weights[0][0].length, [s, t] = [columns.length, rows.length];
    const sums = engine.rows(weights[0][0], s).map((row) => row.reduce((sum, x) => sum + x, 0)), isRow = size === s * t && sums.every((sum) => Math.abs(sum - 1) < 1e-3);
    return { choice: isRow ? 1 : size === s * s ? 2 : 0, text: `${s} source tokens, ${t} target tokens: the weights are ${t} × ${s}, and each of the ${t} rows adds up to ${course.number(sums[0], 2)}.` };
  } };
};
