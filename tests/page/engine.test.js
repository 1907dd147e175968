"use strict";
const assert = require("node:assert/strict");
const { test } = require("node:test");
const { load, loadEngine } = require("./scripts.js");

const engine = loadEngine("worker");
const regard = load("data", "colors", "live", "model");
const near = (mine, theirs) => mine.forEach((value, i) => assert.ok(Math.abs(value - theirs[i]) < 1e-6, `${mine} is not ${theirs}`));

test("a product of rows with a weight of any number of outputs", () => {
  for (const outputs of [1, 3, 4, 9]) {
    const weight = { shape: [outputs, 2], data: Float32Array.from({ length: 2 * outputs }, (_, i) => i) };
    const found = engine.linear(Float32Array.of(1, 2, -1, 3), weight, { shape: [outputs], data: new Float32Array(outputs).fill(0.5) });
    near(found, [[1, 2], [-1, 3]].flatMap(([a, b]) => Array.from({ length: outputs }, (_, o) => a * 2 * o + b * (2 * o + 1) + 0.5)));
  }
});

test("the largest come first, of equals the first, and never more than there are", () => {
  assert.deepEqual(engine.largest([1, 3, 2, 3], 2), [1, 3]);
  assert.deepEqual(engine.largest([2], 5), [0]);
  assert.deepEqual(engine.largest(Float64Array.of(-Infinity, -1), 2), [1, 0]);
});

test("half precision: every kind of number", () => {
  const halves = engine.halves();
  assert.deepEqual([0x0000, 0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00].map((bits) => halves[bits]), [0, 1, -2, 65504, 2 ** -24, Infinity]);
});

test("erf is within 1.2e-7 of known values", () => {
  [[0, 0], [0.5, 0.5204998778], [1, 0.8427007929], [2, 0.995322265], [-1, -0.8427007929]].forEach(([x, y]) => assert.ok(Math.abs(engine.erf(x) - y) < 1.2e-7));
});

test("a beam of one token each finds the likeliest sequence, and greedy search the greedy one", () => {
  const table = [[0.1, 0.5, 0.4], [0.4, 0.3, 0.3], [0.9, 0.05, 0.05]].map((row) => Float32Array.from(row, Math.log)); // 0 ends
  const make = () => Object.assign((last) => last.map((id) => table[id === 9 ? 0 : id]), { keep: () => {} });
  const { ids, score, isFinished } = engine.greedy(make(), 9, [0], 5);
  assert.deepEqual([ids, isFinished], [[1], true]);
  near([score], [Math.log(0.5 * 0.4)]);
  assert.deepEqual(engine.beam(make(), 9, [0], 5, 3, 1)[0].ids, [2]);
  assert.equal(engine.greedy(make(), 9, [], 3).isFinished, false);
});

test("a loop at the end is cut to its first round", () => {
  assert.deepEqual(engine.cutRepetition([5, 1, 2, 1, 2, 1, 2, 1, 2]), [5, 1, 2]);
  assert.deepEqual(engine.cutRepetition([1, 1, 1]), [1, 1, 1]);
});

test("the newest match takes what is left by those after it", () => {
  near([...engine.newestMatch(Float64Array.of(0, 0, 0))], [0.125, 0.25, 0.5]);
});

test("words are counted by spaces, and linked to the word that they attend to", () => {
  assert.deepEqual(engine.wordsOf([" the", "re", " ", " is", "!"]), [0, 0, null, 1, 1]);
  assert.deepEqual(engine.alignWords([[0.9, 0.1, 0], [0.2, 0.7, 0.1]], [" a", " b"], [" x", " y"]), [[0, 0], [1, 1]]);
});

test("a question of which nobody waits for the answer is not asked, or stopped", async () => {
  const asked = [], worker = { postMessage: (message) => asked.push(message), onmessage: null };
  const ask = regard.connect(worker), giving = new AbortController();
  const first = ask("/a", {}), second = ask("/b", {}, giving.signal), third = ask("/c", {});
  giving.abort();
  await assert.rejects(second, { name: "AbortError" });
  worker.onmessage({ data: { id: 0, answer: 1 } });
  worker.onmessage({ data: { id: 2, problem: "no" } });
  assert.equal(await first, 1);
  await assert.rejects(third, { message: "no" });
  assert.deepEqual(asked.map(({ path }) => path), ["/a", "/c"]);
});

test("the worker answers in order, sends parts, and stops when it is given up", async () => {
  const sent = [], scope = { postMessage: (message) => sent.push(message), onmessage: null };
  engine.open = async () => ({ routes: { "/count": async (fields, push) => {
    for (let i = 0; i < fields.to; i++) await push(i);
    return "all";
  } } });
  engine.listen(scope);
  scope.onmessage({ data: { about: {} } });
  await scope.onmessage({ data: { id: 1, path: "/count", fields: { to: 2 } } });
  assert.deepEqual(sent, [{ id: 1, part: 0 }, { id: 1, part: 1 }, { id: 1, answer: "all" }]);
  const running = scope.onmessage({ data: { id: 2, path: "/count", fields: { to: 1e6 } } });
  scope.onmessage({ data: { id: 2 } });
  await running;
  assert.deepEqual(sent.at(-1), { id: 2, problem: "given up" });
  await scope.onmessage({ data: { id: 3, path: "/none" } });
  assert.match(sent.at(-1).problem, /does not answer/);
});

test("weights that are set stay, and the others share the rest as they did", () => {
  const fix = (weights, ...fixed) => {
    const found = Float64Array.from(weights);
    engine.fixWeights(found, found.length, fixed.map(([column, value]) => ({ row: 0, column, value })));
    return [...found];
  };
  near(fix([0.5, 0.3, 0.2], [0, 0]), [0, 0.6, 0.4]);
  near(fix([0.5, 0.3, 0.2], [0, 0.9]), [0.9, 0.06, 0.04]);
  near(fix([1, 0, 0], [0, 0.4]), [0.4, 0.3, 0.3]); // the others had nothing
  near(fix([0.5, 0.3, 0.2], [0, 1], [1, 1]), [0.5, 0.5, 0]); // more than there is
  near(fix([1], [0, 0]), [1]); // the only one keeps all
});

test("a temperature goes from the largest alone to all alike", () => {
  const at = (temperature) => {
    const scores = Float64Array.of(1, 2, 2, 0);
    engine.temper(scores, 4, temperature);
    return [...engine.softmax(scores)];
  };
  near(at(0), [0, 1, 0, 0]);
  near(at(Infinity), [0.25, 0.25, 0.25, 0.25]);
  near(at(1), [...engine.softmax(Float64Array.of(1, 2, 2, 0))]);
});

test("a change that is not known is refused by name", () => {
  assert.throws(() => engine.makeTaps([{ what: "explode" }]), /no change explode/);
});

test("vectors keep their distances on the plane that they lie in", () => {
  const given = [[3, 0, 1], [-3, 0, 1], [0, 1, 1], [0, -1, 1]], plane = engine.onPlane(given.map((one) => Float32Array.from(one)));
  const apart = (points, i, j) => Math.hypot(...points[i].map((value, k) => value - points[j][k]));
  for (const [i, j] of [[0, 1], [2, 3], [0, 2]]) assert.ok(Math.abs(apart(plane, i, j) - apart(given, i, j)) < 1e-5);
});
