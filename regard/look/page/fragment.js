"use strict";
// What is chosen and changed, in the fragment of the page's address: a link to it shows the same. What comes from there is checked.

/** A link's values, each of a known form, or left out. */
regard.readFragment = (hash) => {
  const given = new URLSearchParams(hash.replace(/^#/, "").slice(0, 20_000));
  const has = (/** @type {string} */ name, /** @type {RegExp} */ form) => { const value = given.get(name); return value !== null && form.test(value) ? value : null; };
  const [view, kind, key, scale, words, cell] = [has("view", /^[a-z]{1,20}$/), has("kind", /^[a-z]{1,20}$/), has("map", /^(mean|rollout|alignment|[1-9]\d?-[1-9]\d?)$/),
    has("scale", /^(row|absolute)$/), has("words", /^[01]$/), has("cell", /^\d{1,4}\.\d{1,4}$/)];
  const [row, column] = (cell ?? "").split(".").map(Number);
  /** @type {Partial<State>} */
  const state = {};
  const beside = has("beside", /^(before|mean|rollout|alignment|[1-9]\d?-[1-9]\d?|text:.{0,500})$/);
  if (beside) state.beside = beside;
  if (view) state.view = view;
  if (kind) state.kind = kind;
  if (key) state.key = key;
  if (scale) state.scale = scale;
  if (words) state.byWords = words === "1";
  if (cell) state.cell = { row, column };
  const texts = Object.fromEntries(["text", "story"].flatMap((name) => { const value = given.get(name); return value ? [[name, value.slice(0, 5000)]] : []; }));
  const instead = Object.fromEntries(["text", "story"].flatMap((name) => { const value = given.get(`new-${name}`); return value ? [[name, value.slice(0, 5000)]] : []; }));
  const edits = (given.get("change") ?? "").split(";").filter(Boolean).slice(0, 200).map(regard.readEdit);
  return { state, given: texts, changes: { edits: /** @type {Edit[]} */ (edits.filter((edit) => edit !== null)), instead }, isOdd: edits.includes(null) };
};

regard.writeEdit = ({ what, name, head, row, column, value }) => [what, name, head, row, column, value].map((part) => part ?? "").join(",").replace(/,+$/, "");

// One change as it is written, or null.
regard.readEdit = (text) => {
  const [what, name, head, row, column, value, ...more] = text.split(",");
  if (more.length || !["off", "temperature", "weight", "positions", "mask"].includes(what)) return null;
  if (name && !/^[a-z]{1,20}\.blocks\.\d{1,3}(\.(self_attention|cross_attention|feed_forward))?$/.test(name)) return null;
  /** @type {any} */
  const edit = { what };
  if (name) edit.name = name;
  for (const [key, given] of Object.entries({ head, row, column })) {
    if (given && !/^\d{1,4}$/.test(given)) return null;
    if (given) edit[key] = Number(given);
  }
  if (value && !(Number(value) >= 0)) return null;
  if (value) edit.value = Number(value);
  return edit;
};

// Whether a model of these kinds of attention has what a change is of.
regard.isPossible = ({ what, name, head, row, column, value }, kinds) => {
  if (what === "positions" || what === "mask") return name === undefined;
  const found = regard.partsOf(kinds).find((part) => part.name === name);
  if (!found || (head !== undefined && !(found.heads > head))) return false;
  if (what === "off") return true;
  if (head === undefined || value === undefined) return false;
  return what === "temperature" || (value <= 1 && row !== undefined && column !== undefined && row < found.rows && column < found.columns);
};

// Every part of a model that can be switched off: attentions with their heads, feed-forward layers, whole layers.
regard.partsOf = (kinds) => Object.entries(kinds).flatMap(([kind, about]) => {
  const part = { cross: "decoder", text: "stack", encoder: "encoder", decoder: "decoder" }[kind];
  if (!part) return [];
  return Array.from({ length: about.layers }, (_, layer) => layer).flatMap((layer) => {
    const block = `${part}.blocks.${layer}`, size = { rows: about.rows.length, columns: about.columns.length, kind, layer: layer + 1 };
    const own = { name: `${block}.${kind === "cross" ? "cross" : "self"}_attention`, heads: about.heads, ...size };
    return kind === "cross" ? [own] : [own, { name: `${block}.feed_forward`, heads: 0, ...size }, { name: block, heads: 0, ...size }];
  });
});

// A change in words.
regard.describeEdit = ({ what, name = "", head, row, column, value = 0 }, kinds) => {
  if (what === "positions") return "no positions";
  if (what === "mask") return "no causal mask";
  const part = regard.partsOf(kinds).find((one) => one.name === name), kind = part?.kind ?? "", layer = part?.layer ?? 0;
  const where = { cross: "cross-attention", encoder: "encoder", decoder: "decoder", text: "" }[kind] ?? kind;
  const piece = name.endsWith("feed_forward") ? "feed-forward" : name.endsWith("attention") ? (head === undefined ? "attention" : `head ${head + 1}`) : "";
  const label = [where, `layer ${layer}`, piece].filter(Boolean).join(" ");
  if (what === "off") return `${label} off`;
  if (what === "temperature") return `${label} at temperature ${regard.temperatureName(value)}`;
  const about = kinds[kind];
  return `${label}: ${regard.shown(about.rows[row ?? 0] ?? "")} → ${regard.shown(about.columns[column ?? 0] ?? "")} = ${value.toFixed(2)}`;
};

regard.temperatureName = (value) => (value === 0 ? "0 (argmax)" : value === Infinity ? "∞ (uniform)" : value < 0.1 || value >= 10 ? value.toPrecision(1) : value.toFixed(2));

// Writes the choices into the address, where the page keeps them there.
regard.remember = (state) => {
  if (!regard.isAddressed) return;
  const { data } = state, parts = new URLSearchParams();
  const set = (/** @type {string} */ name, /** @type {unknown} */ value) => { if (value) parts.set(name, String(value)); };
  set("view", state.view);
  set("kind", state.kind);
  set("map", state.key);
  set("scale", state.scale === "row" && "row");
  parts.set("words", state.byWords ? "1" : "0");
  set("beside", !state.beside.startsWith("model:") && state.beside); // another model is not in the address
  set("cell", state.cell && `${state.cell.row}.${state.cell.column}`);
  for (const name of ["text", "story"]) {
    set(name, data.live?.given[name]);
    set(`new-${name}`, data.live?.changes.instead[name]);
  }
  set("change", data.live?.changes.edits.map(regard.writeEdit).join(";"));
  try {
    history.replaceState(null, "", `#${parts}`);
  } catch {
    regard.isAddressed = false; // a frame that may not
  }
};
