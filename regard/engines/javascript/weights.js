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
engine.readWeights = (bytes, listed) => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength), halves = engine.halves();
  let place = 0;
  /** @type {Record<Listed["kind"], (count: number, rows: number) => Float32Array>} */
  const read = {
    float32: (count) => {
      place += 4 * count;
      return Float32Array.from({ length: count }, (_, i) => view.getFloat32(place + 4 * (i - count), true));
    },
    float16: (count) => {
      const found = new Float32Array(count);
      for (let i = 0; i < count; i++, place += 2) found[i] = halves[view.getUint16(place, true)];
      return found;
    },
    int8: (count, rows) => { // a scale for each row
      const scales = read.float32(rows, rows), found = new Float32Array(count), width = count / rows;
      for (let i = 0; i < count; i++, place++) found[i] = view.getInt8(place) * scales[Math.floor(i / width)];
      return found;
    },
  };
  return new Map(listed.map(({ name, shape, kind }) => {
    const count = shape.reduce((product, size) => product * size, 1);
    return [name, { shape, data: read[kind](count, count / (shape.at(-1) ?? 1)) }];
  }));
};
