"use strict";
// A writer: text that streams on from a prompt, with sliders; then each token by how much of a surprise it was.
regard.panels.write = (model) => {
  const prompt = regard.make("textarea", { rows: 4, dir: "auto", "aria-label": "Prompt", placeholder: "Begin a text …" }, model.given?.text ?? "");
  const out = regard.make("pre", { class: "written", dir: "auto", "aria-live": "polite" });
  /** @type {(name: string, least: number, most: number, step: number, value: number) => { box: HTMLElement, value: () => number }} */
  const slider = (name, least, most, step, value) => {
    const readout = regard.make("output", {}, String(value));
    const input = regard.make("input", { type: "range", min: least, max: most, step, value, "aria-label": name });
    input.addEventListener("input", () => { readout.textContent = input.value; });
    return { box: regard.make("label", {}, `${name} `, input, " ", readout), value: () => Number(input.value) };
  };
  const { temperature: warm, top_p: likely, tokens: many } = model.fields; // their defaults are the server's
  const temperature = slider("temperature", 0, 2, 0.05, warm.default), top = slider("top p", 0.05, 1, 0.05, likely.default);
  const tokens = slider("tokens", 10, 500, 10, many.default);
  const look = regard.lookBox();
  /** @type {AbortController | null} */
  let running = null;

  const write = async () => {
    running?.abort();
    const mine = running = new AbortController();
    regard.complain("");
    out.textContent = prompt.value;
    try {
      const fields = { model: model.id, prompt: prompt.value, stream: true, temperature: temperature.value(), top_p: top.value(), max_tokens: tokens.value() };
      await regard.askStream("/v1/completions", fields, mine.signal, (event) => {
        if (event.error) regard.complain(event.error.message);
        else out.append(event.choices[0].text);
      });
      await look.show({ model: model.id, text: out.textContent.slice(0, 1500) });
    } catch (problem) {
      regard.report(problem);
    }
  };
  return regard.make("section", {}, prompt, regard.make("div", { class: "sliders" }, temperature.box, top.box, tokens.box),
    regard.make("button", { "data-act": "write", onclick: write }, "Write"),
    regard.make("button", { onclick: () => running?.abort() }, "Stop"), out, look.box);
};
