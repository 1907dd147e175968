"use strict";
// Arithmetic on rows of numbers, one row after another in a Float32Array; sums are of doubles. Knows no model.
const engine = /** @type {Engine} */ (/** @type {unknown} */ ({ families: {} })); // its type: tests/page/engine.d.ts

// x (R, I) times the transposed weight (O, I), plus bias (O) -> (R, O).
engine.linear = (x, weight, bias) => {
  const [outputs, inputs] = weight.shape, w = weight.data, rows = x.length / inputs;
  const found = new Float32Array(rows * outputs), whole = outputs - (outputs % 4);
  if (weight.simd && inputs % 4 === 0) weight.simd.linear(x, weight, found, whole);
  else engine.linearInFours(x, weight, found, whole);
  for (let o = whole; o < outputs; o++) {
    for (let r = 0; r < rows; r++) {
      let sum = 0;
      for (let i = 0; i < inputs; i++) sum += x[r * inputs + i] * w[o * inputs + i];
      found[r * outputs + o] = sum;
    }
  }
  return bias ? engine.add(found, bias.data) : found;
};

// The first `whole` outputs. Four at a time: their sums do not wait for each other, and the weights are read once for all rows.
engine.linearInFours = (x, weight, found, whole) => {
  const [outputs, inputs] = weight.shape, w = weight.data, rows = x.length / inputs;
  for (let o = 0; o < whole; o += 4) {
    const w0 = o * inputs, w1 = w0 + inputs, w2 = w1 + inputs, w3 = w2 + inputs;
    for (let r = 0; r < rows; r++) {
      const start = r * inputs, place = r * outputs + o;
      let a = 0, b = 0, c = 0, d = 0;
      for (let i = 0; i < inputs; i++) {
        const value = x[start + i];
        a += value * w[w0 + i];
        b += value * w[w1 + i];
        c += value * w[w2 + i];
        d += value * w[w3 + i];
      }
      found[place] = a;
      found[place + 1] = b;
      found[place + 2] = c;
      found[place + 3] = d;
    }
  }
};

// x plus y in place; y may be one row for all of x.
engine.add = (x, y) => {
  for (let i = 0; i < x.length; i++) x[i] += y[i % y.length];
  return x;
};

engine.layerNorm = (x, weight, bias, epsilon) => {
  const width = weight.data.length, found = new Float32Array(x.length);
  for (let start = 0; start < x.length; start += width) {
    let mean = 0, variance = 0;
    for (let i = 0; i < width; i++) mean += x[start + i] / width;
    for (let i = 0; i < width; i++) variance += (x[start + i] - mean) ** 2 / width;
    const scale = 1 / Math.sqrt(variance + epsilon);
    for (let i = 0; i < width; i++) found[start + i] = (x[start + i] - mean) * scale * weight.data[i] + bias.data[i];
  }
  return found;
};

engine.rmsNorm = (x, weight, epsilon) => {
  const width = weight.data.length, found = new Float32Array(x.length);
  for (let start = 0; start < x.length; start += width) {
    let square = 0;
    for (let i = 0; i < width; i++) square += x[start + i] ** 2 / width;
    const scale = 1 / Math.sqrt(square + epsilon);
    for (let i = 0; i < width; i++) found[start + i] = x[start + i] * scale * weight.data[i];
  }
  return found;
};

// The first `count` numbers in place.
engine.softmax = (x, count = x.length) => {
  let most = -Infinity, sum = 0;
  for (let i = 0; i < count; i++) if (x[i] > most) most = x[i];
  for (let i = 0; i < count; i++) sum += x[i] = Math.exp(x[i] - most);
  for (let i = 0; i < count; i++) x[i] /= sum;
  return x;
};

engine.logSumExp = (logits) => {
  let most = -Infinity, sum = 0;
  for (let i = 0; i < logits.length; i++) if (logits[i] > most) most = logits[i];
  for (let i = 0; i < logits.length; i++) sum += Math.exp(logits[i] - most);
  return most + Math.log(sum);
};

engine.logSoftmax = (logits) => {
  const total = engine.logSumExp(logits), found = new Float64Array(logits.length);
  for (let i = 0; i < logits.length; i++) found[i] = logits[i] - total;
  return found;
};

// erf(x) within 1.2e-7 of itself (Chebyshev fit of Numerical Recipes).
engine.erf = (x) => {
  const t = 1 / (1 + 0.5 * Math.abs(x));
  const terms = [0.17087277, -0.82215223, 1.48851587, -1.13520398, 0.27886807, -0.18628806, 0.09678418, 0.37409196, 1.00002368];
  const sum = terms.reduce((total, term) => total * t + term, 0);
  const rest = t * Math.exp(-x * x - 1.26551223 + t * sum);
  return x >= 0 ? 1 - rest : rest - 1;
};

engine.activations = {
  relu: (x) => Math.max(0, x),
  gelu: (x) => 0.5 * x * (1 + engine.erf(x / Math.SQRT2)),
  gelu_new: (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
  silu: (x) => x / (1 + Math.exp(-x)),
};

// The places of the `count` largest numbers, largest first; of equals the first.
engine.largest = (numbers, count) => {
  /** @type {number[]} */
  const best = [];
  for (let i = 0; i < numbers.length; i++) {
    if (best.length === count && !(numbers[i] > numbers[best[count - 1]])) continue;
    let place = best.length;
    while (place > 0 && numbers[i] > numbers[best[place - 1]]) place--;
    best.splice(place, 0, i);
    if (best.length > count) best.pop();
  }
  return best;
};

// Rows of a matrix, as views of it.
engine.rows = (x, width) => Array.from({ length: x.length / width }, (_, r) => x.subarray(r * width, (r + 1) * width));
