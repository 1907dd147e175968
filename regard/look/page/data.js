"use strict";
// What the page knows, and the maps in it. A map is a Float32Array of rows x columns; it is unpacked when first wanted.
const regard = /** @type {Regard} */ (/** @type {unknown} */ ({ views: [], panels: {} })); // its type: tests/page/regard.d.ts

regard.Data = class {
  constructor(/** @type {(name: string) => string | null} */ read) {
    this.read = read; // name -> text of an inert element, or null while it is not there yet
    /** @type {Inspected["kinds"]} */
    this.kinds = {};
    Object.assign(this, JSON.parse(read("seen") ?? "{}"));
    this.kept = new Map();
  }

  // Whether what is attended to are the sentences of a story, by hops, and not tokens.
  get isStory() {
    return "hops" in this.kinds;
  }

  // kind: "cross", "text" … · key: "mean", "rollout", "alignment", "2-3" (layer and head from 1)
  map(/** @type {string} */ kind, /** @type {string} */ key) {
    const name = `${kind}-${key}`;
    if (this.kept.has(name)) return this.kept.get(name);
    const packed = this.read(name);
    if (packed === null) return null;
    const bytes = atob(packed);
    const values = new Float32Array(bytes.length / 2);
    for (let i = 0; i < values.length; i++) {
      values[i] = (bytes.charCodeAt(2 * i) + 256 * bytes.charCodeAt(2 * i + 1)) / 65535;
    }
    if (this.kept.size > 64) this.kept.delete(this.kept.keys().next().value);
    this.kept.set(name, values);
    return values;
  }

  // Labels and values between tokens, or between words: the mean over the tokens of a row's word, and the
  // sum over those of a column's.
  table(/** @type {string} */ kind, /** @type {string} */ key, /** @type {boolean} */ byWords) {
    const about = this.kinds[kind];
    const values = this.map(kind, key);
    const [height, width] = [about.rows.length, about.columns.length];
    if (values === null) return null;
    if (!byWords) return { rows: about.rows, columns: about.columns, values, height, width };
    const rows = regard.groups(about.row_words), columns = regard.groups(about.column_words);
    const merged = new Float32Array(rows.length * columns.length);
    rows.forEach((group, y) => columns.forEach((others, x) => {
      let sum = 0;
      for (const row of group) for (const column of others) sum += values[row * width + column];
      merged[y * columns.length + x] = sum / group.length;
    }));
    const join = (/** @type {string[]} */ labels, /** @type {number[][]} */ groups) => groups.map((group) => group.map((i) => labels[i]).join("").trim() || " ");
    return {
      rows: join(about.rows, rows), columns: join(about.columns, columns), values: merged,
      height: rows.length, width: columns.length,
    };
  }
};

// Places that belong together: of one word, or a special token for itself.
regard.groups = (words) => {
  /** @type {number[][]} */
  const groups = [];
  /** @type {number | null} */
  let last = null;
  words.forEach((word, place) => {
    if (word === null || word !== last) groups.push([]);
    groups[groups.length - 1].push(place);
    last = word;
  });
  return groups;
};

// Elements, always with text as text.
regard.make = (name, attributes = {}, ...children) => {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), /** @type {EventListener} */ (value));
    else if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) element.append(child instanceof Node ? child : document.createTextNode(child));
  return element;
};

// The first row of a table.
regard.headRow = (texts, numbers = []) => regard.make("tr", { class: "heads" }, ...texts.map((text, i) => regard.make(text ? "th" : "td", { scope: text ? "col" : undefined, class: numbers.includes(i) ? "number" : undefined }, text)));

// What may be wider than the page, and is moved by keys too.
regard.scroll = (label, ...children) => regard.make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": label }, ...children);

// A token as people read it: on one line, the space before a word shown by the gap, nothing invisible, no two alike that differ.
regard.shown = (token) => {
  const text = token.replace(/^ (?=[^ ])/, "").replace(/ {2,}|^ | $/g, ({ length }) => (length > 1 ? `␣×${length}` : "␣")) || "∅";
  return text.replace(/\r?\n/g, "⏎").replace(/\t/g, "⇥").replace(/\u00a0/g, "⍽").replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]/g, "�");
};

// A number with so many digits, with a sign that is as wide as its digits; what rounds to 0 has none.
regard.number = (value, digits) => value.toFixed(digits).replace(/^-(?=[0.]*$)/, "").replace("-", "−");

regard.percent = (value) => (value >= 0.0995 ? `${Math.round(100 * value)} %` : value === 0 ? "0 %" : value < 1e-4 ? "< 0.01 %" : `${(100 * value).toPrecision(2)} %`);

// Scripts that put no spaces between words.
regard.spaceless = /[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]/;

// The words of a text and where each begins; of scripts without spaces, as the browser knows them.
regard.wordsOf = (text) => [...text.matchAll(/\S+/g)].flatMap((found) => {
  const [word] = found, start = found.index ?? 0;
  if (!regard.spaceless.test(word) || !Intl.Segmenter) return [{ word, start }];
  return [...new Intl.Segmenter(undefined, { granularity: "word" }).segment(word)].map((part) => ({ word: part.segment, start: start + part.index }));
});

// Whether a text runs from right to left, by its first letter of either kind.
regard.isRightToLeft = (text) => /^[^\p{L}]*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]/u.test(text);

// At most so many letters, with an ellipsis where there were more.
regard.cut = (text, most) => {
  const letters = [...text];
  return letters.length > most ? `${letters.slice(0, most - 1).join("")}…` : text;
};

// Once nothing has come for so long.
regard.after = (milliseconds, work) => {
  /** @type {number | undefined} */
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), milliseconds);
  };
};
