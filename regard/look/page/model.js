"use strict";
// A page with a model in it: a worker runs the model, and is asked as a server would be, one question at a time.
regard.connect = (worker) => {
  /** @type {Map<number, { done: (answer: any) => void, failed: (problem: Error) => void, take?: (part: any) => void }>} */
  const waiting = new Map();
  const queue = /** @type {{ id: number, path: string, fields: unknown }[]} */ ([]);
  let count = 0, isBusy = false;
  const next = () => {
    const question = isBusy ? undefined : queue.shift();
    if (!question) return;
    isBusy = true;
    worker.postMessage(question);
  };
  worker.onmessage = ({ data }) => {
    const asked = waiting.get(data.id);
    if ("part" in data) return asked?.take?.(data.part);
    waiting.delete(data.id);
    isBusy = false;
    next();
    if ("problem" in data) asked?.failed(new Error(data.problem));
    else asked?.done(data.answer);
  };
  return (path, fields, signal, take) => new Promise((done, failed) => {
    const id = count++;
    waiting.set(id, { done, failed, take });
    queue.push({ id, path, fields });
    signal?.addEventListener("abort", () => {
      const place = queue.findIndex((question) => question.id === id);
      if (place >= 0) queue.splice(place, 1);
      else if (waiting.has(id)) worker.postMessage({ id });
      waiting.delete(id);
      failed(new DOMException("given up", "AbortError"));
    });
    next();
  });
};

// Starts the model: its script runs in a worker made of a Blob, as a page from a disk cannot start one by its path.
regard.startModel = (about, { engine, tokenizer, weights }) => {
  const worker = new Worker(URL.createObjectURL(new Blob([engine], { type: "text/javascript" })));
  worker.onerror = (problem) => regard.complain(problem.message || "the model in this page cannot be started by this browser");
  worker.postMessage({ about, tokenizer, weights });
  return worker;
};

// Puts a model of the same family beside that of this page: from its own page, a file that the user chooses. Only what is data is
// taken from it; it runs in this page's engine.
regard.chooseOther = (engine) => (done) => {
  const field = regard.make("input", { type: "file", accept: ".html,text/html" });
  field.addEventListener("change", async () => {
    regard.complain("");
    const file = field.files?.[0];
    if (!file) return;
    const other = new DOMParser().parseFromString(await file.text(), "text/html"); // nothing in it runs
    const [about, tokenizer, weights] = ["about", "tokenizer", "weights"].map((name) => other.getElementById(`regard-${name}`)?.textContent ?? "");
    try {
      if (!about || !tokenizer || !weights) throw new Error(`${file.name} holds no model; choose a page that \`regard look MODEL\` wrote`);
      const facts = JSON.parse(about);
      if (facts.task !== regard.about?.task) throw new Error(`${file.name} holds a model to ${facts.task}, and this page one to ${regard.about?.task}; side by side are models of one family`);
      const name = facts.label === regard.about?.label || regard.others.has(facts.label) ? `${facts.label}, ${file.name}` : facts.label;
      regard.others.set(name, regard.connect(regard.startModel(facts, { engine, tokenizer, weights })));
      done(name);
    } catch (problem) {
      regard.report(problem);
    }
  });
  field.click();
};

// Draws the family's panel at once; the model is read when the whole file is there.
regard.openModel = (box) => {
  const about = JSON.parse(regard.readHere("about") ?? "{}");
  /** @type {(worker: Worker) => void} */
  let start = () => {};
  const ask = new Promise((/** @type {(ask: any) => void} */ done) => { start = (worker) => done(regard.connect(worker)); });
  regard.isHere = true;
  regard.askJson = async (path, fields, signal) => (await ask)(path, fields, signal);
  regard.askStream = async (path, fields, signal, take) => (await ask)(path, fields, signal, take);
  regard.setTheme(window.matchMedia?.("(prefers-color-scheme: dark)").matches ? "dark" : "light");
  regard.about = about;
  Object.assign(regard, { isAddressed: true, hasTheme: true });
  regard.recalled = regard.readFragment(location.hash);
  about.given = { ...about.given, ...regard.recalled.given };
  const desk = regard.desk(regard.panels[about.task](about));
  box.classList.add("model");
  box.append(regard.make("header", {}, regard.make("h1", {}, regard.make("bdi", {}, about.label), regard.make("small", {}, " regard")),
    regard.make("div", { class: "tools" }, regard.tourButton(box), regard.themeButton())),
  regard.make("p", { id: "trouble", role: "alert", hidden: true }), desk);
  const read = () => {
    const [tokenizer, weights] = ["tokenizer", "weights"].map((name) => regard.readHere(name) ?? "");
    const script = JSON.parse(regard.readHere("engine") ?? '""'), worker = regard.startModel(about, { engine: script, tokenizer, weights });
    regard.openOther = regard.chooseOther(script);
    document.getElementById("regard-weights")?.remove(); // the worker has its own
    start(worker);
    const packed = regard.readHere("history");
    if (packed) regard.history(packed).then((shown) => box.append(shown), regard.report);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", read);
  else read();
};
