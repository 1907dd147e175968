"use strict";
// Recall over a distance: five networks of about as many weights, trained alike.
course.experiments.distance = (box) => {
  const symbols = 4, early = 4;
  const drawRows = (random, count, distance) => Array.from({ length: count }, () => {
    const ids = Array.from({ length: early + distance }, () => Math.floor(random() * symbols)), mark = Math.floor(random() * early);
    return { ids: [...ids, symbols], mark, answer: ids[mark] };
  });
  // Each kind: its weights, and logits of a batch as a list of matrices.
  const kinds = {
    attention(random, _) {
      const w = 20, [table, marks, query, key, value, output] = [[symbols + 1, w, 1], [2, w, 1], [w, w], [w, w], [w, w], [w, symbols]].map(([rows, columns, spread]) => course.fresh(rows, columns, random, spread));
      const run = ({ ids, mark }) => {
        const places = course.matrix(ids.map((__, p) => [...engine.sinusoids(p, w)])), x = course.plus(course.plus(course.pick(table, ids), course.pick(marks, ids.map((__, p) => Number(p === mark)))), places);
        const asked = course.multiply(course.pick(x, [ids.length - 1]), query), scores = course.scale(course.multiply(asked, course.transpose(course.multiply(x, key))), 1 / Math.sqrt(w));
        return course.multiply(course.multiply(course.softmax(scores), course.multiply(x, value)), output);
      };
      return { weights: [table, marks, query, key, value, output], run: (rows) => rows.map(run) };
    },
    LSTM: (random) => recurrent(random, 12, 4, ([forget, keep, fresh, out], held, inside) => {
      const cell = course.plus(course.times(course.sigmoid(forget), inside), course.times(course.sigmoid(keep), course.tanh(fresh)));
      return [course.times(course.sigmoid(out), course.tanh(cell)), cell];
    }),
    GRU: (random) => recurrent(random, 14, 3, ([keep, reset, fresh], held) => {
      const z = course.sigmoid(keep), n = course.tanh(course.times(fresh, course.sigmoid(reset)));
      return [course.plus(course.times(z, held), course.times(course.scale(z, -1, 1), n)), held];
    }),
    convolution(random) {
      const w = 9, [table, marks, output] = [[symbols + 1, w, 1], [2, w, 1], [w, symbols]].map(([rows, columns, spread]) => course.fresh(rows, columns, random, spread)), kernels = Array.from({ length: 3 }, () => course.fresh(5 * w, w, random));
      const run = ({ ids, mark }) => {
        let x = course.plus(course.pick(table, ids), course.pick(marks, ids.map((_, p) => Number(p === mark))));
        for (const kernel of kernels) x = course.relu(course.multiply(course.beside(...[0, 1, 2, 3, 4].map((back) => course.pick(x, ids.map((_, p) => Math.max(0, p - back))))), kernel));
        return course.multiply(course.pick(x, [ids.length - 1]), output);
      };
      return { weights: [table, marks, output, ...kernels], run: (rows) => rows.map(run) };
    },
    linear(random, distance) {
      const length = early + distance + 1, w = Math.max(2, Math.round(1350 / (symbols * length + symbols + 3))), [table, marks] = [course.fresh(symbols + 1, w, random, 1), course.fresh(2, w, random, 1)];
      const parts = Array.from({ length }, () => course.fresh(w, symbols, random, 0.3));
      const run = ({ ids, mark }) => ids.map((id, p) => course.multiply(course.plus(course.pick(table, [id]), course.pick(marks, [Number(p === mark)])), parts[p])).reduce((sum, one) => course.plus(sum, one));
      return { weights: [table, marks, ...parts], run: (rows) => rows.map(run) };
    },
  };
  // Gates over a batch, place after place; the first gate begins by keeping what is held.
  const recurrent = (random, w, gates, step) => {
    const [table, marks, output] = [[symbols + 1, w, 1], [2, w, 1], [w, symbols]].map(([rows, columns, spread]) => course.fresh(rows, columns, random, spread));
    const matrices = Array.from({ length: gates }, () => course.fresh(2 * w, w, random)), shifts = Array.from({ length: gates }, (_, g) => new course.Matrix(1, w, new Float64Array(w).fill(g === 0 ? 2 : 0)));
    const run = (rows) => {
      let [held, inside] = [new course.Matrix(rows.length, w), new course.Matrix(rows.length, w)];
      rows[0].ids.forEach((_, p) => {
        const x = course.plus(course.pick(table, rows.map((row) => row.ids[p])), course.pick(marks, rows.map((row) => Number(row.mark === p)))), both = course.beside(x, held);
        [held, inside] = step(matrices.map((matrix, g) => course.plus(course.multiply(both, matrix), shifts[g])), held, inside);
      });
      return [course.multiply(held, output)];
    };
    return { weights: [table, marks, output, ...matrices, ...shifts], run };
  };
  const train = async (kind, distance, steps) => {
    const random = engine.makeRandom(1), network = kinds[kind](random, distance), step = course.adam(network.weights, 0.01), begun = performance.now();
    for (let i = 0; i < steps; i++) {
      if (i % 10 === 0) await engine.yieldOnce(); // the page stays alive
      const rows = drawRows(random, 8, distance), found = network.run(rows);
      found.forEach((logits, part) => course.back(course.scale(course.crossEntropy(logits, found.length === 1 ? rows.map((row) => row.answer) : [rows[part].answer]), 1 / found.length)));
      step();
    }
    const milliseconds = (performance.now() - begun) / steps, rows = drawRows(engine.makeRandom(99), 200, distance), logits = network.run(rows).flatMap((one) => course.rowsOf(one));
    return { right: logits.filter((row, i) => engine.largest(row, 1)[0] === rows[i].answer).length / rows.length, count: network.weights.reduce((sum, one) => sum + one.data.length, 0), milliseconds };
  };
  const names = Object.keys(kinds);
  let distance = 20, steps = 100;
  const all = async () => {
    const found = {};
    for (const name of names) found[name] = await train(name, distance, steps);
    return found;
  };
  const table = (found) => course.heat(names, ["right answers", "weights", "ms a step"], names.map((name) => [found[name].right, found[name].count / 1000, found[name].milliseconds]), { digits: 2 });
  const { box: drawn, show } = course.drawing(async () => [table(await all()), course.note("Weights in thousands; a guess is right in 0.25. Milliseconds are of this browser and these few lines, just now.")]);
  const { box: gate, show: showGate } = course.drawing(() => course.bars(["gate: sigmoid(x)", "its slope, by a difference", "its slope, by the formula"], [1 / (1 + Math.exp(-at)), (1 / (1 + Math.exp(-at - 1e-4)) - 1 / (1 + Math.exp(-at + 1e-4))) / 2e-4, Math.exp(-at) / (1 + Math.exp(-at)) ** 2]));
  let at = 0.5;
  box.append(course.row(course.slider("distance", [1, 28, 1, distance], (value) => { distance = value; }), course.slider("steps", [20, 400, 20, steps], (value) => { steps = value; }), course.button("train all five", show)), drawn,
    regard.make("h3", {}, "A gate and its slope"), course.row(course.slider("x", [-6, 6, 0.25, at], (value) => { at = value; showGate(); })), gate);
  showGate();
  return { async measure() {
    const found = await all(), good = names.filter((name) => found[name].right > 0.8);
    drawn.replaceChildren(table(found));
    const choice = good.length === 1 ? 0 : good.includes("LSTM") ? 2 : 1;
    return { choice, text: `Right answers: ${names.map((name) => `${name} ${regard.percent(found[name].right)}`).join(", ")}. Weights: ${names.map((name) => found[name].count).join(", ")}.` };
  } };
};
