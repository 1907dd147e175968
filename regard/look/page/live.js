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

/** A field under its name. */
regard.field = (label, input) => regard.make("label", { class: "field" }, regard.make("span", {}, label), input);

// A name over what a model gives, and a word on what can be done with it.
regard.caption = (name, hint = "") => regard.make("p", { class: "caption" }, name, hint ? regard.make("small", {}, ` · ${hint}`) : "");

// What asks on the left, what is seen of it on the right.
regard.desk = (panel) => {
  const look = panel.querySelector(".look");
  panel.classList.add("panel");
  return look ? regard.make("div", { class: "desk" }, panel, look) : panel;
};

// The views of a look, live, beside whatever asked for it. Here in the page, what is quick to compute is shown first, and
// the model can be changed. invitation: what is read there before.
regard.lookBox = (...invitation) => {
  const invites = regard.make("div", { class: "invites" }, ...invitation.map((text) => regard.make("p", {}, text)));
  const box = regard.make("section", { class: "look" }, invites);
  /** @type {Live} */
  const live = {
    isInside: false, given: {}, changes: { edits: [], instead: {} }, past: [],
    fields: () => ({ ...live.given, ...live.changes.instead, edits: live.changes.edits }),
    ask: (path, more) => regard.askJson(path, { ...live.fields(), ...more }),
    change: (edits, instead = live.changes.instead) => {
      live.past.push(live.changes);
      live.changes = { edits, instead };
      draw();
    },
    undo: () => {
      live.changes = live.past.pop() ?? live.changes;
      draw();
    },
  };
  const recalled = regard.recalled;
  let isFirst = true;
  const draw = regard.newest(async (signal) => {
    box.setAttribute("aria-busy", "true");
    if (invites.isConnected) invites.replaceChildren(regard.make("p", { class: "waits", role: "status" }, "Looking inside …"));
    try {
      return await look(signal);
    } finally {
      if (!signal.aborted) box.removeAttribute("aria-busy");
      if (!signal.aborted && invites.isConnected) invites.replaceChildren(...invitation.map((text) => regard.make("p", {}, text))); // it failed
    }
  });
  const look = async (/** @type {AbortSignal} */ signal) => {
    const fields = regard.isHere ? live.fields() : live.given;
    for (const why of regard.isHere && fields.why ? [false, true] : [fields.why]) {
      const data = new regard.LiveData(await regard.askJson("/api/look", { ...fields, why }, signal));
      live.isInside = regard.partsOf(data.kinds).length > 0;
      if (regard.isHere) data.live = live;
      regard.show(box, data);
      if (isFirst && regard.isHere && recalled) {
        isFirst = false;
        const { edits, instead } = recalled.changes, known = edits.filter((edit) => regard.isPossible(edit, data.kinds));
        if (known.length < edits.length || recalled.isOdd) regard.complain("The address of this page has changes that this model does not have; they were left out.");
        if (known.length || Object.keys(instead).length) return live.change(known, instead);
      }
      isFirst = false;
    }
    return undefined;
  };
  const show = (/** @type {Record<string, any>} */ fields) => {
    if (fields.text !== live.given.text || fields.story !== live.given.story) { // places of weights are of another text
      Object.assign(live, { changes: { edits: live.changes.edits.filter((edit) => edit.what !== "weight"), instead: {} }, past: [] });
    }
    live.given = fields;
    return draw();
  };
  return { box, show };
};

// What is changed, with a button for each to take it back.
regard.changesBar = (data) => {
  const live = /** @type {Live} */ (data.live), bar = regard.make("div", { class: "changes", role: "status" });
  const { edits, instead } = live.changes, swapped = Object.keys(instead);
  if (!edits.length && !swapped.length) return bar;
  const chip = (/** @type {string} */ name, /** @type {() => void} */ back) => regard.make("button", { class: "chip", title: "take this back", onclick: back }, name, " ", regard.make("b", { "aria-hidden": "true" }, "×"));
  bar.append(regard.make("strong", {}, "Changed model: "), ...edits.map((edit) => chip(regard.describeEdit(edit, data.kinds), () => live.change(edits.filter((one) => one !== edit)))),
    ...swapped.map((name) => chip(name === "story" ? "another story" : "another text", () => live.change(edits, {}))),
    regard.make("button", { "data-act": "undo", "data-focus": "undo", onclick: live.undo, disabled: !live.past.length }, "Undo"),
    regard.make("button", { "data-act": "reset", onclick: () => live.change([], {}) }, "As it was"));
  return bar;
};

// What is drawn when an answer is there.
regard.later = (box, answer, draw) => {
  const place = regard.make("div", { class: "waits" }, regard.make("p", { class: "legend", role: "status" }, "computing …"));
  box.append(place);
  answer.then((found) => {
    if (!place.isConnected) return;
    place.classList.remove("waits");
    const stage = /** @type {HTMLElement | null} */ (place.closest(".stage")), look = /** @type {HTMLElement | null} */ (place.closest(".look"));
    place.replaceChildren(...draw(found));
    if (stage) stage.style.minHeight = "";
    if (look) regard.refocus(look, look.dataset.held ?? null);
  }, regard.report);
};
