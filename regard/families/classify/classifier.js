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
    const probabilities = model.probabilities(logits), vectors = await share(words, shown.length, pause), labels = best.map((number) => names[number]);
    const attended = best.flatMap((number) => [...engine.softmax(Float64Array.from(vectors, (vector) => model.worth(vector, number)))]);
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
      why: fields.why ? explain(model.read(words), vectors, best[0], attended) : null };
  };

  // What each of the first words adds to the query: the query of the text, without that of the rest.
  const share = async (/** @type {string[]} */ words, /** @type {number} */ count, /** @type {Pause} */ pause) => {
    const query = model.read(words), found = [];
    for (let place = 0; place < count; place++) {
      await pause();
      const rest = model.read(words.toSpliced(place, 1));
      found.push(query.map((value, k) => value - rest[k]));
    }
    return found;
  };

  // What each word is worth for a label: by leaving it out, and by gradient x input.
  const explain = (/** @type {Float64Array} */ query, /** @type {Float64Array[]} */ vectors, /** @type {number} */ label, /** @type {number[]} */ attended) => {
    const logits = model.match(query), base = model.logProbability(logits, label), slope = model.slope(logits, label);
    const left = [vectors.map((vector) => base - model.logProbability(model.match(query.map((value, k) => value - vector[k])), label))];
    const gradient = [vectors.map((vector) => vector.reduce((sum, value, k) => sum + value * slope[k], 0))];
    const overlap = (/** @type {number[][]} */ found) => engine.argmaxOverlap(found, [attended.slice(0, vectors.length)]);
    return { rows: [0], left_out: left, gradient, off: [], argmax_overlap: { left_out: overlap(left), gradient: overlap(gradient) } };
  };
  return { model, routes: { "/api/classify": answer, "/api/look": look } };
};

// Soft attention of a text over labels: its n-grams add up to a query, every label has a key.
engine.makeClassifier = (config, weights) => {
  const [table, keys, bias, weightOf] = ["table", "keys", "bias", "row_weights"].map((name) => engine.need(weights, name).data);
  const { width, buckets } = config, scale = Math.sqrt(width) * engine.need(weights, "temperature").data[0], temperature = scale / Math.sqrt(width);
  const worth = (/** @type {Float64Array} */ vector, /** @type {number} */ label) => {
    let sum = 0;
    for (let k = 0; k < width; k++) sum += vector[k] * keys[label * width + k];
    return sum / scale;
  };
  const sigmoid = (/** @type {number} */ x) => 1 / (1 + Math.exp(-x));
  return {
    worth,
    // N-grams of a block make a vector of the block's length, which is times the table.
    read(words) {
      const query = new Float64Array(width), lengths = [1, 1, 0.5];
      engine.hashNgrams(words).forEach((block, number) => {
        const counts = new Map();
        for (const hash of block) counts.set(hash % buckets, (counts.get(hash % buckets) ?? 0) + 1);
        for (const [row, count] of counts) counts.set(row, (1 + Math.log(count)) * weightOf[row]);
        let sum = 0;
        for (const value of counts.values()) sum += value ** 2;
        const scaled = lengths[number] / Math.max(1e-9, Math.sqrt(sum));
        for (const [row, value] of counts) for (let k = 0; k < width; k++) query[k] += scaled * value * table[row * width + k];
      });
      return query;
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

// The hashes of the n-grams of each block: words in a row, characters, and openings.
engine.hashNgrams = (words) => {
  const codes = (/** @type {string} */ text) => Array.from(text, (letter) => /** @type {number} */ (letter.codePointAt(0)));
  const numbers = words.map((word) => engine.mix(codes(word))), marked = [1, ...numbers, 2], letters = codes(` ${words.join(" ")} `);
  const inARow = (/** @type {number[]} */ some, /** @type {number} */ length) => (
    Array.from({ length: Math.max(0, some.length - length + 1) }, (_, i) => engine.mix([length, ...some.slice(i, i + length)])));
  return [[...numbers.map((number) => engine.mix([1, number])), ...inARow(marked, 2), ...inARow(marked, 3)],
    [2, 3, 4, 5].flatMap((length) => inARow(letters, length)),
    [1, 2].flatMap((length) => numbers.slice(length).map((number) => engine.mix([5 + length, ...numbers.slice(0, length), number])))];
};

// FNV-1a over whole numbers of 32 bits, and its bits mixed at last.
engine.mix = (numbers) => {
  let mixed = 2166136261;
  for (const number of numbers) mixed = Math.imul(mixed ^ number, 16777619);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 739982445);
  return (mixed ^ (mixed >>> 12)) >>> 0;
};
