"use strict";
// Models whose weights the server sends (--share-weights) run here, and are asked as the server is for all others.
regard.runShared = (models) => {
  const { askJson, askStream } = regard, shared = new Set(models.filter((model) => model.is_shared).map((model) => model.id));
  /** @type {Map<string, Promise<ReturnType<typeof regard.connect>>>} */
  const running = new Map();
  const start = async (/** @type {string} */ id) => {
    const { about, ...parts } = await askJson(`/api/models/${encodeURIComponent(id)}/weights`);
    return regard.connect(regard.startModel(JSON.parse(about), parts));
  };
  const find = (/** @type {any} */ fields) => {
    const id = fields?.model ?? fields?.before?.model; // of a change, two questions are one
    if (!shared.has(id)) return null;
    if (!running.has(id)) {
      const starting = start(id);
      starting.catch(() => running.delete(id)); // it is asked for again
      running.set(id, starting);
    }
    return running.get(id);
  };
  regard.askJson = async (path, fields, signal) => {
    const ask = await find(fields);
    return ask ? ask(path, fields, signal) : askJson(path, fields, signal);
  };
  regard.askStream = async (path, fields, signal, take) => {
    const ask = await find(fields);
    return ask ? ask(path, fields, signal, take) : askStream(path, fields, signal, take);
  };
};
