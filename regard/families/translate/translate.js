"use strict";
// A translator: type and read along; point at words; click one for what else could stand there, and take it from there.
regard.panels.translate = (model) => {
  const source = regard.make("textarea", { rows: 4, dir: "auto", "aria-label": "Source", placeholder: `Type ${model.source} …` }, model.given?.text ?? "");
  const target = regard.make("p", { class: "sentence", dir: "auto", "aria-live": "polite" });
  const echo = regard.make("p", { class: "sentence", dir: "auto" });
  const choices = regard.make("div", { class: "choices" }), tree = regard.make("div", { class: "tree" });
  const look = regard.lookBox();
  let prefix = "";

  const show = (/** @type {Translated} */ found) => {
    const words = found.text.split(/\s+/).filter(Boolean), sources = found.source_tokens.join("").split(/\s+/).filter(Boolean);
    const mine = sources.map((word) => regard.make("span", { class: "token" }, word));
    const theirs = words.map((word, place) => regard.make("span", { class: "token", tabindex: "0", "data-word": place,
      onclick: () => offer(words, place) }, word));
    const light = (/** @type {string} */ side, /** @type {number} */ place, /** @type {boolean} */ isOn) => {
      for (const [s, t] of found.alignment) {
        if ((side === "target" ? t : s) === place) (side === "target" ? mine[s] : theirs[t])?.classList.toggle("lit", isOn);
      }
    };
    for (const side of ["source", "target"]) {
      (side === "target" ? theirs : mine).forEach((span, place) => {
        for (const name of ["pointerenter", "focus"]) span.addEventListener(name, () => light(side, place, true));
        for (const name of ["pointerleave", "blur"]) span.addEventListener(name, () => light(side, place, false));
      });
    }
    echo.replaceChildren(...mine.flatMap((span) => [span, " "]));
    target.replaceChildren(...theirs.flatMap((span) => [span, " "]));
    tree.replaceChildren(regard.make("h2", {}, "Best ways to say it"), regard.beamTree([found, ...found.alternatives]));
  };

  const translate = regard.newest(async (signal) => {
    const text = source.value.trim();
    regard.complain("");
    choices.replaceChildren();
    if (!text) return [target, echo, tree].forEach((box) => box.replaceChildren());
    const found = await regard.askJson("/api/translate", { model: model.id, text, n_best: 4, prefix }, signal);
    show(found.translations[0]);
    if (regard.isHere || look.box.hasChildNodes()) inspect();
  });

  // Alternatives at a place, given the words before it.
  const offer = regard.newest(async (signal, words, place) => {
    const before = words.slice(0, place).join(" ");
    const found = await regard.askJson("/api/translate", { model: model.id, text: source.value.trim(), n_best: 8, beam: 8, prefix: before }, signal);
    const all = [found.translations[0], ...found.translations[0].alternatives];
    const next = [...new Set(all.map((one) => one.text.split(/\s+/).filter(Boolean)[place]).filter(Boolean))];
    choices.replaceChildren(regard.make("span", { class: "legend" }, before ? `after “${before}”: ` : "at the beginning: "),
      ...next.map((word) => regard.make("button", { class: word === words[place] ? "chosen" : "", "data-choice": word,
        onclick: () => { prefix = `${before} ${word}`.trim(); translate(); } }, word)),
      regard.make("button", { onclick: () => { prefix = ""; translate(); } }, "let it choose"));
  });

  source.addEventListener("input", regard.after(250, () => { prefix = ""; translate(); }));
  const inspect = () => {
    const translation = target.textContent.trim();
    if (translation) look.show({ model: model.id, text: source.value.trim(), target: translation, why: true });
  };
  const inside = regard.isHere ? "" : regard.make("button", { "data-act": "look", onclick: inspect }, "Look inside");
  if (source.value) translate();
  return regard.make("section", {}, source, echo, target, choices, inside, tree, look.box);
};

// Translations that begin alike share their beginning: a tree, with the score of each end.
regard.beamTree = (found) => {
  /** @returns {BeamNode} */
  const node = () => ({ next: new Map(), scores: [] });
  const root = node();
  for (const one of found) {
    let place = root;
    for (const word of one.text.split(/\s+/).filter(Boolean)) {
      if (!place.next.has(word)) place.next.set(word, node());
      place = place.next.get(word) ?? place;
    }
    place.scores.push(one.score);
  }
  /** @type {(place: BeamNode) => HTMLElement} */
  const draw = (place) => regard.make("ul", {}, ...[...place.next].map(([word, below]) => {
    const run = [word];
    while (below.next.size === 1 && !below.scores.length) { // a run of words without a choice stays on one line
      const [[more, next]] = below.next;
      run.push(more);
      below = next;
    }
    const score = below.scores.length && below.scores[0] !== null ? regard.make("small", {}, ` ${below.scores[0].toFixed(2)}`) : "";
    return regard.make("li", {}, regard.make("bdi", {}, run.join(" ")), score, below.next.size ? draw(below) : "");
  }));
  return draw(root);
};
