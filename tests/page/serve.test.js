"use strict";
const assert = require("node:assert/strict");
const { test } = require("node:test");
const { load } = require("./scripts.js");

const regard = load("data", "colors", "live", "ask", "write");

const ABOUT = { rows: ["x", "y"], columns: ["a", "b"], weights: [[[[1, 0], [0, 1]], [[0, 1], [0, 1]]]], rollout: [[0.5, 0.5], [0, 1]] };
const maps = (aligning) => new regard.LiveData({ kinds: { cross: ABOUT }, aligning });

test("maps of a server's answer: one head, the mean of all, rollout", () => {
  const data = maps(null);
  assert.deepEqual([...data.map("cross", "1-2")], [0, 1, 0, 1]);
  assert.deepEqual([...data.map("cross", "mean")], [0.5, 0.5, 0, 1]);
  assert.deepEqual([...data.map("cross", "rollout")], [0.5, 0.5, 0, 1]);
});

test("alignment heads that look back are moved by one row", () => {
  assert.deepEqual([...maps({ layer: 0, heads: [0], is_after: true }).map("cross", "alignment")], [0, 1, 0, 1]);
  assert.deepEqual([...maps({ layer: 0, heads: [0], is_after: false }).map("cross", "alignment")], [1, 0, 0, 1]);
});

test("server-sent events are read whole, however they are cut, until [DONE]", async () => {
  const text = 'data: {"n":1}\n\ndata: {"n":"ä"}\n\ndata: [DONE]\n\ndata: {"n":3}\n\n';
  const bytes = new TextEncoder().encode(text);
  for (const size of [1, 7, bytes.length]) {
    const body = new ReadableStream({ start(stream) {
      for (let i = 0; i < bytes.length; i += size) stream.enqueue(bytes.slice(i, i + size));
      stream.close();
    } });
    const found = [];
    await regard.events({ body }, (event) => found.push(event.n));
    assert.deepEqual(found, [1, "ä"]);
  }
});

test("of several questions the newest is answered and the others are aborted", async () => {
  const work = regard.newest(async (signal, value) => {
    await new Promise((resolve) => setImmediate(resolve));
    signal.throwIfAborted();
    return value;
  });
  assert.deepEqual(await Promise.all([work(1), work(2), work(3)]), [undefined, undefined, 3]);
});

test("typing is answered once, after it has stopped", (context) => {
  context.mock.timers.enable({ apis: ["setTimeout"] });
  const calls = [];
  const typed = regard.after(250, (value) => calls.push(value));
  typed(1);
  context.mock.timers.tick(200);
  typed(2);
  context.mock.timers.tick(249);
  assert.deepEqual(calls, []);
  context.mock.timers.tick(1);
  assert.deepEqual(calls, [2]);
});
