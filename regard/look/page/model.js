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
  const panel = regard.panels[about.task](about), look = panel.querySelector(".look") ?? "";
  panel.classList.add("panel");
  box.classList.add("model");
  box.append(regard.make("header", {}, regard.make("h1", {}, regard.make("bdi", {}, about.label), regard.make("small", {}, " regard")),
    regard.make("div", { class: "tools" }, regard.make("button", { "data-act": "tour", onclick: () => regard.tour(box) }, "Tour of one minute"), regard.themeButton())),
  regard.make("p", { id: "trouble", role: "alert", hidden: true }), regard.make("div", { class: "desk" }, panel, look));
  const read = () => {
    const [tokenizer, weights] = ["tokenizer", "weights"].map((name) => regard.readHere(name) ?? "");
    const worker = regard.startModel(about, { engine: JSON.parse(regard.readHere("engine") ?? '""'), tokenizer, weights });
    document.getElementById("regard-weights")?.remove(); // the worker has its own
    start(worker);
    const packed = regard.readHere("history");
    if (packed) regard.history(packed).then((shown) => box.append(shown), regard.report);
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", read);
  else read();
};
