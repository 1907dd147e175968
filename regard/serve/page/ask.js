"use strict";
// Asking the server; a key, where one is needed, is asked for once and kept for this tab only.
regard.ask = async (path, fields, signal) => {
  /** @type {Record<string, string>} */
  const headers = { "Content-Type": "application/json" };
  const key = sessionStorage.getItem("regard-key");
  if (key) headers.Authorization = `Bearer ${key}`;
  const response = await fetch(path, fields === undefined ? { headers, signal } : { method: "POST", headers, signal, body: JSON.stringify(fields) });
  if (response.status === 401) {
    const given = window.prompt("This server wants a key:");
    if (!given) throw new Error("a key is needed");
    sessionStorage.setItem("regard-key", given);
    return regard.ask(path, fields, signal);
  }
  if (!response.ok) {
    const found = await response.json().catch((problem) => {
      if (problem.name === "AbortError") throw problem;
      return { error: response.statusText };
    });
    throw new Error(typeof found.error === "string" ? found.error : found.error.message);
  }
  return response;
};

regard.askJson = async (path, fields, signal) => (await regard.ask(path, fields, signal)).json();

// An answer in parts, as they come.
regard.askStream = async (path, fields, signal, take) => regard.events(await regard.ask(path, fields, signal), take);

// Server-sent events until [DONE].
regard.events = async (response, take) => {
  if (!response.body) return;
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let held = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    held += value;
    const parts = held.split("\n\n");
    held = parts.pop() ?? "";
    for (const part of parts) {
      const text = part.replace(/^data: /, "");
      if (text === "[DONE]") return;
      take(JSON.parse(text));
    }
  }
};
