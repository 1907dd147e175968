"use strict";
// A model whose family has no script of its own: a text in, a text out, and a look inside where there is one.
regard.panels.plain = (model) => {
  const text = regard.make("textarea", { rows: 4, dir: "auto", placeholder: "Type a text …" }, model.given?.text ?? "");
  const output = regard.make("p", { class: "answer", dir: "auto", "aria-live": "polite" });
  const look = regard.lookBox("Type a text on the left.", ...(model.is_looked_into ? ["“Look inside” draws here what the model attends to."] : []));
  const answer = regard.newest(async (signal) => {
    regard.complain("");
    if (!text.value.trim()) return output.replaceChildren();
    const found = await regard.askJson(`/api/${model.task}`, { model: model.id, text: text.value.trim() }, signal);
    return output.replaceChildren(found.texts.map(String).join("\n"));
  });
  text.addEventListener("input", regard.after(250, answer));
  const inside = model.is_looked_into ? regard.make("button", { "data-act": "look", onclick: () => {
    if (text.value.trim()) look.show({ model: model.id, text: text.value.trim() });
  } }, "Look inside") : "";
  return regard.make("section", {}, regard.field("Text", text), output, inside, look.box);
};
