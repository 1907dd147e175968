"use strict";
// Interventions: parts off, a head's temperature, positions, the mask, another word; and what becomes of every prediction.
regard.views.push({
  name: "change", title: "Change it", key: "9", group: "Output",
  fits: (data) => Boolean(data.live?.isInside || (data.live && data.isStory)),
  says: (state) => (state.data.isStory
    ? ["Change the story, and see what becomes of the answer: move a sentence, leave it out, write another word.", "Probabilities before are those of the story as it was given; undo goes back step by step."]
    : ["Switch parts of the model off, make a head's attention sharper or flatter, take positions or the mask away, swap a word: every prediction is computed again.",
      "The output is forced to be the same tokens, so that their probabilities can be compared; below is what the changed model would write by itself.",
      "What is off writes nothing into the residual stream. A temperature divides a head's scores before softmax: 0 leaves the largest alone (argmax), ∞ makes attention uniform.",
      "A weight is set in “One cell”. All other views show the changed model too, until it is taken back."]),
  draw(state, box) {
    const live = /** @type {Live} */ (state.data.live);
    const board = state.data.isStory ? regard.storyBoard(state) : regard.make("section", { class: "card" }, regard.make("h2", {}, "What can be changed"), ...regard.board(state));
    const outcome = regard.make("section", { class: "card wide outcome" }, regard.make("h2", {}, "What becomes of the output"));
    box.append(regard.make("div", { class: "columns" }, board, outcome));
    const { given } = live;
    regard.later(outcome, regard.askJson("/api/changed", { before: given, after: { ...given, ...live.changes.instead, edits: live.changes.edits } }), (found) => regard.outcome(state, found));
  },
});

regard.toggleEdit = (live, edit) => {
  const same = (/** @type {Edit} */ one) => regard.writeEdit(one) === regard.writeEdit(edit), { edits } = live.changes;
  live.change(edits.some(same) ? edits.filter((one) => !same(one)) : [...edits, edit]);
};

// A switch for each part of the model.
regard.board = (state) => {
  const { data } = state, live = /** @type {Live} */ (data.live), parts = regard.partsOf(data.kinds);
  const isOff = (/** @type {string} */ name, /** @type {number} */ head = -1) => live.changes.edits.some((edit) => edit.what === "off" && edit.name === name && (edit.head ?? -1) === head);
  const toggle = (/** @type {string} */ label, /** @type {Edit} */ edit, /** @type {string} */ title) => regard.make("button", { class: "switch", role: "switch", "data-edit": regard.writeEdit(edit), "data-focus": regard.writeEdit(edit),
    "aria-checked": isOff(edit.name ?? "", edit.head) ? "false" : "true", "aria-label": title, title, onclick: () => regard.toggleEdit(live, edit) }, label);
  const blocks = parts.filter((part) => /\.blocks\.\d+$/.test(part.name)).map((block) => {
    const where = block.kind === "text" ? "" : `${block.kind} `, name = `${where}layer ${block.layer}`, own = parts.filter((part) => part.name.startsWith(`${block.name}.`));
    const lines = ["self_attention", "cross_attention", "feed_forward"].flatMap((piece) => own.filter((part) => part.name.endsWith(piece))).map((part) => {
      const [, label] = regard.subLayerName(part.name);
      return regard.make("div", {}, toggle(label, { what: "off", name: part.name }, `${name}, ${label}`),
        ...Array.from({ length: part.heads }, (_, head) => toggle(String(head + 1), { what: "off", name: part.name, head }, `${name}, ${label}, head ${head + 1}`)));
    });
    return regard.make("div", { class: "block", role: "group", "aria-label": name }, regard.make("div", {}, toggle(name, { what: "off", name: block.name }, `${name}, all of it`)), ...lines);
  });
  const flag = (/** @type {"positions" | "mask"} */ what, /** @type {string} */ label) => regard.make("button", { class: "switch", role: "switch", "data-edit": what, "data-focus": what,
    "aria-checked": live.changes.edits.some((edit) => edit.what === what) ? "false" : "true", onclick: () => regard.toggleEdit(live, { what }) }, label);
  return [regard.make("p", { class: "legend" }, "Filled is on; click to switch off. Numbers are heads."),
    regard.make("div", { class: "switches-of-all" }, flag("positions", "positions"), regard.isCausal(data) ? flag("mask", "causal mask") : ""),
    regard.make("div", { class: "board" }, ...blocks),
    regard.make("h2", {}, "Temperature of a head"), ...regard.temperature(state), ...regard.swapWords(state)];
};

// From argmax over 1 to uniform: the slider's middle is the model's own.
regard.temperatureAt = (place) => (place <= 0 ? 0 : place >= 1 ? Infinity : Math.abs(place - 0.5) < 0.001 ? 1 : 10 ** (4 * (place - 0.5)));
regard.temperaturePlace = (value) => (value === 0 ? 0 : value === Infinity ? 1 : Math.min(0.99, Math.max(0.01, 0.5 + Math.log10(value) / 4)));

regard.temperature = (state) => {
  const { data } = state, live = /** @type {Live} */ (data.live);
  if (!state.key.includes("-")) state.key = regard.firstHead(state);
  const [layer, head] = state.key.split("-").map(Number), name = regard.partsOf(data.kinds).find((part) => part.kind === state.kind && part.layer === layer && part.heads)?.name ?? "";
  const isThis = (/** @type {Edit} */ edit) => edit.what === "temperature" && edit.name === name && edit.head === head - 1, own = live.changes.edits.find(isThis);
  const slider = regard.make("input", { type: "range", min: 0, max: 1, step: 0.02, value: regard.temperaturePlace(own?.value ?? 1), "aria-label": "temperature", "data-focus": "temperature", list: "" });
  const readout = regard.make("output", {}, regard.temperatureName(own?.value ?? 1));
  slider.addEventListener("input", () => { readout.textContent = regard.temperatureName(regard.temperatureAt(Number(slider.value))); });
  slider.addEventListener("change", () => {
    const value = regard.temperatureAt(Number(slider.value)), others = live.changes.edits.filter((edit) => !isThis(edit));
    live.change(value === 1 ? others : [...others, { what: "temperature", name, head: head - 1, value }]);
  });
  const kinds = Object.keys(data.kinds).filter((kind) => ["cross", "encoder", "decoder", "text"].includes(kind));
  return [regard.make("div", { class: "tools" }, kinds.length > 1 ? regard.choose("kind", kinds.map((kind) => [kind, regard.kindName(kind)]), state.kind, (kind) => { regard.chooseKind(state, kind); state.refresh(); }, "attention") : "",
    regard.choose("head", regard.mapNames(state, true), state.key, (key) => { state.key = key; state.refresh(); })),
  regard.make("div", { class: "temperature" }, regard.make("small", {}, "argmax"), slider, regard.make("small", {}, "uniform"), readout)];
};

// Each word of the text that was read, in a field of its own.
regard.swapWords = (state) => {
  const live = /** @type {Live} */ (state.data.live), text = String(live.changes.instead.text ?? live.given.text), words = text.split(/\s+/).filter(Boolean);
  if (words.length > 60) return [];
  return [regard.make("h2", {}, "Swap a word that it reads"), regard.make("p", { class: "swap", dir: "auto" }, ...words.flatMap((word, place) => {
    const field = regard.make("input", { type: "text", value: word, size: Math.max(2, [...word].length), "aria-label": `word ${place + 1}`, "data-focus": `word-${place}`, dir: "auto" });
    field.addEventListener("change", () => {
      const next = words.map((one, i) => (i === place ? field.value.trim() : one)).filter(Boolean).join(" ");
      live.change(live.changes.edits.filter((edit) => edit.what !== "weight"), next && next !== live.given.text ? { text: next } : {});
    });
    return [field, " "];
  }))];
};

// Whether a model attends only to what came before: nothing else has weight, or the mask was taken away.
regard.isCausal = (data) => {
  const kind = "decoder" in data.kinds ? "decoder" : "text", values = data.map(kind, "mean"), width = data.kinds[kind].columns.length;
  const isMasked = values?.every((value, i) => i % width <= Math.floor(i / width) || value === 0) ?? false;
  return isMasked || (data.live?.changes.edits.some((edit) => edit.what === "mask") ?? false);
};

// A story whose sentences can be moved, left out and written anew.
regard.storyBoard = (state) => {
  const live = /** @type {Live} */ (state.data.live), sentences = state.data.kinds.hops.columns;
  const put = (/** @type {string[]} */ next) => { if (next.some((one) => one.trim())) live.change([], { story: next.filter((one) => one.trim()).join("\n") }); };
  const swap = (/** @type {number} */ i, /** @type {number} */ j) => { const next = [...sentences]; [next[i], next[j]] = [next[j], next[i]]; put(next); };
  return regard.make("section", { class: "card" }, regard.make("h2", {}, "The story"), regard.make("ol", { class: "sentences" }, ...sentences.map((sentence, i) => {
    const field = regard.make("input", { type: "text", value: sentence, dir: "auto", "aria-label": `sentence ${i + 1}`, "data-focus": `sentence-${i}` });
    field.addEventListener("change", () => put(sentences.map((one, j) => (j === i ? field.value : one))));
    const act = (/** @type {string} */ sign, /** @type {string} */ title, /** @type {() => void} */ work, /** @type {boolean} */ isOut) => regard.make("button", { "aria-label": `${title} sentence ${i + 1}`, title, "data-focus": `${title}-${i}`, onclick: work, disabled: isOut }, sign);
    return regard.make("li", {}, field, act("↑", "move up", () => swap(i, i - 1), i === 0), act("↓", "move down", () => swap(i, i + 1), i === sentences.length - 1),
      act("×", "leave out", () => put(sentences.filter((_, j) => j !== i)), sentences.length === 1));
  })), regard.make("div", {}, regard.make("button", { "data-act": "reverse", "data-focus": "reverse", onclick: () => put([...sentences].reverse()) }, "Reverse the order")));
};
