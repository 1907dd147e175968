"use strict";
// A classifier in the page: what POST /api/classify and /api/look answer, computed here.
engine.families.classify = (about, weights, tokenizer) => {
  const { config } = about, model = engine.makeClassifier(config, weights), known = new Set(tokenizer.pieces), names = config.labels;
  const orderOf = (/** @type {Float32Array} */ logits, /** @type {number} */ count) => engine.largest(logits, Math.min(count, names.length));

  const classify = (/** @type {string} */ text, /** @type {number} */ top, /** @type {number} */ unsure) => {
    const words = engine.labelWords(text), logits = model.match(model.read(words)), probabilities = model.probabilities(logits);
    const best = orderOf(logits, top), likely = names.filter((_, number) => config.several_labels && probabilities[number] >= 0.5);
    const given = probabilities[best[0]] < unsure ? [] : likely.length ? likely : [names[best[0]]];
    const unknown = [...new Set(words)].filter((word) => !known.has(word)), isUnknown = new Set(unknown);
    return { label: given.length ? names[best[0]] : null, given, labels: best.map((number) => ({ name: names[number], probability: probabilities[number] })),
      unknown, is_unlike: !words.length || words.filter((word) => isUnknown.has(word)).length > words.length / 2 };
  };

  const answer = (/** @type {any} */ { text, top = about.fields.top.default, unsure = 0 }) => (
    { texts: [text].flat().map((one) => classify(one, top, unsure)) });

  const look = async (/** @type {any} */ fields, /** @type {Push} */ __, /** @type {Pause} */ pause) => {
    const words = engine.labelWords(fields.text), mostLabels = 30, mostWords = 400, notes = [];
    if (!words.length) throw new Error("the text has no word in it; there is nothing to look at");
    const shown = words.slice(0, mostWords), logits = model.match(model.read(words)), best = orderOf(logits, mostLabels);
    const probabilities = model.probabilities(logits), vectors = model.share(words), labels = best.map((number) => names[number]);
    const attended = best.flatMap((number) => [...engine.softmax(Float64Array.from(vectors, (vector) => model.worth(vector, number)))].slice(0, mostWords));
    const found = classify(fields.text, 8, 0);
    if (words.length > mostWords) notes.push(`only the first ${mostWords} of ${words.length} words are shown`);
    if (names.length > mostLabels) notes.push(`only the likeliest ${mostLabels} of ${names.length} labels are shown`);
    if (found.is_unlike) notes.push("most of its words were never seen in training");
    const kind = (/** @type {string[]} */ rows, /** @type {string[]} */ columns, /** @type {number[]} */ values) => ({
      ...engine.makeKind(rows, columns, [Float32Array.from(values)], 1, new Set()), row_words: rows.map((_, row) => row), column_words: columns.map((_, column) => column) });
    const kinds = { words: kind(labels, shown, attended), labels: kind(["text"], labels, best.map((number) => probabilities[number])) };
    engine.measure(kinds);
    const alternatives = found.labels.map(({ name, probability }) => [name, probability]);
    return { task: "classify", text: fields.text, answer: found.given.join(", ") || labels[0], notes, kinds, alignment: [], aligning: null, logit_lens: [],
      token_scores: [{ place: 0, token: found.labels[0].name, probability: found.labels[0].probability, alternatives }],
      why: fields.why ? await explain(words, shown, vectors, best[0], attended, pause) : null };
  };

  // What each word is worth for a label: by leaving it out, and by gradient x input.
  const explain = async (/** @type {string[]} */ words, /** @type {string[]} */ shown, /** @type {Float64Array[]} */ vectors, /** @type {number} */ label,
    /** @type {number[]} */ attended, /** @type {Pause} */ pause) => {
    const score = (/** @type {string[]} */ some) => model.logProbability(model.match(model.read(some)), label), base = score(words), lost = [];
    for (let place = 0; place < shown.length; place++) {
      await pause();
      lost.push(base - score(words.toSpliced(place, 1)));
    }
    const slope = model.slope(model.match(model.read(words)), label);
    const gradient = [vectors.slice(0, shown.length).map((vector) => vector.reduce((sum, value, k) => sum + value * slope[k], 0))];
    const overlap = (/** @type {number[][]} */ found) => engine.argmaxOverlap(found, [attended.slice(0, shown.length)]);
    return { rows: [0], left_out: [lost], gradient, off: [], argmax_overlap: { left_out: overlap([lost]), gradient: overlap(gradient) } };
  };
  return { model, routes: { "/api/classify": answer, "/api/look": look } };
};

// Soft attention of a text over labels: its n-grams add up to a query, every label has a key.
engine.makeClassifier = (config, weights) => {
  const [table, keys, bias, rarity] = ["table", "keys", "bias", "rarity"].map((name) => engine.need(weights, name).data);
  const { width, buckets } = config, scale = Math.sqrt(width) * engine.need(weights, "temperature").data[0], temperature = scale / Math.sqrt(width);
  const worth = (/** @type {Float64Array} */ vector, /** @type {number} */ label) => {
    let sum = 0;
    for (let k = 0; k < width; k++) sum += vector[k] * keys[label * width + k];
    return sum / scale;
  };
  const sigmoid = (/** @type {number} */ x) => 1 / (1 + Math.exp(-x));
  // Calls `take` with each n-gram: the words it is of, its row, and its weight; those of a block have a length of 1.
  const each = (/** @type {string[]} */ words, /** @type {(places: number[], row: number, weight: number) => void} */ take) => {
    for (const block of engine.hashNgrams(words)) {
      const counts = new Map();
      for (const { hash } of block) counts.set(hash % buckets, (counts.get(hash % buckets) ?? 0) + 1);
      const weigh = (/** @type {number} */ row) => (1 + Math.log(counts.get(row))) * rarity[row];
      const length = Math.max(1e-9, Math.sqrt([...counts.keys()].reduce((sum, row) => sum + weigh(row) ** 2, 0)));
      for (const { hash, places } of block) take(places, hash % buckets, weigh(hash % buckets) / counts.get(hash % buckets) / length);
    }
  };
  return {
    worth,
    read(words) {
      const query = new Float64Array(width);
      each(words, (_, row, weight) => { for (let k = 0; k < width; k++) query[k] += weight * table[row * width + k]; });
      return query;
    },
    // What each word adds to the query: an n-gram of several words is shared by them equally.
    share(words) {
      const found = words.map(() => new Float64Array(width));
      each(words, (places, row, weight) => places.forEach((place) => {
        for (let k = 0; k < width; k++) found[place][k] += (weight * table[row * width + k]) / places.length;
      }));
      return found;
    },
    match: (query) => Float32Array.from(bias, (value, label) => worth(query, label) + value / temperature),
    probabilities: (logits) => (config.several_labels ? logits.map(sigmoid) : engine.softmax(logits.slice())),
    logProbability: (logits, label) => (config.several_labels ? -Math.log1p(Math.exp(-logits[label])) : engine.logSoftmax(logits)[label]),
    // Of the logarithm of a label's probability, along the query.
    slope(logits, label) {
      const probabilities = config.several_labels ? logits.map(sigmoid) : engine.softmax(logits.slice());
      const shares = config.several_labels ? probabilities.map((value, other) => (other === label ? 1 - value : 0))
        : probabilities.map((value, other) => Number(other === label) - value);
      return Float64Array.from({ length: width }, (_, k) => shares.reduce((sum, share, other) => sum + share * keys[other * width + k], 0) / scale);
    },
  };
};

// The words and signs of a text, in lower case, as regard/text/ngrams.py has them.
engine.labelWords = (text) => {
  engine.refuseHalves(text);
  engine.wordPattern ??= ((letter = `${engine.characterClass("L")}${engine.characterClass("N")}_`) =>
    new RegExp(`[${letter}]+(?:['’-][${letter}]+)*|[^${letter}\\p{White_Space}\\x1c-\\x1f]`, "gu"))();
  return text.toLowerCase().match(engine.wordPattern) ?? [];
};

// The n-grams of each block by their hashes: words in a row, parts of words, and openings; each with the words it is of.
engine.hashNgrams = (words) => {
  const place = (/** @type {number} */ first, /** @type {number} */ count) => Array.from({ length: count }, (_, i) => first + i).filter((i) => i >= 0 && i < words.length);
  const single = words.map((word, i) => ({ hash: engine.crc32(word, 1), places: [i] })), marked = ["\x01", ...words, "\x02"];
  const pairs = marked.slice(1).map((word, i) => ({ hash: engine.crc32(`${marked[i]} ${word}`, 2), places: place(i - 1, 2) }));
  const parts = words.flatMap((word, i) => engine.hashParts(word).map((hash) => ({ hash, places: [i] })));
  const openings = [1, 2].flatMap((length) => words.slice(length).map((word, i) => (
    { hash: engine.crc32(`${words.slice(0, length).join(" ")}\x03${word}`, length), places: [...place(0, length), length + i] })));
  return [[...single, ...pairs], parts, openings];
};

/** @type {Map<string, number[]>} */
engine.knownParts = new Map(); // a text is read once for each word that is left out

engine.hashParts = (word) => {
  const known = engine.knownParts.get(word), letters = Array.from(` ${word} `), found = [];
  if (known) return known;
  for (let length = 3; length <= Math.min(6, letters.length); length++) {
    for (let start = 0; start + length <= letters.length; start++) found.push(engine.crc32(letters.slice(start, start + length).join(""), 0));
  }
  if (engine.knownParts.size > 20000) engine.knownParts.clear();
  engine.knownParts.set(word, found);
  return found;
};

// The cyclic redundancy check of zlib, from a seed.
engine.crc32 = (text, seed) => {
  let sum = ~seed;
  for (const byte of new TextEncoder().encode(text)) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit++) sum = (sum >>> 1) ^ (sum & 1 ? 0xedb88320 : 0);
  }
  return ~sum >>> 0;
};
