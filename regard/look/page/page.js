"use strict";
// The page: which kind, layer and head is shown, in which view; by mouse and by keyboard.
regard.show = (box, data = new regard.Data(regard.readHere)) => {
  if (box.listening) box.listening.abort(); // what was shown here before hears no more keys
  box.listening = new AbortController();
  const kinds = Object.keys(data.kinds), views = regard.viewsOf(data), before = box.state;
  /** @type {State} */
  const state = {
    data, kind: kinds[0], key: kinds[0] === "cross" && data.aligning ? "alignment" : "mean", view: views[0].name, cell: null, place: null, beside: "",
    byWords: "cross" in data.kinds && regard.hasWords(data.kinds.cross), zoom: 1, moveX: 0, moveY: 0, scale: "absolute", repaint: () => {}, refresh: () => {},
  };
  if (before) regard.follow(state, before, views);
  else if (regard.recalled) regard.follow(state, { ...state, ...regard.recalled.state }, views);
  const dark = window.matchMedia?.("(prefers-color-scheme: dark)").matches;
  if (!document.documentElement.dataset.theme) regard.setTheme(dark ? "dark" : "light");
  const tabs = regard.make("nav", { class: "views", "aria-label": "Views" }), tools = regard.make("div", { class: "tools" });
  const stage = regard.make("section", { class: "stage", tabindex: "-1" }), words = regard.make("div", { class: "words" });
  const held = regard.heldFocus(box), height = box.querySelector(".stage")?.clientHeight ?? 0;
  box.replaceChildren(
    regard.make("header", {}, regard.make("h1", {}, "regard"), regard.make("p", { class: "given", dir: "auto" }, data.text),
      data.answer && !data.isStory ? regard.make("p", { class: "answer", dir: "auto" }, data.answer) : ""),
    ...(data.notes || []).map((note) => regard.make("p", { class: "note", role: "note" }, `Note: ${note}`)),
    data.live ? regard.changesBar(data) : "", tabs, words, tools, stage, regard.make("footer", {}, regard.keysOf(data, views)));
  if (before?.view === state.view) stage.style.minHeight = `${height}px`; // nothing jumps while it is drawn
  state.refresh = () => {
    const focused = regard.heldFocus(box), view = views.find((one) => one.name === state.view) ?? views[0];
    tabs.replaceChildren(...regard.tabs(state, views));
    tools.replaceChildren(...regard.controls(state, view, kinds));
    words.replaceChildren(regard.says((view.says?.(state) ?? [""]).filter(Boolean)), ...(view.isPicture ? regard.pictureButtons(state) : []));
    stage.replaceChildren();
    stage.dataset.view = state.view;
    state.repaint = () => {};
    view.draw(state, stage);
    if (!stage.querySelector(".waits")) stage.style.minHeight = "";
    box.dataset.held = focused ?? "";
    regard.refocus(box, focused);
    regard.remember(state);
  };
  // What is shown first may come later in the file than this script.
  state.refresh();
  box.dataset.held = held ?? "";
  regard.refocus(box, held);
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", () => state.refresh());
  document.addEventListener("regard-theme", () => state.refresh(), { signal: box.listening.signal });
  document.addEventListener("keydown", (event) => regard.press(state, views, kinds, event), { signal: box.listening.signal });
  window.addEventListener?.("resize", regard.after(150, () => state.refresh()), { signal: box.listening.signal });
  box.state = state;
  return state;
};

// Whether words say more than subwords: of a script without spaces a sentence is one.
regard.hasWords = ({ rows, columns, row_words, column_words }) => [[rows, row_words], [columns, column_words]].every(([labels, words]) => {
  const tokens = words.filter((word) => word !== null);
  return !regard.spaceless.test(labels.join("")) || new Set(tokens).size > tokens.length / 3;
});

regard.viewsOf = (data) => regard.views.filter((view) => view.fits(data)).sort((a, b) => regard.groupNames.indexOf(a.group ?? "Attention") - regard.groupNames.indexOf(b.group ?? "Attention"));

regard.groupNames = ["Attention", "Inside", "Output"];

// The element that has the keyboard, by what it is for, and that of the same use after something was drawn again.
regard.heldFocus = (box) => (document.activeElement && box.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement).dataset.focus ?? null : null);

regard.refocus = (box, held) => {
  if (held) /** @type {HTMLElement | undefined} */ ([...box.querySelectorAll("[data-focus]")].find((one) => /** @type {HTMLElement} */ (one).dataset.focus === held))?.focus();
};

// The same choices as for what was shown here before, as far as they are there.
regard.follow = (state, before, views) => {
  const { view, scale, byWords, kind, key, cell, place, beside } = before;
  Object.assign(state, { scale, byWords, cell, place, beside }, views.some((one) => one.name === view) ? { view } : {});
  if (!(kind in state.data.kinds)) return;
  state.key = key;
  regard.chooseKind(state, kind);
};

regard.readHere = (name) => {
  const element = document.getElementById(`regard-${name}`);
  return element && (element.nextSibling || document.readyState !== "loading") ? element.textContent : null;
};

regard.tabs = (state, views) => regard.groupNames.flatMap((group) => {
  const own = views.filter((view) => (view.group ?? "Attention") === group);
  if (!own.length) return [];
  return [regard.make("div", { class: "group", role: "group", "aria-label": group }, regard.make("small", { "aria-hidden": "true" }, group),
    ...own.map((view) => regard.make("button", { class: "tab" + (view.name === state.view ? " chosen" : ""), "data-view": view.name, "data-focus": `tab-${view.name}`,
      "aria-current": view.name === state.view ? "page" : undefined, onclick: () => { state.view = view.name; state.refresh(); } }, view.title)))];
});

/** A choice among named values. */
regard.choose = (name, options, chosen, change, label = name) => regard.make("label", { class: "pick" }, regard.make("span", {}, label),
  regard.make("select", { "data-pick": name, "data-focus": `pick-${name}`, onchange: (event) => change(event.target.value) },
    ...options.map(([value, text]) => regard.make("option", { value, selected: value === chosen }, text))));

regard.mapNames = (state, isSingle) => {
  const about = state.data.kinds[state.kind], keys = isSingle ? [] : [["mean", "mean of all heads"]];
  if (state.kind === "cross" && state.data.aligning && !isSingle) keys.unshift(["alignment", "alignment heads"]);
  if (!state.data.isStory && !isSingle) keys.push(["rollout", "rollout"]);
  for (let layer = 1; layer <= about.layers; layer++) {
    for (let head = 1; head <= about.heads; head++) {
      const role = regard.bestRole(regard.rolesOf(state.data, state.kind, layer, head));
      keys.push([`${layer}-${head}`, `layer ${layer}, head ${head}${role && ` · ${role}`}`]);
    }
  }
  return keys;
};

// What can be chosen in a view.
regard.controls = (state, view, kinds) => {
  const found = /** @type {HTMLElement[]} */ ([]), { data } = state;
  const pick = (/** @type {string} */ name, /** @type {string} */ label, /** @type {string[][]} */ options, /** @type {string} */ chosen, /** @type {(value: string) => void} */ change) =>
    found.push(regard.choose(name, options, chosen, (value) => { change(value); state.refresh(); }, label));
  if (view.isMap && !data.isStory) {
    pick("kind", "attention", kinds.map((kind) => [kind, regard.kindName(kind)]), state.kind, (kind) => regard.chooseKind(state, kind));
    const about = data.kinds[state.kind];
    if (about.layers * about.heads > 1) pick("map", "heads", regard.mapNames(state, Boolean(view.isSingle)), state.key, (key) => { state.key = key; });
    if (!view.isSingle) {
      found.push(regard.make("button", { "data-switch": "words", "data-focus": "words", title: "A word may be cut into several tokens (subwords)",
        onclick: () => { state.byWords = !state.byWords; state.refresh(); } }, state.byWords ? "Show subwords" : "Show words"));
    }
  }
  if (view.isScaled) pick("scale", "colours", [["absolute", "from 0 to 1"], ["row", "per row"]], state.scale, (scale) => { state.scale = scale; });
  if (view.name === "matrix") found.push(...regard.besideControls(state));
  if (!regard.hasTheme) found.push(regard.themeButton());
  return found;
};

regard.themeButton = () => regard.make("button", { "data-switch": "theme", "data-focus": "theme", title: "Dark or light",
  onclick: (event) => {
    regard.setTheme(regard.isDark() ? "light" : "dark");
    event.target.textContent = regard.isDark() ? "☀ Light" : "☾ Dark";
  } }, regard.isDark() ? "☀ Light" : "☾ Dark");

regard.chooseKind = (state, kind) => {
  if (kind !== state.kind) Object.assign(state, { cell: null, beside: "" });
  state.kind = kind;
  if (state.key === "alignment" && kind !== "cross") state.key = "mean";
  const about = state.data.kinds[kind];
  const [layer, head] = state.key.split("-").map(Number);
  if (head && (layer > about.layers || head > about.heads)) state.key = "mean";
  Object.assign(state, { zoom: 1, moveX: 0, moveY: 0 });
};
