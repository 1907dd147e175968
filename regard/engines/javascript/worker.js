"use strict";
// The model behind messages: it is asked as a server would be, and answers beside the page, so that typing never waits.
engine.open = async ({ about, tokenizer, weights }) => {
  const described = JSON.parse(await engine.inflate(tokenizer));
  const model = engine.families[about.task](about, engine.readWeights(engine.decodeBase64(weights), about.weights), engine.makeTokenizer(described, about.roles));
  const look = model.routes["/api/look"]; // what its heads do is known, and not computed
  return { ...model, routes: { ...model.routes, "/api/look": async (...given) => ({ .../** @type {object} */ (await look(...given)), head_roles: about.head_roles }) } };
};

// The first message is the model, each further one a question {id, path, fields}, or {id} alone: its answer is not waited for any more.
engine.listen = (scope) => {
  /** @type {Promise<LiveModel> | null} */
  let opened = null;
  const given = new Set();
  scope.onmessage = async ({ data }) => {
    if (data.about) opened = engine.open(data);
    const { id, path, fields } = data;
    if (!opened || !path) return given.add(id);
    const pause = async () => { // messages come in between
      await engine.yieldOnce();
      if (given.has(id)) throw new Error("given up");
    };
    const push = async (/** @type {unknown} */ part) => {
      scope.postMessage({ id, part });
      await pause();
    };
    try {
      const route = (await opened).routes[path];
      if (!route) throw new Error(`this page does not answer ${path}`);
      scope.postMessage({ id, answer: await route(fields, push, pause) });
    } catch (problem) {
      scope.postMessage({ id, problem: /** @type {Error} */ (problem).message });
    }
    given.delete(id);
  };
};

// Lets other messages be heard; unlike a timer, at once.
engine.yieldOnce = () => new Promise((done) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = () => { port1.close(); done(undefined); };
  port2.postMessage(null);
});
