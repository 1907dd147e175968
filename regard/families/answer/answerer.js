"use strict";
// An answerer in the page: what POST /api/answer and /api/look answer, computed here.
engine.families.answer = (about, weights, tokenizer) => {
  const { config } = about, model = engine.makeAnswerer(config, weights, tokenizer.roles.pad ?? 0);
  const known = (/** @type {string} */ text) => tokenizer.encodePart(text).filter((id) => id !== tokenizer.roles.unknown);
  const sentencesOf = (/** @type {string | string[]} */ story) => {
    const found = Array.isArray(story) ? story : story.split("\n").flatMap((line) => line.trim().split(/(?<=[.!?])\s+/u)).filter(Boolean);
    if (!found.some((sentence) => sentence.trim())) throw new Error("the story has no sentence");
    return found;
  };
  const most = Math.floor((config.max_positions * 2) / 3); // ages have room for time noise
  const run = (/** @type {string[]} */ sentences, /** @type {string} */ question) => {
    const { logits, hops } = model.read(sentences.map(known), known(question));
    return { probabilities: engine.softmax(Float64Array.from(logits)), hops };
  };

  const answer = (/** @type {any} */ { story, question }) => {
    const all = sentencesOf(story), sentences = all.slice(-most), { probabilities, hops } = run(sentences, question), [best] = engine.largest(probabilities, 1);
    const unknown = [...new Set([...sentences, question].flatMap(tokenizer.unknown))].sort();
    const text = tokenizer.tokens([best])[0];
    return { text, probability: probabilities[best], sentences, hops, unknown, left_out: all.length - sentences.length, abstained: text === "unknown" };
  };

  const look = (/** @type {any} */ fields) => {
    const found = answer({ story: fields.story, question: fields.text }), { sentences, hops } = found, { probabilities } = run(sentences, fields.text);
    const best = engine.largest(probabilities, 8), own = best[0];
    const lost = () => sentences.map((_, gone) => {
      const rest = sentences.filter((__, place) => place !== gone);
      return found.probability - (rest.length ? run(rest, fields.text).probabilities[own] : 0);
    });
    const rows = hops.map((_, number) => `hop ${number + 1}`), shares = Float32Array.from(hops.flatMap((row) => [...row]));
    const kinds = { hops: { ...engine.makeKind(rows, sentences, [shares], 1, new Set()), row_words: rows.map((_, i) => i), column_words: sentences.map((_, i) => i) } };
    engine.measure(kinds);
    const notes = found.unknown.length ? [`never seen in training, and left out: ${found.unknown.join(", ")}`] : [];
    if (found.left_out) notes.push(`the story has ${found.left_out + sentences.length} sentences, and the model holds ${sentences.length}; the oldest were left out`);
    return { task: "answer", text: fields.text, answer: found.text, notes, kinds, alignment: [], aligning: null, logit_lens: [],
      token_scores: [{ place: rows.length - 1, token: found.text, probability: found.probability, alternatives: tokenizer.tokens(best).map((token, i) => [token, probabilities[best[i]]]) }],
      why: fields.why ? { rows: [], left_out: [lost()], gradient: [], off: [] } : null };
  };
  // The answer before and after a change of the story.
  const changed = (/** @type {{ before: any, after: any }} */ { before, after }) => {
    const [old, now] = [before, after].map(({ story, text }) => model.read(sentencesOf(story).slice(-most).map(known), known(text)).logits);
    return { changes: engine.compareLogits([old], [now], engine.largest(old, 1), tokenizer), written: null };
  };
  return { model, routes: { "/api/answer": answer, "/api/look": look, "/api/changed": changed } };
};

engine.makeAnswerer = (config, weights, pad) => {
  const model = config.kind === "memory" ? engine.makeMemoryNetwork(config, weights) : engine.makeStoryTransformer(config, weights, pad);
  const temperature = weights.get("answer_temperature")?.data[0] ?? 1; // chosen on held-out stories
  return {
    read(sentences, question) {
      const { hops, logits } = model.read(sentences, question);
      return { hops, logits: logits.map((value) => value / temperature) };
    },
  };
};

// The end-to-end memory network: a question reads a story in hops.
engine.makeMemoryNetwork = (config, weights) => {
  const { width, vocab_size: size, max_positions: oldest } = config, between = weights.get("between");
  const table = (/** @type {string} */ name, /** @type {number} */ number) => engine.need(weights, `${name}.${number}`).data;
  // A sentence's vector: each word's weight for value k of D is (1 - j/J) - (k/D)(1 - 2j/J) at place j of J.
  const bag = (/** @type {number[]} */ words, /** @type {Float32Array} */ vectors) => {
    const found = new Float64Array(width);
    words.forEach((word, place) => {
      const share = (place + 1) / words.length;
      for (let k = 0; k < width; k++) found[k] += vectors[word * width + k] * (1 - share + ((2 * share - 1) * (k + 1)) / width);
    });
    return found;
  };
  return {
    read(sentences, question) {
      let state = config.controller === "zero" ? new Float64Array(width) : bag(question, table("words", between ? 2 : 0));
      const hops = [];
      for (let hop = 0; hop < config.hops; hop++) {
        const [inward, outward] = between ? [0, 1] : [hop, hop + 1];
        const memory = (/** @type {number} */ number) => sentences.map((words, place) => {
          const age = Math.min(sentences.length - 1 - place, oldest - 1), times = table("times", number);
          return bag(words, table("words", number)).map((value, k) => value + times[age * width + k]);
        });
        const scores = memory(inward).map((vector, place) => (sentences[place].length ? vector.reduce((sum, value, k) => sum + value * state[k], 0) : -Infinity));
        const shares = engine.softmax(Float64Array.from([...scores, 0])).subarray(0, -1); // the last memory is empty
        hops.push(Array.from(shares));
        const moved = between ? state.map((_, k) => state.reduce((sum, value, i) => sum + value * between.data[i * width + k], 0)) : state.slice();
        memory(outward).forEach((vector, place) => vector.forEach((value, k) => { moved[k] += shares[place] * value; }));
        state = moved;
      }
      const words = table("words", between ? 3 : config.hops);
      return { hops, logits: Float32Array.from({ length: size }, (_, id) => state.reduce((sum, value, k) => sum + value * words[id * width + k], 0)) };
    },
  };
};

// The story Transformer: attention between sentences, and a question that reads them in hops.
engine.makeStoryTransformer = (config, weights, pad) => {
  const { width, epsilon, hops: count } = config, table = engine.need(weights, "embedding.weight");
  const norm = (/** @type {string} */ name) => engine.readNorm(weights, name, epsilon);
  const [storyNorm, questionNorm, memoryNorm, answerNorm] = ["norm", "question_norm", "memory_norm", "answer_norm"].map(norm);
  const age = engine.readLinear(weights, "age"), steps = engine.rows(engine.need(weights, "steps").data, width), bias = weights.get("answer_bias");
  /** @type {StoryBlock[]} */
  const blocks = [];
  while (weights.has(`blocks.${blocks.length}.attention.query.weight`)) blocks.push(engine.makeStoryBlock(weights, `blocks.${blocks.length}`, config));
  const [search, reply] = ["search", "reply"].map((name) => engine.makeStoryBlock(weights, name, config));
  // The sum of the words, each scaled by its position.
  const encode = (/** @type {number[][]} */ texts, /** @type {string} */ name) => {
    const places = engine.need(weights, name), found = new Float32Array(texts.length * width), latest = places.shape[0] - 1;
    texts.forEach((words, row) => words.forEach((word, place) => {
      if (word === pad) return;
      for (let k = 0; k < width; k++) found[row * width + k] += table.data[word * width + k] * places.data[Math.min(place, latest) * width + k];
    }));
    return found;
  };
  return {
    read(sentences, question) {
      const isReal = sentences.map((words) => words.some((word) => word !== pad));
      const waves = Float32Array.from(sentences.flatMap((_, place) => [...engine.sinusoids(sentences.length - 1 - place, width)]));
      let x = engine.add(age(waves), storyNorm(encode(sentences, "places")));
      for (const block of blocks) x = block.forward(x, block.read(x), (row, s) => isReal[s] && s < row, (row, s) => isReal[s] && s !== row).x;
      const memory = memoryNorm(x), seen = new Map([search, reply].map((block) => [block, block.readMemory(memory)]));
      let state = questionNorm(encode([question], "question_places")), asked = state;
      const hops = [];
      for (let hop = 0; hop < count; hop++) {
        const block = hop === count - 1 ? reply : search;
        asked = engine.add(state.slice(), steps[hop]);
        const found = block.forward(asked, /** @type {Seen} */ (seen.get(block)), (_, s) => isReal[s], (_, s) => isReal[s]);
        state = found.x;
        hops.push(Array.from(found.mean));
      }
      const answer = answerNorm(state.map((value, k) => value - asked[k])).map((value) => value / Math.sqrt(width));
      return { hops, logits: engine.linear(answer, table, bias) };
    },
  };
};

// Attention over sentences in order: half of the heads take the newest match, the others a mixture; both may attend to nothing.
engine.makeStoryBlock = (weights, name, config) => {
  const { width, heads } = config, recent = Math.floor(heads / 2), deep = width / heads;
  const [query, key, value, output] = ["query", "key", "value", "output"].map((part) => engine.readLinear(weights, `${name}.attention.${part}`));
  const patience = weights.get(`${name}.attention.patience`), before = engine.readNorm(weights, `${name}.attention_residual.norm`, config.epsilon);
  const residual = engine.makeResidual(weights, `${name}.attention_residual`, config);
  const feed = engine.makeFeedForward(weights, `${name}.feed_forward`, config), feedResidual = engine.makeResidual(weights, `${name}.feed_residual`, config);
  const readMemory = (/** @type {Float32Array} */ x) => ({ keys: engine.rows(key(x), heads * width), values: engine.rows(value(x), width) });
  return {
    readMemory,
    read: (x) => readMemory(config.norm === "pre" ? before(x) : x),
    forward(x, { keys, values }, newest, others) {
      const rows = x.length / width, mean = new Float32Array(rows * keys.length);
      x = residual(x, (given) => {
        const queries = query(given), mixed = new Float32Array(rows * width);
        for (let row = 0; row < rows; row++) {
          for (let head = 0; head < heads; head++) {
            const isRecent = head < recent, may = isRecent ? newest : others, from = (row * heads + head) * width;
            const scores = Float64Array.from(keys, (other, s) => {
              let sum = 0;
              for (let i = 0; i < width; i++) sum += queries[from + i] * other[head * width + i];
              return sum / Math.sqrt(width) + (isRecent && patience ? patience.data[head] : 0) - (may(row, s) ? 0 : 1e4);
            });
            const shares = isRecent ? engine.newestMatch(scores) : engine.softmax(Float64Array.from([...scores, 0])).subarray(0, -1);
            shares.forEach((share, s) => {
              mean[row * keys.length + s] += share / heads;
              for (let i = 0; i < deep; i++) mixed[row * width + head * deep + i] += share * values[s][head * deep + i];
            });
          }
        }
        return output(mixed);
      });
      return { x: feedResidual(x, feed), mean };
    },
  };
};

// From the newest sentence to the oldest, stopping at each with probability sigmoid(score).
engine.newestMatch = (scores) => {
  const found = new Float64Array(scores.length);
  let left = 1;
  for (let s = scores.length - 1; s >= 0; s--) {
    const stop = 1 / (1 + Math.exp(-scores[s]));
    found[s] = left * stop;
    left *= 1 - stop;
  }
  return found;
};
