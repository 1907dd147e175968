"use strict";
// A filler: click a word to hide it, and see what may stand there.
regard.panels.fill = (model) => {
  const text = regard.make("input", { type: "text", dir: "auto", "aria-label": "Text", value: model.given?.text ?? "The old man reads a book." });
  const line = regard.make("p", { class: "sentence", dir: "auto" });
  const gaps = regard.make("div", { class: "gaps" });
  const look = regard.lookBox();
  const hidden = new Set();

  const fill = regard.newest(async (signal) => {
    regard.complain("");
    const words = text.value.split(/\s+/).filter(Boolean);
    line.replaceChildren(...words.flatMap((word, place) => [regard.make("button", {
      class: "word" + (hidden.has(place) ? " hidden" : ""), "data-word": place,
      onclick: () => { hidden.has(place) ? hidden.delete(place) : hidden.add(place); fill(); },
    }, hidden.has(place) ? "▢" : word), " "]));
    if (!hidden.size) return gaps.replaceChildren(regard.make("p", { class: "legend" }, "Click a word to hide it."));
    const masked = words.map((word, place) => (hidden.has(place) ? "[MASK]" : word)).join(" ");
    /** @type {{ text: string, gaps: { text: string, probability: number }[][] }} */
    const filled = await regard.askJson("/api/fill", { model: model.id, text: masked }, signal);
    gaps.replaceChildren(regard.make("p", { class: "answer", dir: "auto" }, filled.text), ...filled.gaps.map((candidates) =>
      regard.make("table", {}, ...candidates.map((one) => regard.make("tr", {}, regard.make("td", {}, regard.make("bdi", {}, one.text)),
        regard.make("td", { class: "number" }, regard.percent(one.probability)),
        regard.make("td", {}, regard.make("i", { class: "bar", style: `width:${(200 * one.probability).toFixed(1)}px` })))))));
    return look.show({ model: model.id, text: masked, why: regard.isHere });
  });
  text.addEventListener("input", regard.after(250, () => { hidden.clear(); fill(); }));
  fill();
  return regard.make("section", {}, text, line, gaps, look.box);
};
