"use strict";
// An answerer: change the facts of a story, and see the hops and the answer move.
regard.panels.answer = (model) => {
  const story = regard.make("textarea", { rows: 7, dir: "auto", placeholder: "Write a sentence on each line …" }, model.given?.story ?? "");
  const question = regard.make("input", { type: "text", dir: "auto", placeholder: "Ask about it …", value: model.given?.text ?? "" });
  const output = regard.make("p", { class: "answer", "aria-live": "polite" });
  const look = regard.lookBox("Write a story on the left, a sentence on each line, and a question.", "Which sentences each hop attends to on its way to the answer, and what the answer loses without each, is drawn here.");
  const answer = regard.newest(async (signal) => {
    regard.complain("");
    if (!story.value.trim() || !question.value.trim()) return;
    const fields = { model: model.id, story: story.value };
    const found = await regard.askJson("/api/answer", { ...fields, question: question.value.trim() }, signal);
    output.replaceChildren(regard.make("strong", {}, found.text), ` ${regard.percent(found.probability)}`,
      found.abstained ? regard.make("small", {}, " the story has no answer") : "",
      found.unknown.length ? regard.make("small", {}, ` never seen: ${found.unknown.join(", ")}`) : "");
    await look.show({ ...fields, text: question.value.trim(), why: true });
  });
  for (const box of [story, question]) box.addEventListener("input", regard.after(250, answer));
  answer();
  return regard.make("section", {}, regard.field("Story", story), regard.field("Question", question), output, look.box);
};
