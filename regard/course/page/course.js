"use strict";
// The frame of the course: one lesson at a time, a prediction before its measurement, the models opened when needed.
// An experiment is course.experiments[name] = (box, model) => ({ measure }): it draws itself into the box, and `measure`
// returns { choice, text }: which of the lesson's predictions came true, by what was computed here, and the numbers.
const course = /** @type {Course} */ ({ experiments: {}, models: new Map() });

/** @param {string} name */
course.readHere = (name) => document.getElementById(`regard-${name}`)?.textContent ?? null;

// A model of the page: its facts, weights and tokenizer, and what it answers; null if the page was written without it.
/** @param {string} task */
course.open = (task) => {
  if (!course.models.has(task)) course.models.set(task, course.read(task));
  return /** @type {Promise<CourseModel | null>} */ (course.models.get(task));
};

/** @param {string} task */
course.read = async (task) => {
  const [described, numbers, words] = ["about", "weights", "tokenizer"].map((part) => course.readHere(`${part}-${task}`));
  if (described === null || numbers === null || words === null) return null;
  const about = JSON.parse(described);
  const weights = engine.readWeights(engine.decodeBase64(numbers), about.weights);
  const tokenizer = engine.makeTokenizer(JSON.parse(await engine.inflate(words)), about.roles);
  return { about, config: about.config, weights, tokenizer, ...engine.families[task](about, weights, tokenizer) };
};

course.start = () => {
  regard.setTheme?.(window.matchMedia?.("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  const articles = [...document.querySelectorAll("article")], lessons = /** @type {HTMLDetailsElement} */ (document.querySelector("nav details"));
  const isNarrow = () => window.matchMedia("(max-width: 760px)").matches;
  const show = () => {
    const id = decodeURIComponent(location.hash.slice(1));
    const chosen = articles.find((article) => article.id === id) ?? articles[0];
    for (const article of articles) article.hidden = article !== chosen;
    for (const link of course.links()) link.classList.toggle("chosen", link.hash === `#${chosen.id}`);
    lessons.open = !isNarrow();
    document.title = `${chosen.querySelector("h2")?.textContent} · regard`;
    if (!chosen.dataset.state) course.begin(chosen);
  };
  window.addEventListener("hashchange", () => { show(); window.scrollTo(0, 0); });
  window.addEventListener("resize", () => { if (!isNarrow()) lessons.open = true; });
  show();
};

course.links = () => /** @type {HTMLAnchorElement[]} */ ([...document.querySelectorAll("nav a")]);

// Fills an article with its experiment; hidden until the pupil has predicted.
/** @param {HTMLElement} article */
course.begin = async (article) => {
  article.dataset.state = "opening";
  const find = (/** @type {string} */ name) => /** @type {HTMLElement} */ (article.querySelector(name));
  const needs = article.dataset.needs, make = course.experiments[article.id];
  course.wireCheck(article);
  const model = needs ? await course.open(needs) : null;
  if (needs && !model) {
    find(".missing").hidden = false;
    article.dataset.state = "missing";
    return;
  }
  const button = /** @type {HTMLButtonElement} */ (find("[data-act='measure']"));
  const options = /** @type {HTMLInputElement[]} */ ([...article.querySelectorAll(".predict input")]);
  for (const option of options) option.addEventListener("change", () => { button.disabled = false; });
  let made = /** @type {Experiment | null} */ (null);
  button.addEventListener("click", async () => {
    button.disabled = true;
    find(".measured").replaceChildren(regard.make("p", {}, "measuring …"));
    find(".measured").hidden = false;
    await new Promise((done) => setTimeout(done, 20)); // painted first
    try {
      made ??= await make(find(".box"), /** @type {CourseModel} */ (model));
      course.compare(article, await made.measure(), options);
      find(".experiment").hidden = find(".found").hidden = false;
      article.dataset.state = "measured";
      course.markDone(article);
    } catch (problem) {
      find(".measured").replaceChildren(regard.make("p", { class: "trouble", role: "alert" }, /** @type {Error} */ (problem).message));
      article.dataset.state = "failed";
    }
    button.disabled = false;
  });
  article.dataset.state = "ready";
};

/** @param {HTMLElement} article @param {Measured} measured @param {HTMLInputElement[]} options */
course.compare = (article, { choice, text }, options) => {
  const predicted = options.findIndex((option) => option.checked), right = predicted === choice;
  const label = options[choice].closest("label")?.textContent?.trim();
  const words = right ? "As you predicted." : `Not as you predicted. Measured: ${label}`;
  const lines = [regard.make("p", {}, text), regard.make("p", { class: right ? "right" : "wrong" }, words)];
  if (!options[choice].hasAttribute("data-usual")) lines.push(regard.make("p", { class: "odd" }, "With our models it came out otherwise; the text below is about those."));
  const box = /** @type {HTMLElement} */ (article.querySelector(".measured"));
  box.replaceChildren(...lines);
  box.dataset.choice = String(choice);
};

/** @param {HTMLElement} article */
course.wireCheck = (article) => {
  const [verdict, why] = [".verdict", ".why"].map((name) => /** @type {HTMLElement} */ (article.querySelector(name)));
  for (const option of article.querySelectorAll(".check input")) option.addEventListener("change", () => {
    const right = option.hasAttribute("data-right");
    verdict.textContent = right ? "Right." : "Not so.";
    verdict.className = `verdict ${right ? "right" : "wrong"}`;
    why.hidden = !right;
    course.markDone(article);
  });
};

// A lesson is done when its experiment was measured and its question answered rightly; nothing is kept beyond the page.
/** @param {HTMLElement} article */
course.markDone = (article) => {
  if (article.dataset.state !== "measured" || article.querySelector(".verdict.right") === null) return;
  for (const link of course.links()) if (link.hash === `#${article.id}`) link.classList.add("done");
};
