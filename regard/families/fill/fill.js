"use strict";
// A filler: click a word to hide it, and see what may stand there.
regard.panels.fill = (model) => {
  const text = regard.make("textarea", { rows: 2, dir: "auto", placeholder: "Type a sentence …" }, model.given?.text ?? "");
  const line = regard.make("p", { class: "sentence", dir: "auto" });
  const gaps = regard.make("div", { class: "gaps" });
  const look = regard.lookBox("Type a sentence on the left, and click one of its words to hide it.", "What the model puts there, and what it attends to for that, is drawn here.");
  const caption = regard.caption("Click a word to hide it");
  const hidden = new Set(text.value.split(/\s+/).filter(Boolean).flatMap((word, place) => (/^(\[MASK\]|_+|▢)/.test(word) ? [place] : []))); // as in an example

  const fill = regard.newest(async (signal) => {
    regard.complain("");
    const words = text.value.split(/\s+/).filter(Boolean);
    line.replaceChildren(...words.flatMap((word, place) => [regard.make("button", {
      class: "word" + (hidden.has(place) ? " hidden" : ""), "data-word": place,
      onclick: () => { hidden.has(place) ? hidden.delete(place) : hidden.add(place); fill(); },
    }, hidden.has(place) ? "▢" : word), " "]));
    caption.hidden = !words.length;
    if (!hidden.size) return gaps.replaceChildren();
    const masked = words.map((word, place) => (hidden.has(place) ? "[MASK]" : word)).join(" ");
    /** @type {{ text: string, gaps: { text: string, probability: number }[][] }} */
    const filled = await regard.askJson("/api/fill", { model: model.id, text: masked }, signal);
    gaps.replaceChildren(regard.make("p", { class: "answer", dir: "auto" }, filled.text), ...filled.gaps.map((candidates) =>
      regard.make("table", {}, ...candidates.map((one) => regard.make("tr", {}, regard.make("td", {}, regard.make("bdi", {}, one.text)),
        regard.make("td", { class: "number" }, regard.percent(one.probability)),
        regard.make("td", {}, regard.probabilityBar(one.probability)))))));
    return look.show({ model: model.id, text: masked, why: regard.isHere });
  });
  text.addEventListener("input", regard.after(250, () => { hidden.clear(); fill(); }));
  fill();
  return regard.make("section", {}, regard.field("Text", text), caption, line, gaps, look.box);
};
