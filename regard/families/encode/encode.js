"use strict";
// An encoder: lines of text, and how near each is to the others.
regard.panels.encode = (model) => {
  const lines = regard.make("textarea", { rows: 5, dir: "auto", placeholder: "A text on each line …" }, "A dog sleeps.\nA cat is asleep.\nThe train is late.");
  const table = regard.make("table", { class: "near" });
  const compare = regard.newest(async (signal) => {
    regard.complain("");
    const texts = lines.value.split("\n").map((line) => line.trim()).filter(Boolean).slice(0, 20);
    if (!texts.length) return table.replaceChildren();
    /** @type {{ vectors: number[][] }} */
    const { vectors } = await regard.askJson("/api/encode", { model: model.id, text: texts }, signal);
    const length = (/** @type {number[]} */ vector) => Math.hypot(...vector) || 1;
    const cosine = (/** @type {number[]} */ one, /** @type {number[]} */ other) => one.reduce((sum, value, place) => sum + value * other[place], 0) / length(one) / length(other);
    return table.replaceChildren(...texts.map((text, y) => regard.make("tr", {}, regard.make("td", {}, regard.make("bdi", {}, text)),
      ...vectors.slice(0, y + 1).map((other, x) => regard.make("td", { class: "number", "data-pair": `${y}-${x}` }, cosine(vectors[y], other).toFixed(2))))));
  });
  lines.addEventListener("input", regard.after(250, compare));
  compare();
  return regard.make("section", {}, regard.field("Texts, one a line", lines), regard.make("p", { class: "legend" }, "Cosine similarity of each text to those above it: 1 is the same direction, 0 nothing in common."), table);
};
