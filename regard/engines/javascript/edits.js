"use strict";
// What is recorded of a pass, and what is changed in it: heads and sub-layers off, temperatures, weights, positions, the mask.

// whole: whether every vector is recorded, and not the attention and the states between the blocks alone.
engine.makeTaps = (edits = [], isWhole = false) => ({
  attention: {}, hidden: [], edits: edits.length ? engine.readEdits(edits) : null, whole: isWhole ? { vectors: {}, units: {}, writes: [] } : null,
});

engine.readEdits = (edits) => {
  /** @type {Edits} */
  const found = { off: new Set(), temperatures: new Map(), weights: new Map(), isWithoutPositions: false, isWithoutMask: false };
  for (const { what, name = "", head, value = 0, row = 0, column = 0 } of edits) {
    const place = head === undefined ? name : `${name}.${head}`;
    if (what === "off") found.off.add(place);
    else if (what === "temperature") found.temperatures.set(place, value);
    else if (what === "weight") found.weights.set(place, [...(found.weights.get(place) ?? []), { row, column, value }]);
    else if (what === "positions") found.isWithoutPositions = true;
    else if (what === "mask") found.isWithoutMask = true;
    else throw new Error(`the page knows no change ${what}`);
  }
  return found;
};

// The first `count` scores of a row of a head to weights, in place.
engine.weigh = (scores, count, edits, name, head, row) => {
  if (!edits) return engine.softmax(scores, count);
  const place = `${name}.${head}`, temperature = edits.temperatures.get(place);
  if (temperature !== undefined) engine.temper(scores, count, temperature);
  engine.softmax(scores, count);
  const fixed = edits.weights.get(place)?.filter((one) => one.row === row && one.column < count);
  if (fixed?.length) engine.fixWeights(scores, count, fixed);
  return scores;
};

// Scores at a temperature: 0 leaves the largest alone (of equals the first), Infinity makes all equal.
engine.temper = (scores, count, temperature) => {
  const best = temperature === 0 ? engine.largest(scores.subarray(0, count), 1)[0] : -1;
  for (let i = 0; i < count; i++) scores[i] = temperature === 0 ? (i === best ? 0 : -Infinity) : scores[i] / temperature;
};

// Some weights as they are given; the others share what is left as they did before, or equally if they had nothing.
engine.fixWeights = (weights, count, fixed) => {
  const given = new Map(fixed.map(({ column, value }) => [column, value]));
  const whole = [...given.values()].reduce((sum, value) => sum + value, 0), isAll = given.size === count;
  let rest = 0;
  for (let i = 0; i < count; i++) if (!given.has(i)) rest += weights[i];
  for (let i = 0; i < count; i++) {
    const value = given.get(i);
    if (value !== undefined) weights[i] = whole > 1 || isAll ? (whole > 0 ? value / whole : 1 / count) : value;
    else weights[i] = whole >= 1 ? 0 : (1 - whole) * (rest > 0 ? weights[i] / rest : 1 / (count - given.size));
  }
};

// A sub-layer writes to the residual stream: nothing if it is off, or its layer.
engine.writeTo = (x, residual, name, taps, layer) => {
  if (!taps?.edits && !taps?.whole) return residual(x, layer);
  let written = new Float32Array(0);
  const after = residual(x, (given) => {
    const found = layer(given);
    if (taps.edits?.off.has(name) || taps.edits?.off.has(name.slice(0, name.lastIndexOf(".")))) found.fill(0);
    written = found.slice();
    return found;
  });
  taps.whole?.writes.push({ name, written, after });
  return after;
};
