"use strict";
// What is asked while a page is open, of a server or of the model in the page, and what is drawn of the answers.

// The newest question counts: an older one that is still being answered is given up.
regard.newest = (work) => {
  /** @type {AbortController | null} */
  let last = null;
  return async (...given) => {
    last?.abort();
    const mine = last = new AbortController();
    try {
      return await work(mine.signal, ...given);
    } catch (problem) {
      regard.report(problem);
      return undefined;
    }
  };
};

regard.complain = (message) => {
  const box = document.getElementById("trouble");
  if (box) Object.assign(box, { textContent: message, hidden: !message });
};

// Shows an error, unless it only says that the question was given up.
regard.report = (problem) => {
  const { name, message } = /** @type {Error} */ (problem);
  if (name !== "AbortError") regard.complain(message);
};

regard.after = (milliseconds, work) => {
  /** @type {number | undefined} */
  let timer;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => work(...given), milliseconds);
  };
};

// An inspection as it was answered: weights as they are, the rest as in a saved page.
regard.LiveData = class extends regard.Data {
  constructor(/** @type {Inspected} */ found) {
    super(() => null);
    Object.assign(this, found);
  }

  map(/** @type {string} */ kind, /** @type {string} */ key) {
    const name = `${kind}-${key}`;
    if (!this.kept.has(name)) this.kept.set(name, regard.flatMap(/** @type {any} */ (this), this.kinds[kind], key));
    return this.kept.get(name);
  }
};

// A map as a server writes it, in rows, or as it is.
regard.flat = (map) => (map instanceof Float32Array ? map : Float32Array.from(map.flat()));

regard.flatMap = (data, about, key) => {
  if (key === "rollout") return regard.flat(about.rollout);
  const [layer, head] = key.split("-").map(Number);
  if (head) return regard.flat(about.weights[layer - 1][head - 1]);
  const aligning = key === "alignment" ? data.aligning : null;
  const chosen = (aligning ? aligning.heads.map((number) => about.weights[aligning.layer][number]) : about.weights.flat()).map(regard.flat);
  const mean = chosen[0].map((_, i) => chosen.reduce((sum, map) => sum + map[i], 0) / chosen.length);
  if (aligning && aligning.is_after !== false) mean.set(mean.slice(about.columns.length)); // the last row stays
  return mean;
};

// The views of a look, live, below whatever asked for it. Here in the page, what is quick to compute is shown first.
regard.lookBox = () => {
  const box = regard.make("section", { class: "look" });
  const show = regard.newest(async (signal, fields) => {
    for (const why of regard.isHere && fields.why ? [false, true] : [fields.why]) {
      const found = await regard.askJson("/api/look", { ...fields, why }, signal);
      regard.show(box, new regard.LiveData(found));
    }
  });
  return { box, show };
};
