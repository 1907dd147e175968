"use strict";
// The beam search as a tree: a column for each step, in it the hypotheses by rank, each word in the colour of its probability.
regard.views.push({
  name: "beam", title: "Beam", key: "8", group: "Output",
  fits: (data) => Boolean(data.beam?.nodes.length),
  isPicture: true,
  says: ({ data }) => [`How the translation was searched for: at each step the ${data.beam?.width} best beginnings are continued, and the best finished one wins.`,
    "The number under a word is the sum of log-probabilities so far; 0 would be certain. Longer translations have smaller sums, so finished ones are compared by the sum divided by the number of tokens.",
    "■ is the end of a translation: it is not continued, and leaves its place to another."],
  draw(state, box) {
    const beam = /** @type {Beam} */ (state.data.beam);
    const readout = regard.make("output", { class: "readout" }, "Point at a word for its scores. The bold path is the answer; ■ has finished.");
    const picture = regard.make("div", { class: "beam", dir: regard.isRightToLeft(state.data.answer) ? "rtl" : undefined });
    const whole = regard.make("input", { type: "checkbox", id: "beam-whole" });
    const draw = () => picture.replaceChildren(regard.drawBeam(beam, whole.checked, box.clientWidth - 8, (index) => { readout.textContent = regard.describeNode(beam, index); }));
    whole.addEventListener("change", draw);
    box.append(regard.make("div", { class: "above" }, regard.make("p", { class: "legend" }, `${regard.more()} is likelier there: `, regard.ramp("0", "100 %")),
      regard.make("label", { class: "legend" }, whole, " also candidates that were dropped at once")), readout, picture, regard.make("h2", {}, "Finished, by score"), regard.finishedTable(beam));
    draw();
  },
});

// The place of each candidate: its step, and its rank among those of the step that are shown.
regard.layOutBeam = (beam, isWhole) => {
  /** @type {number[]} */
  const columns = [], filled = /** @type {number[]} */ ([]);
  return beam.nodes.flatMap((node, index) => { // parents and better candidates come first
    const column = columns[index] = node.parent < 0 ? 0 : columns[node.parent] + 1;
    if (node.score === -Infinity || (node.fate === "dropped" && !isWhole)) return [];
    const row = filled[column] = (filled[column] ?? -1) + 1;
    return [{ index, column, row }];
  });
};

// The places from the root to a candidate.
regard.followBeam = (beam, index) => {
  const path = [];
  for (let place = index; place >= 0; place = beam.nodes[place].parent) path.unshift(place);
  return path;
};

regard.bestNode = (beam) => beam.nodes.reduce((best, node, index) => ((node.final ?? -Infinity) > (beam.nodes[best]?.final ?? -Infinity) ? index : best), -1);

// As wide as there is room, as long as it can be read.
regard.drawBeam = (beam, isWhole, room, point) => {
  const places = regard.layOutBeam(beam, isWhole), best = new Set(regard.followBeam(beam, regard.bestNode(beam)));
  const label = (/** @type {number} */ index) => (beam.nodes[index].isEnd ? "■" : regard.shown(beam.nodes[index].token));
  const [tall, gap] = [46, 18];
  const wide = /** @type {number[]} */ ([]); // of each column
  for (const { index, column } of places) {
    const letters = [...label(index)].reduce((sum, letter) => sum + (/[\u1100-\uffff]/.test(letter) ? 16 : 9), 0);
    wide[column] = Math.max(wide[column] ?? 40, 14 + letters);
  }
  const starts = wide.map((_, column) => 14 + wide.slice(0, column).reduce((sum, one) => sum + one + gap, 0));
  const height = 8 + tall * (1 + Math.max(...places.map(({ row }) => row)));
  const width = (starts.at(-1) ?? 0) + (wide.at(-1) ?? 0) + 8;
  const scale = Math.max(0.74, Math.min(1, room / width));
  const svg = regard.svg("svg", { viewBox: `0 0 ${width} ${height}`, width: Math.round(scale * width), height: Math.round(scale * height), class: "tree-of-beam", role: "group", "aria-label": "Beam search, step by step" });
  const isTurned = regard.isRightToLeft(regard.textOf(beam, regard.bestNode(beam))); // as the script runs
  const at = new Map(places.map(({ index, column, row }) => [index, { x: isTurned ? width - starts[column] - wide[column] : starts[column], y: 6 + tall * row, wide: wide[column] }]));
  for (const { index } of places) {
    const to = at.get(index), from = at.get(beam.nodes[index].parent) ?? { x: isTurned ? width - 2 : 0, y: to?.y ?? 0, wide: 2 };
    if (!to) continue;
    const [x, end] = isTurned ? [from.x, to.x + to.wide] : [from.x + from.wide, to.x], y = from.y + 12, middle = (x + end) / 2;
    svg.append(regard.svg("path", { d: `M${x},${y} C${middle},${y} ${middle},${to.y + 12} ${end},${to.y + 12}`, fill: "none",
      class: best.has(index) ? "best" : beam.nodes[index].fate }));
  }
  for (const { index } of places) {
    const node = beam.nodes[index], place = at.get(index);
    if (!place) continue;
    const color = regard.color(Math.exp(node.logProb));
    const group = regard.svg("g", { class: best.has(index) ? "best" : node.fate, tabindex: "0", role: "img", "data-node": index,
      "data-score": node.score, "aria-label": regard.describeNode(beam, index) });
    const word = regard.svg("text", { x: place.x + place.wide / 2, y: place.y + 17, "text-anchor": "middle", fill: regard.ink(color) });
    word.textContent = label(index);
    const score = regard.svg("text", { x: place.x + place.wide / 2, y: place.y + 37, "text-anchor": "middle", class: "score" });
    score.textContent = regard.number(node.score, 2);
    group.append(regard.svg("rect", { x: place.x, y: place.y, width: place.wide, height: 24, rx: 5, fill: regard.css(color) }), word, score);
    for (const event of ["pointerenter", "focus", "click"]) group.addEventListener(event, () => point(index));
    svg.append(group);
  }
  return svg;
};

regard.textOf = (beam, index) => [...beam.before, ...regard.followBeam(beam, index).filter((place) => !beam.nodes[place].isEnd).map((place) => beam.nodes[place].token)].join("").trim();

regard.describeNode = (beam, index) => {
  const node = beam.nodes[index], so = regard.textOf(beam, index);
  const fate = { kept: "kept in the beam", dropped: "dropped: others were better", finished: `finished with score ${regard.number(node.final ?? 0, 3)}` }[node.fate];
  return `${node.isEnd ? "the end" : `“${regard.shown(node.token)}”`}: ${regard.percent(Math.exp(node.logProb))} here (log-probability ${regard.number(node.logProb, 3)}); “${so}” so far: ${regard.number(node.score, 3)}; ${fate}`;
};

regard.finishedTable = (beam) => {
  const ended = beam.nodes.map((node, index) => ({ ...node, index })).filter((node) => node.fate === "finished").sort((a, b) => (b.final ?? 0) - (a.final ?? 0));
  const head = regard.make("tr", {}, ...["", "score", "sum", "tokens"].map((name) => regard.make("th", { scope: "col", class: name && "number" }, name)));
  return regard.make("table", { class: "finished" }, head, ...ended.map((node, number) => regard.make("tr", { class: number === 0 ? "chosen" : undefined },
    regard.make("td", {}, regard.make("bdi", {}, regard.textOf(beam, node.index) || "∅")),
    ...[regard.number(node.final ?? 0, 3), regard.number(node.score, 3), String(Math.round(node.score / (node.final ?? 1)) || 1)].map((value) => regard.make("td", { class: "number" }, value)))));
};
