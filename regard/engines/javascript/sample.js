"use strict";
// Samples the next token. The same seed draws the same numbers as torch.Generator, so that texts are equal too.

// The generator MT19937; draws numbers from 0 to 1 of 53 random bits.
engine.makeRandom = (seed) => {
  const state = new Uint32Array(624);
  state[0] = seed;
  for (let i = 1; i < 624; i++) state[i] = Math.imul(1812433253, state[i - 1] ^ (state[i - 1] >>> 30)) + i;
  let place = 624;
  const next = () => {
    if (place === 624) {
      for (let i = 0; i < 624; i++) {
        const both = (state[i] & 0x80000000) | (state[(i + 1) % 624] & 0x7fffffff);
        state[i] = state[(i + 397) % 624] ^ (both >>> 1) ^ (both & 1 ? 0x9908b0df : 0);
      }
      place = 0;
    }
    let word = state[place++];
    word ^= word >>> 11;
    word ^= (word << 7) & 0x9d2c5680;
    word ^= (word << 15) & 0xefc60000;
    return (word ^ (word >>> 18)) >>> 0;
  };
  return () => {
    const high = next() & 0x1fffff;
    return (high * 2 ** 32 + next()) / 2 ** 53;
  };
};

// One id, after temperature, top-k and top-p; `random` is not asked at temperature 0.
engine.draw = (logits, { temperature = 1, topK = null, topP = null }, random) => {
  if (temperature === 0) return engine.largest(logits, 1)[0];
  const order = topK === null && topP === null ? null : engine.largest(logits, topK ?? logits.length);
  const kept = new Set(order && topP !== null ? engine.nucleus(order, logits, temperature, topP) : order);
  const least = order && topK !== null ? logits[order[order.length - 1]] : -Infinity; // ties with the last stay
  let most = -Infinity;
  for (const logit of logits) if (logit > most) most = logit;
  const mass = new Float64Array(logits.length);
  let sum = 0;
  for (let i = 0; i < logits.length; i++) {
    const isKept = order === null || kept.has(i) || (topP === null && logits[i] >= least);
    sum += isKept ? Math.exp((logits[i] - most) / temperature) : 0;
    mass[i] = sum;
  }
  const point = random() * sum;
  const found = mass.findIndex((reached) => reached > point);
  return found < 0 ? mass.length - 1 : found;
};

// The likeliest tokens whose probabilities reach a share, at least one.
engine.nucleus = (order, logits, temperature, share) => {
  const probabilities = engine.softmax(Float64Array.from(order, (place) => logits[place] / temperature));
  let sum = 0;
  return order.filter((_, i) => {
    const isIn = i === 0 || sum < share;
    sum += probabilities[i];
    return isIn;
  });
};
