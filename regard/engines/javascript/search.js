"use strict";
// Greedy and beam search over a step function, by the rules of regard/decoding/search.py. Knows no model.

// step(ids): the newest id of each row -> logits of the next, a row each; step.keep(parents): chooses rows.
engine.greedy = (step, start, ends, limit, prefix = []) => {
  const ids = [...prefix];
  let last = start, score = 0;
  while (ids.length < limit) {
    const [logits] = step([last]), [best] = engine.largest(logits, 1);
    score += logits[best] - engine.logSumExp(logits);
    if (ends.includes(best)) return { ids, score, isFinished: true };
    ids.push(last = best);
  }
  return { ids, score, isFinished: false };
};

// The best sequences, best first: twice as many candidates as beams; a finished one leaves the beam and the next
// unfinished one takes its place; done when as many have finished as there are beams; ranked by score / length.
// tree: every candidate with its parent's place there (-1: the root) and what became of it is added to it.
engine.beam = (step, start, ends, limit, width, count, prefix = [], tree = []) => {
  /** @type {Hypothesis[]} */
  const found = [];
  let beams = [[...prefix]], scores = [0], last = [start], nodes = [-1];
  while (beams[0].length < limit && found.length < width) {
    const candidates = engine.bestCandidates(step(last).map(engine.logSoftmax), scores, 2 * width);
    const isLast = beams[0].length + 1 === limit, first = tree.length;
    for (const { beam, token, score } of candidates) tree.push({ parent: nodes[beam], token, score, logProb: score - scores[beam], fate: "dropped" });
    const spare = candidates.slice(width).filter((one) => !ends.includes(one.token));
    const going = candidates.slice(0, width).map((one) => {
      const isEnd = ends.includes(one.token);
      if (!isEnd && !isLast) return one;
      if (one.score > -Infinity) {
        const ended = { ids: isEnd ? beams[one.beam] : [...beams[one.beam], one.token], score: one.score, isFinished: isEnd };
        found.push(ended);
        Object.assign(tree[first + candidates.indexOf(one)], { fate: "finished", final: engine.rank(ended) });
      }
      return spare.shift() ?? { ...one, score: -Infinity };
    });
    nodes = going.map((one) => first + candidates.indexOf(one));
    if (!isLast) for (const node of nodes) if (node >= first) tree[node].fate = "kept";
    beams = going.map((one) => [...beams[one.beam], one.token]);
    if (beams[0].length < limit && found.length < width) step.keep(going.map((one) => one.beam));
    scores = going.map((one) => one.score);
    last = going.map((one) => one.token);
  }
  return found.sort((a, b) => engine.rank(b) - engine.rank(a)).slice(0, count);
};

// By length, the end included: else the shortest would win.
engine.rank = (one) => one.score / (one.ids.length + Number(one.isFinished));

// The best tokens after any of the beams, best first.
engine.bestCandidates = (logProbs, scores, count) => logProbs
  .flatMap((row, beam) => engine.largest(row, count).map((token) => ({ score: scores[beam] + row[token], beam, token })))
  .sort((a, b) => b.score - a.score).slice(0, count);

// The ids with a loop at their end cut to its first round; unchanged where there is none.
engine.cutRepetition = (ids) => {
  const repeats = 4; // fewer may be intended
  for (let period = 1; period * repeats <= ids.length; period++) {
    let rounds = 1;
    while ((rounds + 1) * period <= ids.length && ids.slice(-period).every((id, i) => id === ids[ids.length - (rounds + 1) * period + i])) rounds++;
    if (rounds >= repeats) return ids.slice(0, ids.length - (rounds - 1) * period);
  }
  return ids;
};
