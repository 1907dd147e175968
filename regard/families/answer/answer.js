"use strict";
// An answerer: change the facts of a story, and see the hops and the answer move.
regard.panels.answer = (model) => {
  const tale = "Brian is a frog.\nLily is gray.\nBrian is yellow.\nJulius is green.\nGreg is a frog.";
  const story = regard.make("textarea", { rows: 7, dir: "auto", "aria-label": "Story" }, model.given?.story ?? tale);
  const question = regard.make("input", { type: "text", dir: "auto", "aria-label": "Question", value: model.given?.text ?? "What color is Greg?" });
  const output = regard.make("p", { class: "answer", "aria-live": "polite" });
  const look = regard.lookBox();
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
  return regard.make("section", {}, story, question, output, look.box);
};
