"use strict";
// A classifier: type a text, see its labels with their probabilities, and what each word is worth.
regard.panels.classify = (model) => {
  const text = regard.make("textarea", { rows: 4, dir: "auto", placeholder: "Type a text …" }, model.given?.text ?? "");
  const output = regard.make("p", { class: "answer", "aria-live": "polite" });
  const labels = regard.make("table", {});
  const look = regard.lookBox("Type a text on the left: its label follows.", "Which words each label weighs, and what the label depends on, is drawn here.");
  const classify = regard.newest(async (signal) => {
    regard.complain("");
    if (!text.value.trim()) { output.replaceChildren(); labels.replaceChildren(); return; }
    /** @type {{ texts: { label: string, labels: { name: string, probability: number }[], is_unlike: boolean }[] }} */
    const found = await regard.askJson("/api/classify", { model: model.id, text: text.value }, signal);
    const [one] = found.texts;
    output.replaceChildren(regard.make("strong", {}, one.label),
      one.is_unlike ? regard.make("small", {}, " most of its words were never seen in training") : "");
    labels.replaceChildren(...one.labels.map((label) => regard.make("tr", {}, regard.make("td", {}, regard.make("bdi", {}, label.name)),
      regard.make("td", { class: "number" }, regard.percent(label.probability)),
      regard.make("td", {}, regard.probabilityBar(label.probability)))));
    await look.show({ model: model.id, text: text.value, why: true });
  });
  text.addEventListener("input", regard.after(250, classify));
  classify();
  return regard.make("section", {}, regard.field("Text", text), output, labels, look.box);
};
