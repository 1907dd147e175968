"use strict";
// Asking the server; a key, where one is needed, is asked for once and kept for this tab only.
regard.ask = async (path, fields, signal) => {
  /** @type {Record<string, string>} */
  const headers = { "Content-Type": "application/json" };
  const key = sessionStorage.getItem("regard-key");
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(path, fields === undefined ? { headers, signal } : { method: "POST", headers, signal, body: JSON.stringify(fields) });
  if (response.status === 401) {
    const given = window.prompt("This server wants a key:");
    if (!given) throw new Error("a key is needed");
    sessionStorage.setItem("regard-key", given);
    return regard.ask(path, fields, signal);
  }
  if (!response.ok) {
    const found = await response.json().catch((problem) => {
      if (problem.name === "AbortError") throw problem;
      return { error: response.statusText };
    });
    throw new Error(typeof found.error === "string" ? found.error : found.error.message);
  }
  return response;
};

regard.askJson = async (path, fields, signal) => (await regard.ask(path, fields, signal)).json();

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

// An inspection as the server sends it: weights as they are, the rest as in a saved page.
regard.LiveData = class extends regard.Data {
  constructor(/** @type {Inspected} */ found) {
    super((name) => (name === "seen" ? JSON.stringify({ ...found, kinds: found.kinds }) : null));
  }

  map(/** @type {string} */ kind, /** @type {string} */ key) {
    const name = `${kind}-${key}`;
    if (!this.kept.has(name)) this.kept.set(name, Float32Array.from(regard.flatMap(/** @type {any} */ (this), this.kinds[kind], key)));
    return this.kept.get(name);
  }
};

regard.flatMap = (data, about, key) => {
  if (key === "rollout") return about.rollout.flat();
  const [layer, head] = key.split("-").map(Number);
  if (head) return about.weights[layer - 1][head - 1].flat();
  const aligning = key === "alignment" ? data.aligning : null;
  const chosen = aligning ? aligning.heads.map((number) => about.weights[aligning.layer][number]) : about.weights.flat();
  const rows = about.rows.map((_, y) => about.columns.map((__, x) => chosen.reduce((sum, map) => sum + map[y][x], 0) / chosen.length));
  if (aligning && aligning.is_after !== false) return rows.flatMap((_, y) => rows[Math.min(y + 1, rows.length - 1)]);
  return rows.flat();
};

// The views of a look, live, below whatever asked for it.
regard.lookBox = () => {
  const box = regard.make("section", { class: "look" });
  const show = regard.newest(async (signal, fields) => {
    const found = await regard.askJson("/api/look", fields, signal);
    regard.show(box, new regard.LiveData(found));
  });
  return { box, show };
};
