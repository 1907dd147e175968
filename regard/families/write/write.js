"use strict";
// A writer: text that streams on from a prompt, with sliders; then each token by how much of a surprise it was. Click a token
// for what else could stand there, and the text is written on from it.
regard.panels.write = (model) => {
  const prompt = regard.make("textarea", { rows: 4, dir: "auto", placeholder: "Begin a text …" }, model.given?.text ?? "");
  const out = regard.make("pre", { class: "written", dir: "auto", "aria-live": "polite", hidden: true });
  /** @type {(name: string, least: number, most: number, step: number, value: number) => { box: HTMLElement, value: () => number }} */
  const slider = (name, least, most, step, value) => {
    const readout = regard.make("output", {}, String(value));
    const input = regard.make("input", { type: "range", min: least, max: most, step, value, "aria-label": name });
    input.addEventListener("input", () => { readout.textContent = input.value; });
    return { box: regard.make("label", { class: "slider" }, regard.make("span", {}, name), input, readout), value: () => Number(input.value) };
  };
  const { temperature: warm, top_p: likely, tokens: many } = model.fields; // their defaults are the server's
  const temperature = slider("temperature", 0, 2, 0.05, warm.default), top = slider("top p", 0.05, 1, 0.05, likely.default);
  const tokens = slider("tokens", 10, 500, 10, many.default);
  const look = regard.lookBox("Begin a text on the left, and let the model write on: tokens come as they are drawn.", "What it attends to, and how likely each token was, is drawn here.");
  const choices = regard.make("div", { class: "choices" }), caption = regard.caption("Written", "click a token for what else could stand there");
  caption.hidden = true;
  /** @type {AbortController | null} */
  let running = null;

  const write = async (/** @type {string} */ from) => {
    running?.abort();
    const mine = running = new AbortController();
    regard.complain("");
    choices.replaceChildren();
    caption.hidden = out.hidden = false;
    out.textContent = from;
    try {
      const fields = { model: model.id, prompt: from, stream: true, temperature: temperature.value(), top_p: top.value(), max_tokens: tokens.value() };
      await regard.askStream("/v1/completions", fields, mine.signal, (event) => {
        if (event.error) return regard.complain(event.error.message);
        const before = out.textContent, part = event.choices[0].text;
        return out.append(regard.make("span", { "data-token": out.children.length, onclick: () => offer(before, part) }, part));
      });
      await look.show({ model: model.id, text: out.textContent.slice(0, 1500) });
    } catch (problem) {
      regard.report(problem);
    }
  };
  // Alternatives to a token, given the text before it.
  const offer = regard.newest(async (signal, before, part) => {
    const seen = await regard.askJson("/api/look", { model: model.id, text: before + part }, signal);
    /** @type {[string, number][]} */
    const found = seen.token_scores.at(-1)?.alternatives ?? [];
    choices.replaceChildren(regard.make("span", { class: "legend" }, `instead of “${regard.shown(part)}”: `),
      ...found.map(([token, probability]) => regard.make("button", { class: token === part ? "chosen" : "", "data-choice": token, title: regard.percent(probability),
        onclick: () => write(before + token) }, regard.shown(token))));
  });

  // Here in the page, a prompt is looked into while it is typed.
  const inspect = () => { if (regard.isHere && prompt.value.trim()) look.show({ model: model.id, text: prompt.value.slice(0, 1500) }); };
  prompt.addEventListener("input", regard.after(250, inspect));
  inspect();
  return regard.make("section", {}, regard.field("Prompt", prompt), regard.make("div", { class: "sliders" }, temperature.box, top.box, tokens.box),
    regard.make("div", { class: "choices" }, regard.make("button", { "data-act": "write", class: "main", onclick: () => write(prompt.value) }, "Write on"),
      regard.make("button", { onclick: () => running?.abort() }, "Stop")), caption, out, choices, look.box);
};
