// The pages' scripts as one function: what they share comes back, without a browser.
"use strict";
const { readFileSync, readdirSync } = require("node:fs");
const { basename, join } = require("node:path");

const PACKAGE = join(__dirname, "..", "..", "regard");

const FILES = readdirSync(PACKAGE, { recursive: true, encoding: "utf8" });
const read = (names) => names.map((name) => readFileSync(join(PACKAGE, FILES.find((file) => basename(file) === `${name}.js`)), "utf8")).join("\n");

/** @param {string[]} names scripts in the order in which a page loads them */
exports.load = (...names) => new Function("document", `${read(names)}\nreturn regard;`)({ documentElement: { dataset: { theme: "light" } } });

/** The engine of the page: its first script makes the object that the others add to. */
exports.loadEngine = (...more) => {
  const shared = readdirSync(join(PACKAGE, "engines", "javascript")).map((file) => basename(file, ".js"));
  const families = ["translator", "writer", "filler", "answerer", "classifier"].filter((name) => FILES.some((file) => basename(file) === `${name}.js`));
  const rest = [...shared, ...families].filter((name) => !["kernels", "worker"].includes(name)).concat(more);
  return new Function(`${read(["kernels", ...rest])}\nreturn engine;`)();
};
