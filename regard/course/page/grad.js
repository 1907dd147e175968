"use strict";
// Reverse-mode automatic differentiation of matrices, for experiments that train something while the pupil waits.
// A matrix knows its gradient and how to pass it back; `course.back(loss)` fills all gradients.
course.Matrix = class {
  /** @param {number} rows @param {number} columns @param {Float64Array} [data] @param {Matrix[]} [from] @param {(grad: Float64Array) => void} [pass] */
  constructor(rows, columns, data, from = [], pass = () => {}) {
    this.rows = rows;
    this.columns = columns;
    this.data = data ?? new Float64Array(rows * columns);
    this.from = from;
    this.pass = pass;
    this.grad = new Float64Array(rows * columns);
  }
};
course.matrix = (rows) => new course.Matrix(rows.length, rows[0].length, Float64Array.from(rows.flat()));
course.rowsOf = (x, data = x.data) => Array.from({ length: x.rows }, (_, r) => [...data.subarray(r * x.columns, (r + 1) * x.columns)]);

// Fresh weights of a given spread.
course.fresh = (rows, columns, random, spread = 1 / Math.sqrt(rows)) => {
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  return new course.Matrix(rows, columns, Float64Array.from({ length: rows * columns }, () => spread * gauss()));
};

course.back = (loss) => {
  const order = /** @type {Matrix[]} */ ([]), seen = new Set();
  const visit = (/** @type {Matrix} */ node) => {
    if (seen.has(node)) return;
    seen.add(node);
    node.from.forEach(visit);
    order.push(node);
  };
  visit(loss);
  loss.grad.fill(1);
  for (const node of order.reverse()) node.pass(node.grad);
};

course.multiply = (a, b) => {
  const n = a.rows, k = a.columns, m = b.columns, found = new Float64Array(n * m);
  for (let i = 0; i < n; i++) for (let l = 0; l < k; l++) {
    const value = a.data[i * k + l];
    for (let j = 0; j < m; j++) found[i * m + j] += value * b.data[l * m + j];
  }
  return new course.Matrix(n, m, found, [a, b], (grad) => {
    for (let i = 0; i < n; i++) for (let l = 0; l < k; l++) {
      let sum = 0;
      const value = a.data[i * k + l];
      for (let j = 0; j < m; j++) {
        sum += grad[i * m + j] * b.data[l * m + j];
        b.grad[l * m + j] += value * grad[i * m + j];
      }
      a.grad[i * k + l] += sum;
    }
  });
};

course.transpose = (x) => {
  const flip = (/** @type {Float64Array} */ data, /** @type {number} */ rows, /** @type {number} */ columns) => Float64Array.from({ length: data.length }, (_, i) => data[(i % rows) * columns + Math.floor(i / rows)]);
  return new course.Matrix(x.columns, x.rows, flip(x.data, x.rows, x.columns), [x], (grad) => flip(grad, x.columns, x.rows).forEach((value, i) => { x.grad[i] += value; }));
};

// Sum; the second may be one row for all.
course.plus = (a, b) => new course.Matrix(a.rows, a.columns, a.data.map((value, i) => value + b.data[i % b.data.length]), [a, b], (grad) => grad.forEach((value, i) => {
  a.grad[i] += value;
  b.grad[i % b.data.length] += value;
}));

course.times = (a, b) => new course.Matrix(a.rows, a.columns, a.data.map((value, i) => value * b.data[i]), [a, b], (grad) => grad.forEach((value, i) => {
  a.grad[i] += value * b.data[i];
  b.grad[i] += value * a.data[i];
}));

course.scale = (a, factor, shift = 0) => new course.Matrix(a.rows, a.columns, a.data.map((value) => factor * value + shift), [a], (grad) => grad.forEach((value, i) => { a.grad[i] += factor * value; }));

// A function of each number, and its slope by the number and the result.
course.each = (a, work, slope) => {
  const found = a.data.map(work);
  return new course.Matrix(a.rows, a.columns, found, [a], (grad) => grad.forEach((value, i) => { a.grad[i] += value * slope(a.data[i], found[i]); }));
};
course.relu = (a) => course.each(a, (x) => Math.max(0, x), (x) => Number(x > 0));
course.tanh = (a) => course.each(a, Math.tanh, (_, y) => 1 - y * y);
course.sigmoid = (a) => course.each(a, (x) => 1 / (1 + Math.exp(-x)), (_, y) => y * (1 - y));

// Softmax of each row; may(row, column): what it may attend to.
course.softmax = (a, may = () => true) => {
  const found = new Float64Array(a.data.length), m = a.columns;
  for (let r = 0; r < a.rows; r++) {
    let most = -Infinity, sum = 0;
    for (let c = 0; c < m; c++) if (may(r, c)) most = Math.max(most, a.data[r * m + c]);
    for (let c = 0; c < m; c++) if (may(r, c)) sum += found[r * m + c] = Math.exp(a.data[r * m + c] - most);
    for (let c = 0; c < m; c++) found[r * m + c] /= sum;
  }
  return new course.Matrix(a.rows, m, found, [a], (grad) => {
    for (let r = 0; r < a.rows; r++) {
      let mean = 0;
      for (let c = 0; c < m; c++) mean += grad[r * m + c] * found[r * m + c];
      for (let c = 0; c < m; c++) a.grad[r * m + c] += found[r * m + c] * (grad[r * m + c] - mean);
    }
  });
};

// Each row less its mean, divided by its standard deviation.
course.norm = (a, epsilon = 1e-5) => {
  const found = new Float64Array(a.data.length), m = a.columns, scales = /** @type {number[]} */ ([]);
  for (let r = 0; r < a.rows; r++) {
    const row = a.data.subarray(r * m, (r + 1) * m), mean = row.reduce((sum, x) => sum + x, 0) / m;
    scales[r] = 1 / Math.sqrt(row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / m + epsilon);
    for (let c = 0; c < m; c++) found[r * m + c] = (row[c] - mean) * scales[r];
  }
  return new course.Matrix(a.rows, m, found, [a], (grad) => {
    for (let r = 0; r < a.rows; r++) {
      let mean = 0, along = 0;
      for (let c = 0; c < m; c++) { mean += grad[r * m + c] / m; along += (grad[r * m + c] * found[r * m + c]) / m; }
      for (let c = 0; c < m; c++) a.grad[r * m + c] += scales[r] * (grad[r * m + c] - mean - found[r * m + c] * along);
    }
  });
};

// Some rows, and parts side by side.
course.pick = (a, rows) => {
  const m = a.columns, found = new Float64Array(rows.length * m);
  rows.forEach((from, to) => found.set(a.data.subarray(from * m, (from + 1) * m), to * m));
  return new course.Matrix(rows.length, m, found, [a], (grad) => rows.forEach((from, to) => { for (let c = 0; c < m; c++) a.grad[from * m + c] += grad[to * m + c]; }));
};
course.beside = (...parts) => {
  const m = parts.reduce((sum, part) => sum + part.columns, 0), n = parts[0].rows, found = new Float64Array(n * m);
  let at = 0;
  const places = parts.map((part) => { const start = at; at += part.columns; return start; });
  parts.forEach((part, i) => { for (let r = 0; r < n; r++) found.set(part.data.subarray(r * part.columns, (r + 1) * part.columns), r * m + places[i]); });
  return new course.Matrix(n, m, found, parts, (grad) => parts.forEach((part, i) => {
    for (let r = 0; r < n; r++) for (let c = 0; c < part.columns; c++) part.grad[r * part.columns + c] += grad[r * m + places[i] + c];
  }));
};

// The mean cross-entropy of rows of logits, in nats.
course.crossEntropy = (logits, ids) => {
  const shares = course.softmax(new course.Matrix(logits.rows, logits.columns, logits.data)).data, m = logits.columns;
  const loss = ids.reduce((sum, id, r) => sum - Math.log(Math.max(1e-300, shares[r * m + id])), 0) / ids.length;
  return new course.Matrix(1, 1, Float64Array.of(loss), [logits], (grad) => shares.forEach((share, i) => {
    logits.grad[i] += (grad[0] * (share - Number(ids[Math.floor(i / m)] === i % m))) / ids.length;
  }));
};

course.squares = (a, target) => new course.Matrix(1, 1, Float64Array.of(a.data.reduce((sum, x, i) => sum + (x - target[i]) ** 2, 0)), [a], (grad) => a.data.forEach((x, i) => { a.grad[i] += 2 * grad[0] * (x - target[i]); }));

// Adam over these weights; a call takes a step and forgets the gradients.
course.adam = (weights, rate = 0.01) => {
  const held = weights.map((one) => ({ mean: new Float64Array(one.data.length), square: new Float64Array(one.data.length) }));
  let step = 0;
  return () => {
    step++;
    weights.forEach((one, w) => {
      const { mean, square } = held[w];
      one.grad.forEach((g, i) => {
        mean[i] = 0.9 * mean[i] + 0.1 * g;
        square[i] = 0.99 * square[i] + 0.01 * g * g;
        one.data[i] -= (rate * mean[i]) / (1 - 0.9 ** step) / (Math.sqrt(square[i] / (1 - 0.99 ** step)) + 1e-9);
      });
      one.grad.fill(0);
    });
  };
};
