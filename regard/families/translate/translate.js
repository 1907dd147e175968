"use strict";
// A translator: type and read along; point at words; click one for what else could stand there, and take it from there.
regard.panels.translate = (model) => {
  const names = [regard.language(model.source) || "Source", regard.language(model.target) || "Translation"];
  const source = regard.make("textarea", { rows: 3, dir: "auto", placeholder: `Type a sentence in ${names[0]} …` }, model.given?.text ?? "");
  const target = regard.make("p", { class: "sentence", dir: "auto", "aria-live": "polite" });
  const echo = regard.make("p", { class: "sentence", dir: "auto", hidden: regard.isHere }); // in the page, the view of the text shows what is linked
  const choices = regard.make("div", { class: "choices" }), tree = regard.make("details", { class: "tree", open: window.innerWidth > 860, hidden: true });
  const caption = regard.caption(names[1], "click a word for what else could stand there");
  caption.hidden = true;
  const look = regard.lookBox("Type on the left: the translation follows.", "Click one of its words for what else could stand there, and the rest is translated anew from it.",
    regard.isHere ? "What the model attends to, how likely each word was, and what becomes of it when you change the model, is drawn here." : "“Look inside” draws here what the model attends to, how likely each word was, and what the translation depends on.");
  let prefix = "";

  const show = (/** @type {Translated} */ found) => {
    const words = regard.wordsOf(found.text), sources = found.source_tokens.join("").split(/\s+/).filter(Boolean);
    const mine = sources.map((word) => regard.make("span", { class: "token" }, word));
    const theirs = words.map(({ word, start }, place) => regard.make("span", { class: "token", tabindex: "0", "data-word": place,
      onclick: () => offer(found.text.slice(0, start), word) }, word));
    const blanks = words.map(({ word, start }) => found.text.slice(0, start + word.length).split(/\s+/).filter(Boolean).length - 1); // the place of each among those between blanks
    const light = (/** @type {string} */ side, /** @type {number} */ place, /** @type {boolean} */ isOn) => {
      for (const [s, t] of found.alignment) {
        if (side === "target" && t === blanks[place]) mine[s]?.classList.toggle("lit", isOn);
        if (side === "source" && s === place) theirs.forEach((span, i) => { if (blanks[i] === t) span.classList.toggle("lit", isOn); });
      }
    };
    for (const side of ["source", "target"]) {
      (side === "target" ? theirs : mine).forEach((span, place) => {
        for (const name of ["pointerenter", "focus"]) span.addEventListener(name, () => light(side, place, true));
        for (const name of ["pointerleave", "blur"]) span.addEventListener(name, () => light(side, place, false));
      });
    }
    echo.replaceChildren(...mine.flatMap((span) => [span, " "]));
    target.replaceChildren(...theirs.flatMap((span, place) => [/\s$/.test(found.text.slice(0, words[place].start)) ? " " : "", span]));
    caption.hidden = tree.hidden = false;
    tree.replaceChildren(regard.make("summary", {}, "Best translations", regard.make("small", {}, " · log-probability; 0 would be certain")), regard.beamTree([found, ...found.alternatives]));
  };

  const translate = regard.newest(async (signal) => {
    const text = source.value.trim();
    regard.complain("");
    choices.replaceChildren();
    inside.disabled = caption.hidden = tree.hidden = !text;
    if (!text) return [target, echo, tree].forEach((box) => box.replaceChildren());
    const found = await regard.askJson("/api/translate", { model: model.id, text, n_best: 4, prefix }, signal);
    show(found.translations[0]);
    if (regard.isHere || look.box.state) inspect();
  });

  // Alternatives at a place, given the words before it.
  const offer = regard.newest(async (signal, /** @type {string} */ start, /** @type {string} */ chosen) => {
    const before = start.trimEnd(), found = await regard.askJson("/api/translate", { model: model.id, text: source.value.trim(), n_best: 8, beam: 8, prefix: before }, signal);
    const all = [found.translations[0], ...found.translations[0].alternatives];
    const next = [...new Set(all.map((one) => regard.wordsOf(one.text.slice(before.length))[0]?.word).filter(Boolean))];
    choices.replaceChildren(regard.make("span", { class: "legend" }, before ? `after “${before}”: ` : "at the beginning: "),
      ...next.map((word) => regard.make("button", { class: word === chosen ? "chosen" : "", "data-choice": word,
        onclick: () => { prefix = (start + word).trim(); translate(); } }, word)),
      regard.make("button", { onclick: () => { prefix = ""; translate(); } }, "as the model would"));
  });

  source.addEventListener("input", regard.after(250, () => { prefix = ""; translate(); }));
  const inspect = () => {
    const translation = target.textContent.trim();
    if (translation) look.show({ model: model.id, text: source.value.trim(), target: translation, why: true });
  };
  const inside = regard.make("button", { "data-act": "look", class: "main", hidden: regard.isHere, disabled: true, onclick: inspect }, "Look inside");
  if (source.value) translate();
  return regard.make("section", {}, regard.field(names[0], source), echo, caption, target, choices, inside, tree, look.box);
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
    const score = below.scores.length && below.scores[0] !== null ? regard.make("small", {}, ` ${regard.number(below.scores[0], 2)}`) : "";
    return regard.make("li", {}, regard.make("bdi", {}, run.join(" ")), score, below.next.size ? draw(below) : "");
  }));
  return draw(root);
};
