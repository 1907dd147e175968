"use strict";
// Curves of a training over its steps, with axes; steps and what spans several powers of ten on a logarithmic scale.

// Round numbers from low to high: about four of them, or powers of ten and what lies between.
regard.ticks = (low, high, isLog) => {
  if (isLog) {
    const [first, last] = [Math.floor(Math.log10(low)), Math.ceil(Math.log10(high))];
    const parts = last - first > 3 ? [1] : last - first > 1 ? [1, 3] : [1, 2, 5];
    return Array.from({ length: last - first + 1 }, (_, i) => parts.map((part) => part * 10 ** (first + i))).flat()
      .filter((value) => value >= low && value <= high);
  }
  const rough = (high - low) / 4 || 1, power = 10 ** Math.floor(Math.log10(rough));
  const step = ([1, 2, 5].find((part) => part * power >= rough) ?? 10) * power;
  const first = Math.ceil(low / step - 1e-9), last = Math.floor(high / step + 1e-9);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, i) => (first + i) * step);
};

// A number as an axis shows it.
regard.brief = (value) => {
  if (value >= 1e6) return `${Number((value / 1e6).toPrecision(3))}M`;
  if (value >= 1e4) return `${Number((value / 1e3).toPrecision(3))}k`;
  return String(Number(value.toPrecision(3)));
};

// A scale from values to pixels. On a logarithmic one, 0 and below are where the smallest value above is.
regard.axis = (values, from, to) => {
  const positive = values.filter((value) => value > 0);
  const least = Math.min(...(positive.length ? positive : [1])), high = Math.max(...values), spread = high / least;
  const isLog = spread >= 50 && Math.min(...values) >= 0;
  const low = isLog ? least : Math.min(...values), by = isLog ? Math.log : (/** @type {number} */ value) => value;
  const range = by(high) - by(low);
  return { isLog, ticks: regard.ticks(low, high, isLog), at: (value) => (range > 0 ? from + ((by(Math.max(value, low)) - by(low)) / range) * (to - from) : (from + to) / 2) };
};

// One curve; mark: the step that is shown beside it.
regard.curve = (name, points, mark = null) => {
  const [wide, tall, left, foot] = [380, 190, 48, 36];
  const across = regard.axis(points.map(([x]) => x), left, wide - 12), up = regard.axis(points.map(([, y]) => y), tall - foot, 12);
  const svg = regard.svg("svg", { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, role: "img", class: "curve",
    "aria-label": `${name}: ${regard.brief(points[0][1])} at step ${points[0][0]}, ${regard.brief(points[points.length - 1][1])} at step ${points[points.length - 1][0]}` });
  const write = (/** @type {string} */ words, /** @type {Record<string, string | number>} */ place) => {
    const text = regard.svg("text", place);
    text.textContent = words;
    svg.append(text);
  };
  for (const value of up.ticks) {
    svg.append(regard.svg("line", { x1: left, x2: wide - 12, y1: up.at(value), y2: up.at(value), class: "grid" }));
    write(regard.brief(value), { x: left - 6, y: up.at(value) + 4, "text-anchor": "end" });
  }
  for (const value of across.ticks) write(regard.brief(value), { x: across.at(value), y: tall - foot + 16, "text-anchor": across.at(value) > wide - 36 ? "end" : "middle" });
  svg.append(regard.svg("line", { x1: left, x2: wide - 12, y1: tall - foot, y2: tall - foot, class: "axis" }));
  write(`step${across.isLog ? " (log scale)" : ""}`, { x: wide - 12, y: tall - 4, "text-anchor": "end" });
  if (up.isLog) write("log scale", { x: left + 4, y: 12 });
  svg.append(regard.svg("polyline", { points: points.map(([x, y]) => `${across.at(x).toFixed(1)},${up.at(y).toFixed(1)}`).join(" "), fill: "none" }));
  if (points.length === 1) svg.append(regard.svg("circle", { cx: across.at(points[0][0]), cy: up.at(points[0][1]), r: 3 }));
  const isInside = mark !== null && mark >= points[0][0] && mark <= points[points.length - 1][0];
  if (isInside) svg.append(regard.svg("line", { x1: across.at(mark), x2: across.at(mark), y1: 8, y2: tall - foot, class: "moment" }));
  return regard.make("figure", { "data-curve": name, "data-points": points.length }, regard.make("figcaption", {}, regard.curveNames[name] ?? name), svg);
};

// Names of curves that are not words by themselves.
regard.curveNames = {
  loss: "training loss", bleu: "BLEU", chrf: "chrF", exact: "exact match (share)", accuracy: "accuracy (share)", "training accuracy": "accuracy on training text (share)", "bits per byte": "bits per byte",
  fit: "accuracy that training goes by (share)", abstained: "abstained (share of questions)", "unanswerable found": "abstained where there is no answer (share)",
};

// The curves of what was logged: of its training loss, its speed, and each score on held-out text.
regard.curves = () => {
  const box = regard.make("div", { class: "curves" });
  /** @type {Record<string, any>[]} */
  let events = [];
  /** @type {number | null} */
  let moment = null;
  const draw = () => {
    const named = events.map((event) => ("learning_rate" in event || !("loss" in event) ? event : { ...event, loss: undefined, "validation loss": event.loss }));
    const scores = [...new Set(named.flatMap((event) => Object.keys(event)))].filter((key) =>
      !["step", "seconds", "learning_rate", "skipped", "micro_batches"].includes(key));
    const curves = scores.map((key) => ({ key, points: named.filter((event) => typeof event[key] === "number")
      .map((event) => /** @type {[number, number]} */ ([event.step, event[key]])) }));
    box.replaceChildren(...curves.filter(({ points }) => points.length).map(({ key, points }) => regard.curve(key.replaceAll("_", " "), points, moment)));
  };
  return {
    box, show: (more) => { events = more; draw(); },
    mark: (step) => { moment = step; draw(); },
  };
};
