// The pages' scripts as one function: what they share comes back, without a browser.
"use strict";
const { readFileSync, readdirSync } = require("node:fs");
const { basename, join } = require("node:path");

const PACKAGE = join(__dirname, "..", "..", "regard");

/** @param {string[]} names scripts in the order in which a page loads them */
exports.load = (...names) => {
  const files = readdirSync(PACKAGE, { recursive: true, encoding: "utf8" });
  const sources = names.map((name) => readFileSync(join(PACKAGE, files.find((file) => basename(file) === `${name}.js`)), "utf8"));
  const document = { documentElement: { dataset: { theme: "light" } } };
  return new Function("document", `${sources.join("\n")}\nreturn regard;`)(document);
};
