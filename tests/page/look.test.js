"use strict";
const assert = require("node:assert/strict");
const { test } = require("node:test");
const { load } = require("./scripts.js");

const regard = load("data", "colors", "matrix", "text", "why", "keys", "page", "fragment", "numbers", "change");

const pack = (...weights) => Buffer.from(Uint16Array.from(weights, (weight) => Math.round(65535 * weight)).buffer).toString("base64");
const CROSS = {
  rows: ["Ein", "e", "</s>"], columns: ["A", " dog"], row_words: [0, 0, null], column_words: [0, 1], layers: 2, heads: 4,
};
const made = (maps = {}) => new regard.Data((name) =>
  (name === "seen" ? JSON.stringify({ kinds: { cross: CROSS }, alignment: [[1, 0]], aligning: null, why: null }) : (maps[name] ?? null)));

test("a map is unpacked to the weights that were packed, once", () => {
  const data = made({ "cross-mean": pack(0, 1, 0.25, 0.75, 0.5, 0.5) });
  const values = data.map("cross", "mean");
  [0, 1, 0.25, 0.75, 0.5, 0.5].forEach((weight, place) => assert.ok(Math.abs(values[place] - weight) < 1e-4));
  assert.equal(data.map("cross", "mean"), values);
});

test("a map that is not there yet is null, and so is its table", () => {
  assert.equal(made().map("cross", "1-1"), null);
  assert.equal(made().table("cross", "1-1", true), null);
});

test("between words, rows are averaged and columns added, so that each row still adds up to 1", () => {
  const table = made({ "cross-mean": pack(0, 1, 0.5, 0.5, 0.25, 0.75) }).table("cross", "mean", true);
  assert.deepEqual([table.rows, table.columns, table.height, table.width], [["Eine", "</s>"], ["A", "dog"], 2, 2]);
  [0.25, 0.75, 0.25, 0.75].forEach((weight, place) => assert.ok(Math.abs(table.values[place] - weight) < 1e-4));
});

test("tokens of one word are a group, and each special token is one of its own", () => {
  assert.deepEqual(regard.groups([0, 0, 1, null, null, 2]), [[0, 1], [2], [3], [4], [5]]);
  assert.deepEqual(regard.groups([]), []);
});

test("links are given by places in the table of words", () => {
  assert.deepEqual(regard.links(made()), [[1, 0]]);
});

test("a token is shown on one line with nothing invisible in it", () => {
  assert.deepEqual(["", " ", " dog", "a\nb", "a\tb", "a\u0007b\u2028c", "    ", "\n  ", "a b"].map(regard.shown), ["∅", "␣", "dog", "a⏎b", "a⇥b", "a�b�c", "␣×4", "⏎␣×2", "a b"]);
});

test("words are found in scripts without spaces, and each begins where it stands in the text", () => {
  for (const text of ["The old  dog.", "今日は古い犬を見る。", "犬 hat 水", "כלב ישן"]) {
    const words = regard.wordsOf(text);
    assert.ok(words.length >= 2 && words.every(({ word, start }) => text.slice(start, start + word.length) === word));
    assert.equal(words.map(({ word }) => word).join(""), text.replace(/\s+/g, ""));
  }
  assert.deepEqual(["כלב", "1. الكلب", "dog", "犬", ""].map(regard.isRightToLeft), [true, true, false, false, false]);
});

test("words are shown first where there are several, and subwords where a sentence is one word", () => {
  const words = (rows, row_words) => regard.hasWords({ rows, row_words, columns: ["a", " dog"], column_words: [0, 1] });
  assert.deepEqual([words(["ein", "Haus"], [0, 0]), words(["犬は", "水を", "見る", "。", "</s>"], [0, 0, 0, 0, null]), words(["犬", " 猫"], [0, 1])], [true, false, true]);
});

test("newline, space and no-break space are three signs", () => {
  assert.equal(new Set(["\n", " ", "\u00a0", "\t", "\n\n"].map(regard.shown)).size, 5);
});

test("a long label is cut with an ellipsis, by letters and not by halves of them", () => {
  assert.deepEqual([regard.cut("Brian is a frog", 8), regard.cut("short", 8), regard.cut("😀😀😀", 2)], ["Brian i…", "short", "😀…"]);
});

const KINDS = { cross: { ...CROSS, rows: ["a", "b"], columns: ["c"] }, encoder: { ...CROSS, rows: ["c"], columns: ["c"] }, decoder: { ...CROSS } };

test("every change is read as it was written", () => {
  const edits = [{ what: "off", name: "decoder.blocks.1.cross_attention", head: 3 }, { what: "off", name: "encoder.blocks.0" }, { what: "off", name: "decoder.blocks.0.feed_forward" }, { what: "mask" }, { what: "positions" },
    { what: "temperature", name: "encoder.blocks.0.self_attention", head: 0, value: Infinity }, { what: "weight", name: "decoder.blocks.0.cross_attention", head: 0, row: 1, column: 0, value: 0.25 }];
  for (const edit of edits) {
    assert.deepEqual(regard.readEdit(regard.writeEdit(edit)), edit);
    assert.ok(regard.isPossible(edit, KINDS), JSON.stringify(edit));
    assert.ok(regard.describeEdit(edit, KINDS).length > 5);
  }
});

test("a hostile or foreign address changes nothing", () => {
  for (const text of ["explode", "off,__proto__", "off,a.blocks.0.self_attention<img>", "weight,decoder.blocks.0.cross_attention,0,1,0,-1", "weight,decoder.blocks.0.cross_attention,0,1,0,NaN", "off,encoder.blocks.0,1e9", "mask,,,,,,,1"]) {
    assert.equal(regard.readEdit(text), null, text);
  }
  for (const text of ["off,decoder.blocks.9.cross_attention,0", "off,decoder.blocks.0.cross_attention,4", "weight,decoder.blocks.0.cross_attention,0,2,0,0.5", "weight,decoder.blocks.0.cross_attention,0,1,0,1.5", "temperature,encoder.blocks.0", "off"]) {
    assert.equal(regard.isPossible(regard.readEdit(text), KINDS), false, text);
  }
  const { state, changes, isOdd } = regard.readFragment("#view=<script>&kind=__proto__&map=0-1&scale=x&words=2&cell=1e9.0&change=explode;mask");
  assert.deepEqual([state, changes.edits, isOdd], [{}, [{ what: "mask" }], true]);
  assert.equal(regard.readFragment(`#text=${"x".repeat(9000)}`).given.text.length, 5000);
});

test("the slider of a temperature has the model's own in its middle, and the extremes at its ends", () => {
  assert.deepEqual([0, 0.5, 1].map(regard.temperatureAt), [0, 1, Infinity]);
  for (const place of [0, 0.2, 0.5, 0.8, 1]) assert.ok(Math.abs(regard.temperaturePlace(regard.temperatureAt(place)) - place) < 1e-9);
});

test("arrow keys lead from cell to cell and never out of the matrix", () => {
  const size = { width: 3, height: 2 };
  assert.deepEqual(regard.nextCell(null, "ArrowDown", size), { x: 0, y: 0 });
  assert.deepEqual(regard.nextCell({ x: 2, y: 1 }, "ArrowRight", size), { x: 2, y: 1 });
  assert.deepEqual([regard.nextCell({ x: 1, y: 0 }, "ArrowDown", size), regard.nextCell(null, "End", size), regard.nextCell(null, "x", size)], [{ x: 1, y: 1 }, { x: 2, y: 1 }, null]);
});

test("percentages keep two digits", () => {
  assert.deepEqual([1, 0.1, 0.0994, 0.00123, 1e-7].map(regard.percent), ["100 %", "10 %", "9.9 %", "0.12 %", "< 0.01 %"]);
});

test("colours run from the first to the last of the ramp, and values beyond are cut", () => {
  const { light } = regard.ramps;
  assert.deepEqual([-1, 0, 0.5, 1, 2].map(regard.color), [light[0], light[0], light[2], light[4], light[4]]);
});

test("text on a colour is dark on a light one and light on a dark one", () => {
  assert.equal(regard.ink(regard.color(0)), "#000");
  assert.equal(regard.ink(regard.color(1)), "#fff");
});

test("a weight has its own colour, or its share of the largest of its row", () => {
  assert.equal(regard.share({ scale: "absolute" }, 0.2, 0.4), 0.2);
  assert.equal(regard.share({ scale: "row" }, 0.2, 0.4), 0.5);
  assert.equal(regard.share({ scale: "row" }, 0, 0), 0);
});

test("zoom stays between the whole matrix and 40 times", () => {
  const state = { zoom: 1 };
  regard.zoom(state, 0.8);
  assert.equal(state.zoom, 1);
  regard.zoom(state, 1000);
  assert.equal(state.zoom, 40);
});

test("the reach of values is the largest by size, never 0", () => {
  assert.equal(regard.reach([1, -3, 2]), 3);
  assert.ok(regard.reach([0]) > 0);
});

test("another kind keeps the head if it has that head, and begins unzoomed", () => {
  const data = { kinds: { cross: { layers: 2, heads: 4 }, source: { layers: 1, heads: 4 } } };
  const state = { data, kind: "source", key: "1-4", zoom: 3, moveX: 5, moveY: 5 };
  regard.chooseKind(state, "cross");
  assert.deepEqual([state.kind, state.key, state.zoom, state.moveX], ["cross", "1-4", 1, 0]);
  state.key = "2-4";
  regard.chooseKind(state, "source");
  assert.equal(state.key, "mean");
  state.key = "alignment";
  regard.chooseKind(state, "source");
  assert.equal(state.key, "mean");
});

test("arrow keys go round the heads and layers, and keys typed into a field do nothing", () => {
  let drawn = 0;
  const state = { data: { kinds: { cross: CROSS } }, kind: "cross", key: "mean", scale: "absolute", refresh: () => { drawn += 1; } };
  const press = (key, tagName = "BODY") => regard.press(state, [{ name: "text" }], ["cross"], { key, target: { tagName }, preventDefault: () => {} });
  const keys = ["ArrowRight", "ArrowLeft", "ArrowDown", "ArrowDown", "ArrowUp", "m", "ArrowLeft"].map((key) => { press(key); return state.key; });
  assert.deepEqual(keys, ["1-1", "1-4", "2-4", "1-4", "2-4", "mean", "1-4"]);
  press("s");
  assert.equal(state.scale, "row");
  press("m", "TEXTAREA");
  assert.equal(state.key, "1-4");
  assert.equal(drawn, 8);
});
