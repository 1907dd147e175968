"use strict";
// The product of rows with weights, four numbers at a time: a function of WebAssembly, written here instruction by instruction.
// Where a browser or a policy has none, kernels.js does the same.
engine.assemble = () => {
  const local = (/** @type {string} */ name) => ["x", "w", "found", "rows", "width", "end", "stride", "row", "at", "from", "w1", "w2", "w3", "to", "v", "a", "b", "c", "d"].indexOf(name);
  const get = (/** @type {string} */ name) => [0x20, local(name)], set = (/** @type {string} */ name) => [0x21, local(name)];
  const plus = (/** @type {string} */ one, /** @type {string} */ other) => [...get(one), ...get(other), 0x6a];
  const constant = (/** @type {number} */ value) => [0x41, value]; // of less than 64
  const [block, loop, end] = [[0x02, 0x40], [0x03, 0x40], 0x0b], leaveIf = (/** @type {number} */ depth) => [0x0d, depth];
  const load = [0xfd, 0x00, 2, 0], add = [0xfd, 0xe4, 0x01], multiply = [0xfd, 0xe6, 0x01];
  const lane = (/** @type {string} */ name, /** @type {number} */ number) => [...get(name), 0xfd, 0x1f, number];
  const sums = ["a", "b", "c", "d"], rows = ["w", "w1", "w2", "w3"];
  const code = [
    ...block, ...loop, // over four outputs
    ...get("w"), ...get("end"), 0x4f, ...leaveIf(1),
    ...plus("w", "width"), ...set("w1"), ...plus("w1", "width"), ...set("w2"), ...plus("w2", "width"), ...set("w3"),
    ...get("x"), ...set("from"), ...get("found"), ...set("to"), ...get("rows"), ...set("row"),
    ...loop, // over the rows of x
    ...sums.flatMap((sum) => [0x43, 0, 0, 0, 0, 0xfd, 0x13, ...set(sum)]), ...constant(0), ...set("at"),
    ...loop, // over four inputs
    ...plus("from", "at"), ...load, ...set("v"),
    ...sums.flatMap((sum, i) => [...get(sum), ...get("v"), ...plus(rows[i], "at"), ...load, ...multiply, ...add, ...set(sum)]),
    ...get("at"), ...constant(16), 0x6a, 0x22, local("at"), ...get("width"), 0x49, ...leaveIf(0), end,
    ...sums.flatMap((sum, i) => [...get("to"), ...lane(sum, 0), ...lane(sum, 1), 0x92, ...lane(sum, 2), ...lane(sum, 3), 0x92, 0x92, 0x38, 2, 4 * i]),
    ...plus("from", "width"), ...set("from"), ...plus("to", "stride"), ...set("to"),
    ...get("row"), ...constant(1), 0x6b, 0x22, local("row"), ...leaveIf(0), end,
    ...plus("w3", "width"), ...set("w"), ...get("found"), ...constant(16), 0x6a, ...set("found"),
    0x0c, 0, end, end, end,
  ];
  const size = (/** @type {number} */ value) => (value < 128 ? [value] : [(value & 127) | 128, value >> 7]);
  const section = (/** @type {number} */ kind, /** @type {number[]} */ content) => [kind, ...size(content.length), ...content];
  const text = (/** @type {string} */ name) => [name.length, ...Array.from(name, (letter) => letter.charCodeAt(0))];
  const body = [2, 7, 0x7f, 5, 0x7b, ...code]; // seven whole numbers, five vectors
  return Uint8Array.from([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0,
    ...section(1, [1, 0x60, 7, ...new Array(7).fill(0x7f), 0]), ...section(2, [1, ...text("engine"), ...text("memory"), 2, 0, 1]),
    ...section(3, [1, 0]), ...section(7, [1, ...text("linear"), 0, 0]), ...section(10, [1, ...size(body.length), ...body])]);
};

// Room for so many weights, and for rows on their way, in a memory that the function computes in; null where there is none.
engine.openSimd = (count) => {
  const between = 2 ** 20; // numbers of rows that go in and out at a time
  try {
    const memory = new WebAssembly.Memory({ initial: Math.ceil((4 * (count + between)) / 65536) });
    const instance = new WebAssembly.Instance(new WebAssembly.Module(engine.assemble()), { engine: { memory } });
    const run = /** @type {(...given: number[]) => void} */ (instance.exports.linear), room = new Float32Array(memory.buffer);
    return {
      room,
      // The first `whole` outputs, a multiple of four, of each row.
      linear(x, weight, found, whole) {
        const [outputs, inputs] = weight.shape, rows = x.length / inputs, most = Math.floor(between / (inputs + outputs));
        if (most < 1) return engine.linearInFours(x, weight, found, whole);
        const start = weight.data.byteOffset, last = start + 4 * whole * inputs;
        for (let row = 0; row < rows; row += most) {
          const some = Math.min(most, rows - row), to = count + some * inputs;
          room.set(x.subarray(row * inputs, (row + some) * inputs), count);
          run(4 * count, start, 4 * to, some, 4 * inputs, last, 4 * outputs);
          found.set(room.subarray(to, to + some * outputs), row * outputs);
        }
        return undefined;
      },
    };
  } catch {
    return null;
  }
};
