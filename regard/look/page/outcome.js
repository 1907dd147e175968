"use strict";
// Predictions before and after a change, side by side.

/** @type {(state: State, found: { changes: ChangedToken[], written: string | null }) => Node[]} */
regard.outcome = (state, { changes, written }) => {
  const live = /** @type {Live} */ (state.data.live), isChanged = live.changes.edits.length > 0 || Object.keys(live.changes.instead).length > 0;
  if (!changes.length) return [regard.make("p", {}, "Nothing is predicted here: hide a word first.")];
  const worst = changes.reduce((best, one, i) => (one.moved > changes[best].moved ? i : best), 0), nodes = /** @type {Node[]} */ ([]);
  const mean = (/** @type {"before" | "after"} */ side) => Math.exp(changes.reduce((sum, one) => sum + Math.log(Math.max(one[side], 1e-12)), 0) / changes.length);
  const whose = changes.length > 1 ? "A token’s probability, on average (geometric mean)" : "Its probability", before = regard.make("b", {}, regard.percent(mean("before")));
  nodes.push(regard.make("p", { class: "lead" }, ...(isChanged ? [`${whose}: `, before, " before, ", regard.make("b", {}, regard.percent(mean("after"))), " after the change."]
    : [`${whose}: `, before, ". Change something, and see what becomes of it."])));
  if (written !== null && isChanged) {
    const isSame = written.trim() === state.data.answer.trim();
    nodes.push(regard.make("p", {}, "By itself the changed model would write: ", regard.make("b", { class: "written-now", dir: "auto" }, regard.make("bdi", {}, written || "nothing")), isSame ? " (the same)." : ""));
  }
  const line = regard.make("p", { class: "sentence small", dir: "auto" }), table = regard.scroll("Probabilities before and after");
  const show = (/** @type {number} */ index) => {
    table.replaceChildren(regard.changeTable(changes[index]));
    for (const button of line.querySelectorAll("button")) {
      const isIt = button.dataset.index === String(index);
      button.classList.toggle("pointed", isIt);
      button.setAttribute("aria-pressed", String(isIt));
    }
  };
  changes.forEach((one, index) => {
    const lost = Math.log2(Math.max(one.before, 1e-9) / Math.max(one.after, 1e-9)), color = regard.diverge(Math.max(-1, Math.min(1, -lost / 5)));
    const button = regard.make("button", { class: "token", "data-index": index, "data-before": one.before, "data-after": one.after, title: `${regard.percent(one.before)} → ${regard.percent(one.after)}`,
      "aria-label": `${regard.shown(one.token)}: ${regard.percent(one.before)} before, ${regard.percent(one.after)} after`, style: `background:${regard.css(color)};color:${regard.ink(color)}` }, regard.shown(one.token));
    for (const event of ["pointerenter", "focus", "click"]) button.addEventListener(event, () => show(index));
    line.append(button, " ");
  });
  nodes.push(line, regard.make("p", { class: "legend" }, "Orange: less likely than before; blue: more likely. Full colour is 5 bits. Point at a token for all that is likely in its place."), table);
  show(worst);
  return nodes;
};

regard.changeTable = (one) => {
  const cell = (/** @type {number} */ value, /** @type {string} */ kind) => regard.make("td", { class: "number" }, regard.percent(value), " ",
    regard.make("span", { class: "track" }, regard.make("i", { class: `bar ${kind}`, style: `width:${(100 * value).toFixed(1)}%` })));
  return regard.make("table", { class: "before-after" }, regard.make("tr", { class: "heads" }, ...["in its place", "before", "after", "change"].map((name, i) => regard.make("th", { scope: "col", class: i ? "number" : undefined }, name))),
    ...one.others.map(([token, before, after]) => regard.make("tr", { class: token === one.token ? "chosen" : undefined }, regard.make("th", { scope: "row" }, regard.make("bdi", {}, regard.shown(token))),
      cell(before, "old"), cell(after, ""), regard.changeCell(after - before))),
    regard.make("tr", { class: "units" }, regard.make("td", { colspan: 4 }, regard.make("small", {}, `${regard.percent(one.moved)} of all probability in this place went elsewhere. Change is in percentage points.`))));
};
