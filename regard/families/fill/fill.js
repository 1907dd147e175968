"use strict";
// A filler: click a word to hide it, and see what may stand there.
regard.panels.fill = (model) => {
  const text = regard.make("textarea", { rows: 2, dir: "auto", placeholder: "Type a sentence …" }, model.given?.text ?? "");
  const line = regard.make("p", { class: "sentence", dir: "auto" });
  const gaps = regard.make("div", { class: "gaps" });
  const look = regard.lookBox("Type a sentence on the left, and click one of its words to hide it.", "What the model puts there, and what it attends to for that, is drawn here.");
  const caption = regard.caption("Click a word to hide it");
  // What stands for a gap is one already; typed, it is short.
  const wordsOf = () => regard.wordsOf(text.value.replaceAll("[MASK]", "___"));
  const hidden = new Set(), find = () => {
    hidden.clear();
    wordsOf().forEach(({ word }, place) => { if (/^_{2,}/.test(word)) hidden.add(place); });
  };
  // A masked word leaves the signs after it.
  const hide = (/** @type {string} */ word, /** @type {string} */ mark) => word.replace(/^.+?(?=[.,;:!?…)»”"]*$)/u, mark);

  const fill = regard.newest(async (signal) => {
    regard.complain("");
    const words = wordsOf();
    line.replaceChildren(...words.flatMap(({ word }, place) => [regard.make("button", {
      class: "word" + (hidden.has(place) ? " hidden" : ""), "data-word": place,
      onclick: () => { hidden.has(place) ? hidden.delete(place) : hidden.add(place); fill(); },
    }, hidden.has(place) ? hide(word, "▢") : word), " "]));
    caption.hidden = !words.length;
    if (!hidden.size) return gaps.replaceChildren();
    const ends = words.map(({ word, start }) => start + word.length);
    const masked = words.map(({ word, start }, place) => (place && start > ends[place - 1] ? " " : "") + (hidden.has(place) ? hide(word, "[MASK]") : word)).join("");
    /** @type {{ text: string, gaps: { text: string, probability: number }[][] }} */
    const filled = await regard.askJson("/api/fill", { model: model.id, text: masked }, signal);
    gaps.replaceChildren(regard.make("p", { class: "answer", dir: "auto" }, filled.text), ...filled.gaps.map((candidates) =>
      regard.make("table", {}, ...candidates.map((one) => regard.make("tr", {}, regard.make("td", {}, regard.make("bdi", {}, one.text)),
        regard.make("td", { class: "number" }, regard.percent(one.probability)),
        regard.make("td", {}, regard.probabilityBar(one.probability)))))));
    return look.show({ model: model.id, text: masked, why: regard.isHere });
  });
  text.addEventListener("input", regard.after(250, () => { find(); fill(); }));
  find();
  fill();
  return regard.make("section", {}, regard.field("Text", text), caption, line, gaps, look.box);
};
