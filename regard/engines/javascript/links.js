"use strict";
// From attention between tokens to links between words, as regard/alignment/links.py has it without a lexicon.

// The word that each token begins in, counted by the spaces in between; null for one that is only space.
engine.wordsOf = (tokens) => {
  let word = -1, isInside = false;
  return tokens.map((token) => {
    /** @type {number | null} */
    let first = null;
    for (const letter of token) {
      if (/\s/u.test(letter)) {
        isInside = false;
        continue;
      }
      if (!isInside) [word, isInside] = [word + 1, true];
      first ??= word;
    }
    return first;
  });
};

// attention: of each target token to each source token, and last to the source's end, which is not aligned.
engine.alignWords = (attention, sourceTokens, targetTokens) => {
  const sources = engine.wordsOf(sourceTokens), words = engine.wordsOf(targetTokens), count = 1 + Math.max(-1, ...sources.map((word) => word ?? -1));
  const hasLetters = targetTokens.map((token) => /[\p{L}\p{N}]/u.test(token));
  const lettered = new Set(words.filter((_, place) => hasLetters[place]));
  /** @type {Map<number, { row: Float64Array, size: number }>} */
  const byWord = new Map();
  attention.slice(0, words.length).forEach((row, place) => {
    const word = words[place];
    if (word === null || !count || (lettered.has(word) && !hasLetters[place])) return; // a comma at the end of a word
    const found = new Float64Array(count);
    sources.forEach((source, column) => { if (source !== null) found[source] += row[column]; });
    const whole = found.reduce((sum, value) => sum + value, 0) || 1;
    const total = byWord.get(word) ?? { row: new Float64Array(count), size: 0 };
    found.forEach((value, source) => { total.row[source] += value / whole; });
    total.size += 1;
    byWord.set(word, total);
  });
  /** @type {[number, number][]} */
  const links = [];
  for (const [target, { row }] of byWord) {
    const [best] = engine.largest(row, 1);
    if (row[best] > 0) links.push([best, target]);
  }
  const linked = new Set(links.map(([source]) => source));
  for (const source of new Set(sources)) { // an unlinked one goes to the word that attends to it most, unless faintly
    if (source === null || linked.has(source) || !byWord.size) continue;
    const shares = [...byWord].map(([target, { row, size }]) => ({ target, share: row[source] / size }));
    const most = shares.reduce((best, one) => (one.share > best.share ? one : best));
    if (most.share >= 0.1) links.push([source, most.target]);
  }
  return links.sort((a, b) => a[0] - b[0] || a[1] - b[1]);
};
