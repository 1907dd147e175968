"use strict";
// The frame of the course: one lesson at a time, a prediction before its measurement, the models opened when needed.
// An experiment is course.experiments[name] = (box, model) => ({ measure }): it draws itself into the box, and `measure`
// returns { choice, text }: which of the lesson's predictions came true, by what was computed here, and the numbers.
const course = { experiments: {}, models: new Map() };

course.readHere = (name) => document.getElementById(`regard-${name}`)?.textContent ?? null;

// A model of the page: its facts, weights and tokenizer, and what it answers; null if the page was written without it.
course.open = (task) => {
  if (!course.models.has(task)) course.models.set(task, course.read(task));
  return course.models.get(task);
};

course.read = async (task) => {
  const described = course.readHere(`about-${task}`);
  if (!described) return null;
  const about = JSON.parse(described);
  const weights = engine.readWeights(engine.decodeBase64(course.readHere(`weights-${task}`)), about.weights);
  const tokenizer = engine.makeTokenizer(JSON.parse(await engine.inflate(course.readHere(`tokenizer-${task}`))), about.roles);
  return { about, config: about.config, weights, tokenizer, ...engine.families[task](about, weights, tokenizer) };
};

// What a lesson's sandbox computes is drawn anew; what goes wrong is shown where it went wrong.
course.drawing = (draw) => {
  const box = regard.make("div", { class: "drawn" });
  const show = async () => {
    try {
      box.replaceChildren(...[await draw()].flat().filter(Boolean));
    } catch (problem) {
      box.replaceChildren(regard.make("p", { class: "trouble", role: "alert" }, problem.message));
    }
  };
  return { box, show };
};

course.start = () => {
  regard.setTheme?.(window.matchMedia?.("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const articles = [...document.querySelectorAll("article")];
  const show = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const chosen = articles.find((article) => article.id === id) ?? articles[0];
    for (const article of articles) article.hidden = article !== chosen;
    for (const link of document.querySelectorAll("nav a")) link.classList.toggle("chosen", link.hash === `#${chosen.id}`);
    document.title = `${chosen.querySelector("h2").textContent} · regard`;
    if (!chosen.dataset.state) course.begin(chosen);
  };
  window.addEventListener("hashchange", () => { show(); window.scrollTo(0, 0); });
  show();
};

// Fills an article with its experiment; hidden until the pupil has predicted.
course.begin = async (article) => {
  article.dataset.state = "opening";
  const find = (name) => article.querySelector(name);
  const needs = article.dataset.needs, make = course.experiments[article.id];
  course.wireCheck(article);
  const model = needs ? await course.open(needs) : null;
  if (needs && !model) {
    find(".missing").hidden = false;
    article.dataset.state = "missing";
    return;
  }
  const button = find("[data-act='measure']"), options = [...article.querySelectorAll(".predict input")];
  for (const option of options) option.addEventListener("change", () => { button.disabled = false; });
  button.addEventListener("click", async () => {
    button.disabled = true;
    find(".measured").replaceChildren(regard.make("p", {}, "measuring …"));
    find(".measured").hidden = false;
    await new Promise((done) => setTimeout(done, 20)); // painted first
    try {
      const box = find(".box");
      if (!box.childElementCount) article.experiment = await make(box, model);
      course.compare(article, await article.experiment.measure(), options);
      find(".experiment").hidden = find(".found").hidden = false;
      article.dataset.state = "measured";
    } catch (problem) {
      find(".measured").replaceChildren(regard.make("p", { class: "trouble", role: "alert" }, problem.message));
      article.dataset.state = "failed";
    }
    button.disabled = false;
  });
  article.dataset.state = "ready";
};

course.compare = (article, { choice, text }, options) => {
  const predicted = options.findIndex((option) => option.checked), right = predicted === choice;
  const label = options[choice].closest("label").textContent.trim();
  const words = right ? "As you predicted." : `Not as you predicted. Measured: ${label}`;
  const lines = [regard.make("p", {}, text), regard.make("p", { class: right ? "right" : "wrong" }, words)];
  if (!options[choice].hasAttribute("data-usual")) lines.push(regard.make("p", { class: "odd" }, "With our models it came out otherwise; the text below is about those."));
  article.querySelector(".measured").replaceChildren(...lines);
  article.querySelector(".measured").dataset.choice = choice;
};

course.wireCheck = (article) => {
  const verdict = article.querySelector(".verdict");
  for (const option of article.querySelectorAll(".check input")) option.addEventListener("change", () => {
    const right = option.hasAttribute("data-right");
    verdict.textContent = right ? "Right." : "Not so.";
    verdict.className = `verdict ${right ? "right" : "wrong"}`;
    article.querySelector(".why").hidden = !right;
  });
};
