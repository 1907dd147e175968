"use strict";
// Embeddings and positions as pictures: the words of the text on a plane with those nearest to them, and the vector of each position.
regard.views.push({
  name: "near", title: "Words", key: "7", group: "Inside",
  fits: (data) => Boolean(data.live?.isInside),
  says: () => ["Before any layer, each token is a vector from a table. Tokens used alike lie near each other.",
    "Near is the cosine of two vectors: 1 is the same direction, 0 nothing in common. The plane shows the two principal components of these vectors, so much of what separates them is not in the picture.",
    "A position is a vector that is added to the token's (sinusoidal or learned), or an angle by which queries and keys are turned (rotary): without it, a text would be a bag of words."],
  draw(state, box) {
    const live = /** @type {Live} */ (state.data.live);
    regard.later(box, live.ask("/api/near", {}), (/** @type {Near} */ found) => [regard.make("div", { class: "columns" },
      regard.make("section", { class: "card wide" }, regard.make("h2", {}, "On a plane"), regard.planeSvg(found.points),
        regard.make("p", { class: "legend" }, "Large: tokens of this text. Small: tokens near them in the embedding.")),
      regard.make("section", { class: "card" }, regard.make("h2", {}, "Nearest tokens"), regard.nearTable(found.words)),
      regard.make("section", { class: "card" }, regard.make("h2", {}, "Positions"), ...regard.positionsOf(found.positions)))]);
  },
});

regard.planeSvg = (points) => {
  const wide = 720, tall = 460, edge = 40, xs = points.map((point) => point.x), ys = points.map((point) => point.y);
  const scale = (/** @type {number} */ value, /** @type {number[]} */ all, /** @type {number} */ size) => edge + ((value - Math.min(...all)) / (Math.max(...all) - Math.min(...all) || 1)) * (size - 2 * edge);
  const svg = regard.svg("svg", { viewBox: `0 0 ${wide} ${tall}`, class: "plane", role: "img", "aria-label": "Tokens of the text and those nearest to them, by the first two principal components of their embeddings" });
  for (const point of [...points].sort((a, b) => Number(a.isHere) - Number(b.isHere))) {
    const x = scale(point.x, xs, wide), y = scale(point.y, ys, tall), isLate = x > 0.7 * wide;
    svg.append(regard.svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: point.isHere ? 4 : 2.5, class: point.isHere ? "here" : "other" }),
      regard.svgText(regard.cut(regard.shown(point.token), 18), { x: (x + (isLate ? -7 : 7)).toFixed(1), y: y.toFixed(1), class: point.isHere ? "here" : "other", "text-anchor": isLate ? "end" : "start" }));
  }
  return svg;
};

regard.nearTable = (words) => regard.make("div", { class: "scroll tall", tabindex: "0", role: "region", "aria-label": "Nearest tokens" }, regard.make("table", {}, ...words.map((word) => regard.make("tr", {},
  regard.make("th", { scope: "row" }, regard.make("bdi", {}, regard.shown(word.token))),
  regard.make("td", {}, ...word.near.map(([token, cosine]) => regard.make("span", { class: "guess" }, regard.make("bdi", {}, regard.shown(token)), regard.make("small", {}, ` ${cosine.toFixed(2)}`))))))));

// Rows are positions, columns dimensions.
regard.positionsOf = (positions) => {
  if (!positions) return [regard.make("p", {}, "This model has rotary positions: they turn queries and keys by an angle that grows with the position, and there is no vector to show.")];
  const width = positions[0].length, height = positions.length, canvas = regard.make("canvas", { class: "positions", width, height, role: "img", "aria-label": `${height} positions, a row each, in ${width} dimensions` });
  const image = new ImageData(width, height), most = regard.reach(positions.flatMap((row) => [...row]));
  positions.forEach((row, y) => row.forEach((value, x) => image.data.set([...regard.diverge(value / most), 255], 4 * (y * width + x))));
  regard.pen(canvas).putImageData(image, 0, 0);
  return [canvas, regard.make("p", { class: "legend" }, `Rows: positions 1 to ${height}, from above. Columns: ${width} dimensions. Blue is more than 0, orange less.`)];
};
