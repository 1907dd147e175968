"use strict";
// The page by keyboard.

// The keys that do something here.
regard.keysOf = (data, views) => [`Keys: 1–${Math.min(9, views.length)} views`, ...(Object.values(data.kinds).some(({ layers, heads }) => layers * heads > 1) && !data.isStory ? ["← → head", "↑ ↓ layer", "m mean", "k kind", "w words"] : []), "s scale", "+ − 0 zoom",
  ...(data.live ? ["u undo"] : []), "d dark"].join(" · ");

regard.press = (state, views, kinds, event) => {
  const { tagName } = /** @type {Element} */ (event.target);
  if (event.ctrlKey || event.metaKey || event.altKey || ["SELECT", "INPUT", "TEXTAREA"].includes(tagName)) return;
  const about = state.data.kinds[state.kind];
  let [layer, head] = state.key.includes("-") ? state.key.split("-").map(Number) : [1, 0];
  const turn = (/** @type {number} */ value, /** @type {number} */ step, /** @type {number} */ count) => ((value - 1 + step + count) % count) + 1;
  const digit = Number(event.key);
  if (digit >= 1 && digit <= views.length) state.view = views[digit - 1].name;
  else if (event.key === "ArrowRight" || event.key === "ArrowLeft") {
    head = head === 0 ? (event.key === "ArrowRight" ? 1 : about.heads) : turn(head, event.key === "ArrowRight" ? 1 : -1, about.heads);
    state.key = `${layer}-${head}`;
  } else if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    layer = head === 0 ? 1 : turn(layer, event.key === "ArrowDown" ? 1 : -1, about.layers);
    state.key = `${layer}-${Math.max(1, head)}`;
  } else if (event.key === "m") state.key = "mean";
  else if (event.key === "k") regard.chooseKind(state, kinds[(kinds.indexOf(state.kind) + 1) % kinds.length]);
  else if (event.key === "w") state.byWords = !state.byWords;
  else if (event.key === "s") state.scale = state.scale === "row" ? "absolute" : "row";
  else if (event.key === "u" && state.data.live) return state.data.live.undo();
  else if (event.key === "d") return regard.setTheme(regard.isDark() ? "light" : "dark");
  else if (["+", "=", "-", "0"].includes(event.key)) {
    if (event.key === "0") Object.assign(state, { zoom: 1, moveX: 0, moveY: 0 });
    else regard.zoom(state, event.key === "-" ? 0.8 : 1.25);
    return state.repaint();
  } else return;
  event.preventDefault();
  state.refresh();
};
