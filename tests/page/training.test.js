"use strict";
const assert = require("node:assert/strict");
const { test } = require("node:test");
const { load, loadEngine } = require("./scripts.js");

const regard = load("data", "colors", "heads", "curves", "beam");

test("an axis has a few round numbers, all of them inside", () => {
  assert.deepEqual(regard.ticks(0, 1, false), [0, 0.5, 1]);
  assert.deepEqual(regard.ticks(3, 41, false), [10, 20, 30, 40]);
  assert.deepEqual(regard.ticks(2, 3000, true), [10, 100, 1000]);
  assert.deepEqual(regard.ticks(1, 40, true), [1, 3, 10, 30]);
  assert.deepEqual(regard.ticks(5, 5, false).length, 1);
});

test("what spans more than fifty times itself is on a logarithmic scale, and 0 stands at its beginning", () => {
  const steps = regard.axis([0, 1, 10, 100], 0, 200);
  assert.equal(steps.isLog, true);
  [[0, 0], [1, 0], [10, 100], [100, 200]].forEach(([value, place]) => assert.ok(Math.abs(steps.at(value) - place) < 1e-9));
  const loss = regard.axis([4, 2], 100, 0);
  assert.deepEqual([loss.isLog, loss.at(4), loss.at(2), loss.at(3)], [false, 0, 100, 50]);
  assert.equal(regard.axis([-1, 1000], 0, 1).isLog, false);
  assert.equal(regard.axis([7], 0, 10).at(7), 5);
});

test("numbers on an axis are short", () => {
  assert.deepEqual([0, 0.25, 12, 9999, 25000, 3e6].map(regard.brief), ["0", "0.25", "12", "10000", "25k", "3M"]);
});

test("a head is named by its best role, with the score, and not at all if it has none", () => {
  const data = { head_roles: { text: [[{ previous: 0.91234, sink: 0.2, next: -0.1 }, { previous: 0.05 }]] } };
  const [first, second] = [1, 2].map((head) => regard.rolesOf(data, "text", 1, head));
  assert.equal(regard.bestRole(first), "previous 0.91");
  assert.equal(regard.describeHead(first), "on held-out text: previous 0.91, sink 0.20");
  assert.deepEqual([regard.bestRole(second), regard.describeHead(second)], ["", "on held-out text: no role"]);
  assert.equal(regard.rolesOf(data, "cross", 1, 1), null);
  assert.deepEqual([regard.bestRole(null), regard.describeHead(null)], ["", ""]);
});

// 0 ends; after 9, 1 is likelier than 2, but what follows 2 is likelier
const TABLE = [[0.1, 0.5, 0.4], [0.4, 0.3, 0.3], [0.9, 0.05, 0.05]].map((row) => Float32Array.from(row, Math.log));
const search = (width, limit) => {
  const tree = [], step = Object.assign((last) => last.map((id) => TABLE[id === 9 ? 0 : id]), { keep: () => {} });
  const found = loadEngine().beam(step, 9, [0], limit, width, width, [], tree);
  return { found, beam: { width, before: [], nodes: tree.map((one) => ({ ...one, token: ` ${one.token}`, isEnd: one.token === 0 })) } };
};

test("a beam search leaves every candidate with its parent, its log-probability and what became of it", () => {
  const { found, beam } = search(2, 5);
  for (const node of beam.nodes) {
    const path = regard.followBeam(beam, beam.nodes.indexOf(node)).map((place) => beam.nodes[place].logProb);
    assert.ok(Math.abs(path.reduce((sum, one) => sum + one, 0) - node.score) < 1e-9);
    assert.ok(node.parent < 0 || beam.nodes[node.parent].fate === "kept");
  }
  const ended = beam.nodes.filter((node) => node.fate === "finished");
  assert.deepEqual(ended.map((node) => node.score).sort(), found.map((one) => one.score).sort());
  assert.equal(regard.textOf(beam, regard.bestNode(beam)), found[0].ids.join(" "));
  assert.ok(beam.nodes.some((node) => node.fate === "dropped"));
});

test("in the picture of a beam a column is a step, a row a rank, and what was dropped is left out unless it is asked for", () => {
  const { beam } = search(2, 5);
  const shown = regard.layOutBeam(beam, false), all = regard.layOutBeam(beam, true);
  assert.ok(shown.every(({ index }) => beam.nodes[index].fate !== "dropped") && all.length > shown.length);
  for (const places of [shown, all]) {
    assert.equal(new Set(places.map(({ column, row }) => `${column} ${row}`)).size, places.length);
    for (const { index, column } of places) assert.equal(column, regard.followBeam(beam, index).length - 1);
  }
  assert.ok(search(1, 3).beam.nodes.length > 0 && regard.layOutBeam({ width: 1, before: [], nodes: [] }, true).length === 0);
});

test("a search whose candidates run out leaves no node of probability 0 in the picture", () => {
  const { beam } = search(4, 4); // more beams than there are tokens
  assert.ok(regard.layOutBeam(beam, true).every(({ index }) => beam.nodes[index].score > -Infinity));
});
