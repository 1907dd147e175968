"use strict";
// The page: one tab for each model and each training that is served. What a model's tab shows is its family's script.
regard.load = (script) => new Promise((done, failed) => {
  const tag = regard.make("script", { src: script });
  tag.addEventListener("load", done);
  tag.addEventListener("error", () => failed(new Error(`${script} cannot be loaded`)));
  document.head.append(tag);
});

// Models that can stand beside one: those of its family.
regard.othersOf = (models, model) => new Map(models.filter((other) => other !== model && other.task === model.task && (other.is_looked_into || other.is_shared))
  .map((other) => [other.id, (path, fields, signal) => regard.askJson(path, { ...fields, model: other.id }, signal)]));

(async () => {
  const box = document.querySelector("main") ?? document.body;
  const dark = window.matchMedia("(prefers-color-scheme: dark)").matches;
  regard.setTheme(dark ? "dark" : "light");
  const trouble = regard.make("p", { id: "trouble", role: "alert", hidden: true });
  const tabs = regard.make("nav", { class: "models" }), stage = regard.make("div", {});
  regard.hasTheme = true;
  box.append(regard.make("header", {}, regard.make("h1", {}, "regard"), regard.make("div", { class: "tools" }, regard.tourButton(box), regard.themeButton())), tabs, trouble, stage);
  box.classList.add("model");
  const open = (/** @type {string} */ label, /** @type {() => HTMLElement} */ draw) => {
    const tab = regard.make("button", { class: "tab", "data-model": label, onclick: () => {
      for (const other of tabs.children) other.classList.toggle("chosen", other === tab);
      regard.complain("");
      stage.replaceChildren(draw());
    } }, label);
    tabs.append(tab);
    return tab;
  };
  try {
    /** @type {any[]} */
    const models = await regard.askJson("/api/models"), runs = await regard.askJson("/api/runs");
    regard.runShared(models);
    for (const script of new Set(models.map((model) => model.script).filter(Boolean))) await regard.load(script);
    for (const model of models) {
      const draw = model.script ? regard.panels[model.task] : "text" in model.fields ? regard.panels.plain : null;
      if (draw) open(model.source ? `${model.id} (${model.source} → ${model.target})` : model.id, () => {
        Object.assign(regard, { about: model, isHere: model.is_shared, others: regard.othersOf(models, model) });
        return regard.desk(draw(model));
      });
    }
    for (const run of runs) open(`training: ${run}`, () => regard.panels.run(run));
    tabs.querySelector("button")?.click();
  } catch (problem) {
    regard.report(problem);
  }
})();
