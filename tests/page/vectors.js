// Networks and tokenizers that Python wrote, computed once more by the engine of the page: `node --test vectors.js`, in the
// environment the file of vectors. A browser runs `compare` on the same.
"use strict";

/** How far apart two lists of numbers are at most. */
const apart = (mine, theirs) => {
  if (mine.length !== theirs.length) return Infinity;
  return mine.reduce((most, value, i) => Math.max(most, Math.abs(value - theirs[i])), 0);
};
const flat = (nested) => (ArrayBuffer.isView(nested) ? [...nested] : Array.isArray(nested) ? nested.flatMap(flat) : [nested]);

/** What is wrong with one case: nothing, if the engine is right. Near ties are counted in `seen`. */
const compare = (engine, one, seen) => {
  const families = { translate, write, fill, answer, classify };
  return [false, true].flatMap((isPlain) => { // with WebAssembly, and without
    const weights = engine.readWeights(engine.decodeBase64(one.packed), one.weights, isPlain);
    const found = { ...families[one.task](engine, one, weights, seen), simd: Boolean(weights.values().next().value.simd) === isPlain ? Infinity : 0 };
    return Object.entries(found).filter(([, distance]) => !(distance <= 1e-4)).map(([what, distance]) => `${one.name}, ${isPlain ? "plain" : "SIMD"}: ${what} is ${distance} apart`);
  });
};

/** 0 if the ids are the same up to a place where the two best logits are as good as equal. */
const sameIds = (mine, theirs, margin, seen) => {
  const place = theirs.findIndex((id, i) => id !== mine[i]);
  if (place < 0 && mine.length === theirs.length) return 0;
  const between = margin(mine.slice(0, place < 0 ? theirs.length : place));
  if (between >= 1e-4) return Infinity;
  seen.ties += 1;
  return 0;
};
const margin = (engine, logits) => {
  const [best, next] = engine.largest(logits, 2);
  return logits[best] - logits[next];
};

const translate = (engine, one, weights, seen) => {
  const model = engine.makeTranslator(one.config, weights, one.generation), taps = engine.makeTaps();
  const logits = model.logits(model.force(one.source, one.target, taps)).map((row) => row.filter((_, id) => !one.generation.suppressed.includes(id)));
  const best = engine.greedy(model.open(one.source, []), one.generation.start, one.generation.ends, one.limit);
  const after = (ids) => margin(engine, model.logits(model.force(one.source, [...ids, 0], engine.makeTaps())).at(-1));
  const tree = [];
  engine.beam(model.open(one.source, []), one.generation.start, one.generation.ends, one.limit, 4, 4, [], tree);
  const forced = engine.greedy(model.open(one.source, one.prefix), one.generation.start, one.generation.ends, one.limit, one.prefix);
  const change = (edits) => model.logits(model.force(one.source, one.target, engine.makeTaps(edits, true))).map((row) => row.filter((_, id) => !one.generation.suppressed.includes(id)));
  return {
    logits: apart(flat(logits), flat(one.logits)),
    ...Object.fromEntries(one.edited.map(({ edits, logits: theirs }) => [`logits with ${JSON.stringify(edits)}`, apart(flat(change(edits)), flat(theirs))])),
    ...Object.fromEntries(Object.entries(one.attention).map(([name, theirs]) => [name, apart(flat(taps.attention[name]), flat(theirs))])),
    "greedy ids": sameIds(best.ids, one.greedy, after, seen), "ids after a prefix": sameIds(forced.ids, one.forced, after, seen),
    ...compareTree(tree, one, seen),
  };
};

/** Candidates of a beam search step by step: scores, parents and tokens; up to a step whose order is decided by rounding. */
const compareTree = (tree, { tried, finals }, seen) => {
  const steps = [], columns = [];
  tree.forEach((node, index) => {
    const column = columns[index] = node.parent < 0 ? 0 : columns[node.parent] + 1;
    if (node.score > -Infinity) (steps[column] ??= []).push({ ...node, index });
  });
  let furthest = 0;
  for (const [number, theirs] of tried.entries()) {
    const mine = steps[number] ?? [];
    const kept = (number ? steps[number - 1] : [{ index: -1, score: 0 }]).filter(({ fate = "kept" }) => fate === "kept");
    if (mine.length !== theirs.length) return { "candidates of a beam": Infinity };
    furthest = Math.max(furthest, ...mine.map((node, i) => Math.abs(node.score - theirs[i][0])));
    const parents = new Map(kept.map(({ index, score }) => [index, score]));
    const sums = mine.every((node) => parents.has(node.parent) && Math.abs(parents.get(node.parent) + node.logProb - node.score) < 1e-9);
    if (!sums) return { "parents of candidates": Infinity };
    if (mine.every((node, i) => node.token === theirs[i][2])) continue;
    if (!theirs.some((one, i) => i && theirs[i - 1][0] - one[0] < 1e-3)) return { "candidates of a beam": Infinity };
    seen.ties += 1;
    return { "scores of candidates": furthest / 10 };
  }
  const ended = tree.filter(({ fate }) => fate === "finished").map(({ final }) => final).sort((a, b) => b - a);
  return { "scores of candidates": furthest / 10, "final scores": apart(ended.slice(0, finals.length), finals) };
};

const write = (engine, one, weights, seen) => {
  const model = engine.makeWriter(one.config, weights, one.generation), taps = engine.makeTaps();
  const logits = model.logits(model.read(one.ids, taps)), random = engine.makeRandom(one.seed), sampled = [];
  const { logits: first, step } = model.open(one.ids.slice(0, 3));
  let next = first;
  for (let i = 0; i < one.sampled.length; i++) {
    sampled.push(engine.draw(next, one.sampling, random));
    next = step(sampled.at(-1));
  }
  return {
    logits: apart(flat(logits), flat(one.logits)), "sampled ids": sameIds(sampled, one.sampled, () => Infinity, seen),
    ...Object.fromEntries(Object.entries(one.attention).map(([name, theirs]) => [name, apart(flat(taps.attention[name]), flat(theirs))])),
  };
};

const fill = (engine, one, weights) => {
  const model = engine.makeFiller(one.config, weights), taps = engine.makeTaps();
  const logits = model.logits(model.read(one.ids, taps));
  return {
    logits: apart(flat(logits), flat(one.logits)),
    ...Object.fromEntries(Object.entries(one.attention).map(([name, theirs]) => [name, apart(flat(taps.attention[name]), flat(theirs))])),
  };
};

const answer = (engine, one, weights) => {
  const model = engine.makeAnswerer(one.config, weights, one.pad);
  const found = model.read(one.sentences, one.question);
  return { logits: apart(flat(found.logits), flat(one.logits)), hops: apart(flat(found.hops), flat(one.hops)) };
};

const classify = (engine, one, weights) => {
  const model = engine.makeClassifier(one.config, weights), same = (mine, theirs) => (JSON.stringify(mine) === JSON.stringify(theirs) ? 0 : Infinity);
  const read = one.texts.map(({ text, words, hashes, logits }) => {
    const mine = engine.labelWords(text);
    return { words: same(mine, words), hashes: same(engine.hashNgrams(mine), hashes), logits: apart(flat(model.match(model.read(mine))), logits) };
  });
  return Object.fromEntries(["words", "hashes", "logits"].map((what) => [what, Math.max(...read.map((found) => found[what]))]));
};

/** The texts whose ids or whose decoded text differ. */
const compareTokenizer = (engine, one) => {
  const tokenizer = engine.makeTokenizer(one.described, one.roles);
  return one.texts.filter(({ text, ids, decoded, tokens }) => {
    const mine = tokenizer.encode(text);
    return mine.join() !== ids.join() || tokenizer.decode(mine) !== decoded || JSON.stringify(tokenizer.tokens(mine)) !== JSON.stringify(tokens);
  }).map(({ text }) => `${one.name}: ${JSON.stringify(text)}`);
};

if (typeof module === "object") module.exports = { compare, compareTokenizer };
if (typeof require === "function" && process.env.REGARD_VECTORS) {
  const assert = require("node:assert/strict"), { test } = require("node:test"), { readFileSync } = require("node:fs");
  const { loadEngine } = require("./scripts.js");
  const { networks = [], tokenizers = [] } = JSON.parse(readFileSync(process.env.REGARD_VECTORS, "utf8")), engine = loadEngine();
  const seen = { ties: 0 };
  for (const one of networks) test(one.name, () => assert.deepEqual(compare(engine, one, seen), []));
  for (const one of tokenizers) test(one.name, () => assert.deepEqual(compareTokenizer(engine, one).slice(0, 20), []));
  test("ties are rare", () => assert.ok(seen.ties <= networks.length / 10, `${seen.ties} of ${networks.length}`));
}
