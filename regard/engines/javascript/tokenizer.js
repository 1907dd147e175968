"use strict";
// Text to ids and back as a tokenizer.json says: the kinds that regard trains (byte-level BPE, characters, WordPiece, words).

// A regular expression of the library as one of JavaScript: its \s and \p{…} are of another version of Unicode.
engine.regex = (pattern) => {
  let isInside = false;
  const source = pattern.replace(/\\p\{(\w)\}|\\([sS])|\\.|[[\]]/gu, (part, property, space) => {
    if (part === "[" || part === "]") isInside = part === "[";
    if (space) return space === "s" ? "\\p{White_Space}" : "\\P{White_Space}";
    if (!property) return part;
    return isInside ? engine.characterClass(property) : `[${engine.characterClass(property)}]`;
  });
  return new RegExp(source, "gu");
};

engine.split = (text, pattern, behavior, isInverted) => {
  /** @type {[string, boolean][]} */
  const parts = []; // with whether each is a delimiter
  let reached = 0;
  for (const found of text.matchAll(pattern)) {
    if (found.index > reached) parts.push([text.slice(reached, found.index), isInverted]);
    parts.push([found[0], !isInverted]);
    reached = found.index + found[0].length;
  }
  if (reached < text.length) parts.push([text.slice(reached), isInverted]);
  if (behavior === "Removed") return parts.filter(([, isDelimiter]) => !isDelimiter).map(([part]) => part);
  if (behavior === "Isolated") return parts.map(([part]) => part);
  /** @type {string[]} */
  const merged = []; // MergedWithPrevious
  let isOpen = false;
  for (const [part, isDelimiter] of parts) {
    if (isDelimiter && isOpen) merged[merged.length - 1] += part;
    else merged.push(part);
    isOpen = !isDelimiter;
  }
  return merged;
};

// The character that stands for each byte, and back.
engine.byteLetters = (() => {
  const letters = /** @type {string[]} */ ([]);
  for (let byte = 0, more = 256; byte < 256; byte++) {
    const isPlain = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    letters.push(String.fromCodePoint(isPlain ? byte : more++));
  }
  return letters;
})();

engine.toBytes = (text) => Array.from(new TextEncoder().encode(text), (byte) => engine.byteLetters[byte]).join("");

engine.byteNumbers = new Map(engine.byteLetters.map((letter, byte) => [letter, byte]));

engine.fromBytes = (pieces) => {
  const numbers = engine.byteNumbers, encoder = new TextEncoder();
  const bytes = pieces.flatMap((piece) => {
    const own = Array.from(piece, (letter) => numbers.get(letter));
    return own.includes(undefined) ? [...encoder.encode(piece)] : /** @type {number[]} */ (own);
  });
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.from(bytes));
};

// Each character for itself: a browser would make another letter of a sigma at the end of a word.
engine.lowercase = (text) => Array.from(text, (letter) => letter.toLowerCase()).join("");

engine.normalizers = {
  Prepend: ({ prepend }) => (text) => (text ? prepend + text : text),
  Lowercase: () => engine.lowercase,
  BertNormalizer: ({ lowercase }) => {
    const control = new RegExp(`[${engine.characterClass("control")}]`, "gu"), ideograph = new RegExp(`[${engine.characterClass("ideograph")}]`, "gu");
    return (text) => {
      const plain = text.replace(control, "").replace(/\p{White_Space}/gu, " ").replace(ideograph, " $& ");
      return lowercase ? engine.lowercase(plain) : plain;
    };
  },
};

engine.preTokenizers = {
  Sequence: ({ pretokenizers }) => {
    const steps = pretokenizers.map((/** @type {any} */ one) => engine.preTokenizers[one.type](one));
    return (words) => steps.reduce((/** @type {string[]} */ some, /** @type {any} */ step) => step(some), words);
  },
  Split: ({ pattern, behavior, invert }) => {
    const wanted = engine.regex(pattern.Regex);
    return (words) => words.flatMap((word) => engine.split(word, wanted, behavior, invert));
  },
  ByteLevel: () => (words) => words.map(engine.toBytes),
  BertPreTokenizer: () => {
    const parts = new RegExp(`[${engine.characterClass("punctuation")}]|[^\\p{White_Space}${engine.characterClass("punctuation")}]+`, "gu");
    return (words) => words.flatMap((word) => word.match(parts) ?? []);
  },
};

engine.pieceModels = {
  WordLevel: ({ vocab, unk_token }) => {
    const numbers = new Map(Object.entries(vocab));
    return (word) => [numbers.get(word) ?? vocab[unk_token]];
  },
  WordPiece: ({ vocab, unk_token, continuing_subword_prefix: mark, max_input_chars_per_word: most }) => {
    const numbers = new Map(Object.entries(vocab));
    return (word) => {
      const letters = Array.from(word), ids = [];
      if (letters.length > most) return [vocab[unk_token]];
      const piece = (/** @type {number} */ start, /** @type {number} */ end) => numbers.get((start ? mark : "") + letters.slice(start, end).join(""));
      for (let start = 0; start < letters.length;) {
        let end = letters.length;
        while (end > start && piece(start, end) === undefined) end--;
        if (end === start) return [vocab[unk_token]];
        ids.push(piece(start, end));
        start = end;
      }
      return ids;
    };
  },
  BPE: ({ vocab, merges }) => {
    const numbers = new Map(Object.entries(vocab));
    const ranks = new Map(merges.map((/** @type {any} */ pair, /** @type {number} */ rank) => [typeof pair === "string" ? pair : pair.join(" "), rank]));
    return (word) => {
      const parts = Array.from(word);
      for (;;) {
        let best = Infinity, place = -1;
        for (let i = 0; i + 1 < parts.length; i++) {
          const rank = ranks.get(`${parts[i]} ${parts[i + 1]}`) ?? Infinity;
          if (rank < best) [best, place] = [rank, i];
        }
        if (place < 0) return parts.map((part) => numbers.get(part));
        parts.splice(place, 2, parts[place] + parts[place + 1]);
      }
    };
  },
};

engine.refuseHalves = (text) => {
  if (/\p{Surrogate}/u.test(text)) throw new Error("the text has half a character (a lone surrogate); a text must be valid Unicode");
};

// described: a tokenizer.json; roles: the ids that begin, end and fill a text, those that there are.
engine.makeTokenizer = (described, roles) => {
  const { model } = described, known = new Map();
  /** @type {string[]} */
  const pieces = [];
  for (const [piece, id] of Object.entries(model.vocab)) pieces[id] = piece;
  for (const { id, content } of described.added_tokens) pieces[id] = content;
  const special = new Set(described.added_tokens.map((/** @type {any} */ one) => one.id));
  const normalize = described.normalizer ? engine.normalizers[described.normalizer.type](described.normalizer) : (/** @type {string} */ text) => text;
  const divide = engine.preTokenizers[described.pre_tokenizer.type](described.pre_tokenizer), look = engine.pieceModels[model.type](model);
  const closing = { before: /** @type {number[]} */ ([]), after: /** @type {number[]} */ ([]) };
  let isBefore = true;
  for (const part of described.post_processor?.single ?? []) {
    if (part.Sequence) isBefore = false;
    else closing[isBefore ? "before" : "after"].push(...described.post_processor.special_tokens[part.SpecialToken.id].ids);
  }
  const ofWord = (/** @type {string} */ word) => {
    if (!known.has(word)) {
      if (known.size > 20000) known.clear();
      known.set(word, look(word));
    }
    return known.get(word);
  };
  const words = (/** @type {string} */ text) => {
    engine.refuseHalves(text);
    return divide([normalize(text)]);
  };
  const encodePart = (/** @type {string} */ text) => words(text).flatMap(ofWord);
  const encode = (/** @type {string} */ text) => [...closing.before, ...encodePart(text), ...closing.after];
  const hasBytes = ["ByteLevel", "Sequence"].includes(described.pre_tokenizer.type), isWordPiece = model.type === "WordPiece";
  const show = (/** @type {number} */ id) => {
    const piece = pieces[id] ?? "";
    if (special.has(id)) return isWordPiece && id === roles.unknown ? ` ${piece}` : piece;
    if (isWordPiece) return piece.startsWith("##") ? piece.slice(2) : engine.cleanUp(` ${piece}`);
    return hasBytes ? engine.fromBytes([piece]) : piece;
  };
  return {
    roles, special, pieces, words, encode, encodePart,
    encodeTarget: (text) => encode(text).slice(Math.max(0, closing.before.length + closing.after.length - 1)),
    tokens: (ids) => ids.map(show),
    specialTokens: () => new Set([...special].map((id) => show(/** @type {number} */ (id)))),
    unknown: (text) => [...new Set(words(text).filter((word) => roles.unknown !== undefined && ofWord(word).includes(roles.unknown)))],
    decode(ids) {
      const kept = ids.filter((id) => !special.has(id)).map((id) => pieces[id] ?? "");
      if (isWordPiece) return kept.map((piece, place) => (place === 0 ? piece : piece.startsWith("##") ? piece.slice(2) : engine.cleanUp(` ${piece}`))).join("");
      const text = hasBytes ? engine.fromBytes(kept) : kept.join(described.decoder ? "" : " ");
      return described.decoder?.decoders?.some((/** @type {any} */ one) => one.type === "Strip") ? text.replace(/^ /, "") : text;
    },
  };
};

// Without the space before a sign.
engine.cleanUp = (text) => [[" .", "."], [" ?", "?"], [" !", "!"], [" ,", ","], [" ' ", "'"], [" n't", "n't"], [" 'm", "'m"],
  [" do not", " don't"], [" 's", "'s"], [" 've", "'ve"], [" 're", "'re"]].reduce((found, [from, to]) => found.replaceAll(from, to), text);
