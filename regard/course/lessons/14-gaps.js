"use strict";
// Gaps, pieces, and one word in two sentences, layer by layer.
course.experiments.gaps = (box, model) => {
  const { tokenizer, routes, config } = model, { width } = config;
  const pause = () => Promise.resolve();
  let gap = "The [MASK] reads the book.", sentences = ["The old dog sees a cat.", "My father has a dog."];
  const states = (/** @type {string} */ text) => {
    const ids = tokenizer.encode(text), taps = engine.makeTaps();
    model.model.read(ids, taps);
    return { ids, layers: taps.hidden.map((hidden) => engine.rows(hidden, width)) };
  };
  // Pieces that are in both sentences, and how alike their vectors are: in the table, and after each layer.
  const shared = (/** @type {string[]} */ [one, two]) => {
    const [a, b] = [states(one), states(two)];
    return a.ids.flatMap((id, place) => {
      const other = b.ids.indexOf(id);
      if (other < 0 || tokenizer.special.has(id) || a.ids.indexOf(id) < place) return [];
      return [{ name: tokenizer.tokens([id])[0], alike: [1, ...a.layers.map((layer, l) => engine.cosine(layer[place], b.layers[l][other]))] }];
    });
  };
  const { box: filled, show: showGap } = course.drawing(() => {
    const { text, gaps } = /** @type {{ text: string, gaps: { text: string, probability: number }[][] }} */ (routes["/api/fill"]({ text: gap, top: 5 }, pause, pause));
    return [regard.make("p", { class: "answer" }, text), ...gaps.map((some) => course.bars(some.map((one) => one.text), some.map((one) => one.probability))),
      course.note(`Pieces: ${tokenizer.tokens(tokenizer.encode(gap.replaceAll("[MASK]", ""))).map((one) => regard.shown(one)).join(" · ")}`)];
  });
  const { box: drawn, show } = course.drawing(() => {
    const found = shared(sentences);
    if (!found.length) throw new Error("the sentences share no piece; write a word into both");
    return [course.heat(found.map((one) => one.name), ["table", "input", ...found[0].alike.slice(2).map((_, l) => `layer ${l + 1}`)], found.map((one) => one.alike)), course.note("Cosine of the piece's vectors in the two sentences. The input has its position added.")];
  });
  box.append(course.input("text with gaps", gap, (value) => { gap = value; showGap(); }), filled,
    course.input("first sentence", sentences[0], (value) => { sentences = [value, sentences[1]]; show(); }), course.input("second sentence", sentences[1], (value) => { sentences = [sentences[0], value]; show(); }), drawn);
  showGap();
  show();
  return { measure() {
    const words = shared(["The old dog sees a cat.", "My father has a dog."]).sort((a, b) => b.name.length - a.name.length), found = words[0], last = found.alike[found.alike.length - 1];
    return { choice: last > 0.9999 ? 0 : 1, text: `“${regard.shown(found.name)}” in both sentences: cosine 1 in the table, ${course.number(last)} after the last layer.` };
  } };
};
