"use strict";
// Weights as they are packed into a page: float32, float16, or int8 with a scale for each row; and text that is deflated.
engine.decodeBase64 = (text) => {
  const binary = atob(text), bytes = new Uint8Array(binary.length);
  for (let i = 0; i < bytes.length; i++) bytes[i] = binary.charCodeAt(i);
  return bytes;
};

engine.inflate = async (text) => {
  const stream = new Blob([engine.decodeBase64(text)]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).text();
};

// Every half-precision number as a single-precision one.
engine.halves = () => {
  const found = new Float32Array(65536);
  for (let bits = 0; bits < 65536; bits++) {
    const sign = bits & 0x8000 ? -1 : 1, exponent = (bits >> 10) & 31, fraction = bits & 1023;
    if (exponent === 0) found[bits] = sign * fraction * 2 ** -24;
    else if (exponent === 31) found[bits] = fraction ? NaN : sign * Infinity;
    else found[bits] = sign * (1 + fraction / 1024) * 2 ** (exponent - 15);
  }
  return found;
};

// listed: the name, shape and kind of each tensor, in the order of their bytes; little end first.
engine.readWeights = (bytes, listed, isPlain = false) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), halves = engine.halves();
  const counts = listed.map(({ shape }) => shape.reduce((product, size) => product * size, 1)), total = counts.reduce((sum, count) => sum + count, 0);
  const simd = isPlain ? null : engine.openSimd(total), room = simd ? simd.room : new Float32Array(total);
  let place = 0, filled = 0;
  /** @type {Record<Listed["kind"], (found: Float32Array, rows: number) => void>} */
  const read = {
    float32: (found) => { for (let i = 0; i < found.length; i++, place += 4) found[i] = view.getFloat32(place, true); },
    float16: (found) => { for (let i = 0; i < found.length; i++, place += 2) found[i] = halves[view.getUint16(place, true)]; },
    int8: (found, rows) => { // a scale for each row
      const scales = new Float32Array(rows), width = found.length / rows;
      read.float32(scales, rows);
      for (let i = 0; i < found.length; i++, place++) found[i] = view.getInt8(place) * scales[Math.floor(i / width)];
    },
  };
  return new Map(listed.map(({ name, shape, kind }, number) => {
    const data = room.subarray(filled, filled += counts[number]);
    read[kind](data, counts[number] / (shape.at(-1) ?? 1));
    return [name, { shape, data, simd }];
  }));
};
