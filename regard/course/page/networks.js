"use strict";
// Five networks that recall a marked symbol, of about as many weights each, built of the matrices of grad.js. A row of
// symbols goes by, one of the first few with a mark; the last symbol is the question. Trains nothing itself.
course.recall = { symbols: 4, early: 4 };

/** @type {(random: () => number, count: number, distance: number) => RecallRow[]} */
course.drawRows = (random, count, distance) => Array.from({ length: count }, () => {
  const { symbols, early } = course.recall;
  const ids = Array.from({ length: early + distance }, () => Math.floor(random() * symbols)), mark = Math.floor(random() * early);
  return { ids: [...ids, symbols], mark, answer: ids[mark] };
});

/** Several matrices of fresh weights, each by its rows, columns and spread. @type {(random: () => number, shapes: number[][]) => Matrix[]} */
course.freshOnes = (random, shapes) => shapes.map(([rows, columns, spread]) => course.fresh(rows, columns, random, spread));

/** Symbol and mark of each place of a row as one vector. @type {(table: Matrix, marks: Matrix, row: RecallRow) => Matrix} */
course.embedRow = (table, marks, { ids, mark }) => course.plus(course.pick(table, ids), course.pick(marks, ids.map((_, p) => Number(p === mark))));

/** @type {Record<string, (random: () => number, distance: number) => RecallNetwork>} */
course.networks = {
  // The question attends to all places at once.
  attention(random) {
    const w = 20, { symbols } = course.recall;
    const weights = course.freshOnes(random, [[symbols + 1, w, 1], [2, w, 1], [w, w], [w, w], [w, w], [w, symbols]]), [table, marks, query, key, value, output] = weights;
    const run = (/** @type {RecallRow} */ row) => {
      const x = course.plus(course.embedRow(table, marks, row), course.matrix(row.ids.map((_, p) => [...engine.sinusoids(p, w)])));
      const asked = course.multiply(course.pick(x, [row.ids.length - 1]), query), scores = course.scale(course.multiply(asked, course.transpose(course.multiply(x, key))), 1 / Math.sqrt(w));
      return course.multiply(course.multiply(course.softmax(scores), course.multiply(x, value)), output);
    };
    return { weights, run: (rows) => rows.map(run), held: (length) => 2 * w * length }; // a key and a value each
  },
  LSTM: (random) => course.recurrent(random, 12, 4, ([forget, keep, fresh, out], _, inside) => {
    const cell = course.plus(course.times(course.sigmoid(forget), inside), course.times(course.sigmoid(keep), course.tanh(fresh)));
    return [course.times(course.sigmoid(out), course.tanh(cell)), cell];
  }),
  GRU: (random) => course.recurrent(random, 14, 3, ([keep, reset, fresh], held) => {
    const z = course.sigmoid(keep), n = course.tanh(course.times(fresh, course.sigmoid(reset)));
    return [course.plus(course.times(z, held), course.times(course.scale(z, -1, 1), n)), held];
  }),
  // Three layers of kernels over five places each: the last place has heard of 13.
  convolution(random) {
    const w = 9, { symbols } = course.recall;
    const [table, marks, output, ...kernels] = course.freshOnes(random, [[symbols + 1, w, 1], [2, w, 1], [w, symbols], [5 * w, w], [5 * w, w], [5 * w, w]]);
    const run = (/** @type {RecallRow} */ row) => {
      let x = course.embedRow(table, marks, row);
      for (const kernel of kernels) x = course.relu(course.multiply(course.beside(...[0, 1, 2, 3, 4].map((back) => course.pick(x, row.ids.map((_, p) => Math.max(0, p - back))))), kernel));
      return course.multiply(course.pick(x, [row.ids.length - 1]), output);
    };
    return { weights: [table, marks, output, ...kernels], run: (rows) => rows.map(run), held: () => 13 * w };
  },
  // A fixed matrix for every place; the longer the row, the narrower the vectors it can afford.
  linear(random, distance) {
    const { symbols, early } = course.recall, length = early + distance + 1, w = Math.max(2, Math.round(1350 / (symbols * length + symbols + 3)));
    const [table, marks] = course.freshOnes(random, [[symbols + 1, w, 1], [2, w, 1]]), parts = Array.from({ length }, () => course.fresh(w, symbols, random, 0.3));
    const run = (/** @type {RecallRow} */ row) => {
      const x = course.embedRow(table, marks, row);
      return parts.map((part, p) => course.multiply(course.pick(x, [p]), part)).reduce((sum, one) => course.plus(sum, one));
    };
    return { weights: [table, marks, ...parts], run: (rows) => rows.map(run), held: () => w * length };
  },
};

// Gates over a batch, place after place; the first gate begins by keeping what is held.
/** @type {(random: () => number, width: number, gates: number, step: (gates: Matrix[], held: Matrix, inside: Matrix) => Matrix[]) => RecallNetwork} */
course.recurrent = (random, w, gates, step) => {
  const { symbols } = course.recall, [table, marks, output] = course.freshOnes(random, [[symbols + 1, w, 1], [2, w, 1], [w, symbols]]);
  const matrices = Array.from({ length: gates }, () => course.fresh(2 * w, w, random)), shifts = Array.from({ length: gates }, (_, g) => new course.Matrix(1, w, new Float64Array(w).fill(g === 0 ? 2 : 0)));
  const run = (/** @type {RecallRow[]} */ rows) => {
    let [held, inside] = [new course.Matrix(rows.length, w), new course.Matrix(rows.length, w)];
    rows[0].ids.forEach((_, p) => {
      const x = course.plus(course.pick(table, rows.map((row) => row.ids[p])), course.pick(marks, rows.map((row) => Number(row.mark === p)))), both = course.beside(x, held);
      [held, inside] = step(matrices.map((matrix, g) => course.plus(course.multiply(both, matrix), shifts[g])), held, inside);
    });
    return [course.multiply(held, output)];
  };
  return { weights: [table, marks, output, ...matrices, ...shifts], run, held: () => (gates === 4 ? 2 : 1) * w };
};
