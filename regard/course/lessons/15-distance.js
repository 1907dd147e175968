"use strict";
// Recall over a distance: five networks of about as many weights, trained alike; and the slope of a gate.
course.experiments.distance = (box) => {
  const names = Object.keys(course.networks);
  /** @type {(kind: string, distance: number, steps: number) => Promise<RecallResult>} */
  const train = async (kind, distance, steps) => {
    const random = engine.makeRandom(1), network = course.networks[kind](random, distance), step = course.adam(network.weights, 0.01), begun = performance.now();
    for (let i = 0; i < steps; i++) {
      if (i % 10 === 0) await engine.yieldOnce(); // the page stays alive
      const rows = course.drawRows(random, 8, distance), found = network.run(rows);
      found.forEach((logits, part) => course.back(course.scale(course.crossEntropy(logits, found.length === 1 ? rows.map((row) => row.answer) : [rows[part].answer]), 1 / found.length)));
      step();
    }
    const milliseconds = (performance.now() - begun) / steps, rows = course.drawRows(engine.makeRandom(99), 200, distance), logits = network.run(rows).flatMap((one) => course.rowsOf(one));
    const right = logits.filter((row, i) => engine.largest(row, 1)[0] === rows[i].answer).length / rows.length;
    return { right, count: network.weights.reduce((sum, one) => sum + one.data.length, 0), held: network.held(rows[0].ids.length), milliseconds };
  };
  let distance = 20, steps = 100, at = 0.5;
  const all = async () => {
    const found = /** @type {RecallResult[]} */ ([]);
    for (const name of names) found.push(await train(name, distance, steps));
    return found;
  };
  const draw = (/** @type {RecallResult[]} */ found) => [
    course.bars(names, found.map((one) => one.right), 1, 2),
    course.note("Right answers; a guess is right in 0.25."),
    course.table(["weights", "numbers held", "ms a step"], found.map((one, i) => [names[i], one.count, one.held, course.number(one.milliseconds, 1)])),
    course.note("Numbers held: what the answer can be read from at the end of the row. Milliseconds are of this browser and these few lines, just now."),
  ];
  const { box: drawn, show } = course.drawing(async () => {
    drawn.replaceChildren(course.note("training …"));
    return draw(await all());
  });
  const sigmoid = (/** @type {number} */ x) => 1 / (1 + Math.exp(-x));
  const { box: gate, show: showGate } = course.drawing(() => course.bars(
    ["gate: sigmoid(x)", "its slope, by a difference", "its slope, by the formula"], [sigmoid(at), (sigmoid(at + 1e-4) - sigmoid(at - 1e-4)) / 2e-4, sigmoid(at) * (1 - sigmoid(at))]));
  box.append(course.row(course.slider("distance", [1, 28, 1, distance], (value) => { distance = value; }), course.slider("steps", [20, 400, 20, steps], (value) => { steps = value; }), course.button("train all five", show)), drawn,
    course.heading("A gate and its slope"), course.row(course.slider("x", [-6, 6, 0.25, at], (value) => { at = value; showGate(); })), gate);
  showGate();
  return { async measure() {
    const found = await all(), good = names.filter((_, i) => found[i].right > 0.8);
    drawn.replaceChildren(...draw(found));
    const choice = good.length === 1 ? 0 : good.includes("LSTM") ? 2 : 1;
    return { choice, text: `Right answers: ${names.map((name, i) => `${name} ${regard.percent(found[i].right)}`).join(", ")}.` };
  } };
};
