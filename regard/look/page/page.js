"use strict";
// The page: which kind, layer and head is shown, in which view; by mouse and by keyboard.
regard.show = (box, data = new regard.Data(regard.readHere)) => {
  if (box.listening) box.listening.abort(); // what was shown here before hears no more keys
  box.listening = new AbortController();
  const kinds = Object.keys(data.kinds);
  const views = regard.views.filter((view) => view.fits(data));
  const state = {
    data, kind: kinds[0], key: kinds[0] === "cross" && data.aligning ? "alignment" : "mean", view: views[0].name,
    byWords: "cross" in data.kinds, zoom: 1, moveX: 0, moveY: 0, scale: "absolute", repaint: () => {}, refresh: () => {},
  };
  if (box.state) regard.follow(state, box.state, views);
  const dark = window.matchMedia?.("(prefers-color-scheme: dark)").matches;
  if (!document.documentElement.dataset.theme) regard.setTheme(dark ? "dark" : "light");
  const bar = regard.make("nav", {}), stage = regard.make("section", { class: "stage" });
  box.replaceChildren(
    regard.make("header", {}, regard.make("h1", {}, "regard"),
      regard.make("p", { class: "given", dir: "auto" }, data.text), data.answer && !data.isStory
        ? regard.make("p", { class: "answer", dir: "auto" }, data.answer) : "",
      ...(data.notes || []).map((note) => regard.make("p", { class: "note", role: "note" }, `Note: ${note}`))),
    bar, stage, regard.make("footer", {}, "Keys: 1–7 views · ← → head · ↑ ↓ layer · m mean · k kind · w words · s scale · + − 0 zoom · d dark"));
  state.refresh = () => {
    bar.replaceChildren(...regard.controls(state, views, kinds));
    stage.replaceChildren();
    stage.dataset.view = state.view;
    state.repaint = () => {};
    views.find((view) => view.name === state.view)?.draw(state, stage);
  };
  // What is shown first may come later in the file than this script.
  state.refresh();
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => state.refresh());
  document.addEventListener("regard-theme", () => state.refresh(), { signal: box.listening.signal });
  document.addEventListener("keydown", (event) => regard.press(state, views, kinds, event), { signal: box.listening.signal });
  box.state = state;
  return state;
};

// The same choices as for what was shown here before, as far as they are there.
regard.follow = (state, before, views) => {
  const { view, scale, byWords, kind, key } = before;
  Object.assign(state, { scale, byWords }, views.some((one) => one.name === view) ? { view } : {});
  if (!(kind in state.data.kinds)) return;
  state.key = key;
  regard.chooseKind(state, kind);
};

regard.readHere = (name) => {
  const element = document.getElementById(`regard-${name}`);
  return element && (element.nextSibling || document.readyState !== "loading") ? element.textContent : null;
};

regard.controls = (state, views, kinds) => {
  const about = state.data.kinds[state.kind];
  /** @type {(name: string, options: string[][], chosen: string, change: (value: string) => void) => HTMLElement} */
  const choose = (name, options, chosen, change) => regard.make("select", { "aria-label": name, "data-pick": name,
    onchange: (event) => { change(event.target.value); state.refresh(); } },
  ...options.map(([value, label]) => regard.make("option", { value, selected: value === chosen }, label)));
  const keys = [["mean", "mean of all heads"]];
  if (state.kind === "cross" && state.data.aligning) keys.unshift(["alignment", "alignment heads"]);
  if (!state.data.isStory) keys.push(["rollout", "rollout"]);
  for (let layer = 1; layer <= about.layers; layer++) {
    for (let head = 1; head <= about.heads; head++) {
      const role = regard.bestRole(regard.rolesOf(state.data, state.kind, layer, head));
      keys.push([`${layer}-${head}`, `layer ${layer}, head ${head}${role && ` · ${role}`}`]);
    }
  }
  const tabs = views.map((view) => regard.make("button", {
    class: "tab" + (view.name === state.view ? " chosen" : ""), "data-view": view.name,
    onclick: () => { state.view = view.name; state.refresh(); },
  }, view.title));
  const rest = state.data.isStory ? [] : [
    choose("kind", kinds.map((kind) => [kind, kind]), state.kind, (kind) => regard.chooseKind(state, kind)),
    choose("map", keys, state.key, (key) => { state.key = key; }),
    regard.make("button", { "data-switch": "words", onclick: () => { state.byWords = !state.byWords; state.refresh(); } },
      state.byWords ? "words" : "subwords"),
  ];
  if (views.find((view) => view.name === state.view)?.isScaled) {
    rest.push(choose("scale", [["absolute", "scale: absolute"], ["row", "scale: per row"]], state.scale, (scale) => { state.scale = scale; }));
  }
  const theme = regard.make("button", { "data-switch": "theme", title: "dark or light",
    onclick: () => regard.setTheme(regard.isDark() ? "light" : "dark") }, regard.isDark() ? "☀" : "☾");
  return [...tabs, ...rest, theme];
};

regard.chooseKind = (state, kind) => {
  state.kind = kind;
  if (state.key === "alignment" && kind !== "cross") state.key = "mean";
  const about = state.data.kinds[kind];
  const [layer, head] = state.key.split("-").map(Number);
  if (head && (layer > about.layers || head > about.heads)) state.key = "mean";
  Object.assign(state, { zoom: 1, moveX: 0, moveY: 0 });
};

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
  else if (event.key === "d") regard.setTheme(regard.isDark() ? "light" : "dark");
  else if (["+", "=", "-", "0"].includes(event.key)) {
    if (event.key === "0") Object.assign(state, { zoom: 1, moveX: 0, moveY: 0 });
    else regard.zoom(state, event.key === "-" ? 0.8 : 1.25);
    return state.repaint();
  } else return;
  event.preventDefault();
  state.refresh();
};
