"use strict";
// What the page says about what it shows: names of kinds and of their two sides, one sentence for each view, more behind it.

regard.language = (code) => {
  try {
    return (code && new Intl.DisplayNames(["en"], { type: "language" }).of(code)) || "";
  } catch {
    return ""; // not the code of a language
  }
};

// Who attends (rows: the queries) and what is attended to (columns: the keys).
regard.axes = (kind, byWords) => {
  const source = regard.language(regard.about?.source), target = regard.language(regard.about?.target), unit = byWords ? "words" : "subwords";
  const mine = source ? `${source} ${unit}` : `${unit} of the source`, theirs = target ? `${target} ${unit}` : `${unit} of the translation`;
  /** @type {Record<string, [string, string]>} */
  const sides = {
    cross: [theirs, mine], encoder: [mine, mine], decoder: [theirs, theirs], text: [`${unit} of the text`, `${unit} of the text`],
    hops: ["hops", "sentences of the story"], words: ["labels", `${unit} of the text`], labels: [`${unit} of the text`, "labels"],
  };
  const [rows, columns] = sides[kind] ?? ["rows", "columns"];
  return { rows, columns };
};

regard.kindName = (kind) => ({
  cross: "translation → source", encoder: "source → itself", decoder: "translation → itself", text: "text → itself", words: "labels → words", labels: "words → labels",
}[kind] ?? kind);

regard.kindSays = (kind) => ({
  cross: "Cross-attention: each step of the decoder, which writes the translation, attends to the source that the encoder has read.",
  encoder: "Self-attention of the encoder: the words of the source attend to each other.",
  decoder: "Self-attention of the decoder: each step attends to what is written so far; later words are masked.",
  text: "Self-attention: the tokens of the text attend to each other.",
  words: "Each label has one map over the words of the text, by which it weighs them. There are no layers of heads here, so nothing has a role such as “previous” or “aligning”.",
  labels: "How much each word stands for each label.",
}[kind] ?? "");

regard.keyName = (state) => {
  const [layer, head] = state.key.split("-");
  if (head) return `layer ${layer}, head ${head}`;
  return ({ alignment: "the heads that align words", mean: "mean of all heads", rollout: "rollout through all layers" })[state.key] ?? state.key;
};

// A view's sentence, with the rest behind "more".
regard.says = ([short, ...more]) => {
  const words = regard.make("p", { class: "says" }, short);
  if (!more.length) return words;
  return regard.make("details", { class: "says" }, regard.make("summary", {}, regard.make("span", {}, short), " ", regard.make("span", { class: "link" }, "more")),
    ...more.map((text) => regard.make("p", {}, text)));
};

regard.phrases = {
  maps: "An attention weight is between 0 and 1, and each row adds up to 1. “Alignment heads” is the mean of the heads whose attention matches word alignment best; " +
    "“rollout” follows attention through all layers, residual connections included. </s> is the end of a text, where heads often park attention that they have no use for.",
  point: (state) => (state.data.live?.isInside ? "Point at a cell for its weight; click it to see how that came about." : "Point at a cell for its weight."),
};
