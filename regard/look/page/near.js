"use strict";
// Embeddings and positions as pictures: the words of the text on a plane with those nearest to them, and the vector of each position.
regard.views.push({
  name: "near", title: "Words", key: "7", group: "Inside", isPicture: true,
  fits: (data) => Boolean(data.live?.isInside),
  says: () => ["Before any layer, each token is a vector from a table. Tokens used alike lie near each other.",
    "Near is the cosine of two vectors: 1 is the same direction, 0 nothing in common. The plane shows the two principal components of these vectors, so much of what separates them is not in the picture.",
    "A position is a vector that is added to the token's (sinusoidal or learned), or an angle by which queries and keys are turned (rotary): without it, a text would be a bag of words."],
  draw(state, box) {
    const live = /** @type {Live} */ (state.data.live);
    regard.later(box, live.ask("/api/near", {}), (/** @type {Near} */ found) => [regard.make("div", { class: "columns" },
      regard.make("section", { class: "card wide" }, regard.make("h2", {}, "On a plane"), regard.planeSvg(found.points),
        regard.make("p", { class: "legend" }, "Large: tokens of this text. Small: tokens near them in the embedding; where a name has no room, point at the dot.")),
      regard.make("section", { class: "card" }, regard.make("h2", {}, "Nearest tokens"), regard.nearTable(found.words)),
      regard.make("section", { class: "card" }, regard.make("h2", {}, "Positions"), ...regard.positionsOf(found.positions)))]);
  },
});

regard.planeSvg = (points) => {
  const isNarrow = window.innerWidth < 700, wide = isNarrow ? 400 : 720, tall = isNarrow ? 420 : 460, edge = isNarrow ? 20 : 40, xs = points.map((point) => point.x), ys = points.map((point) => point.y);
  const scale = (/** @type {number} */ value, /** @type {number[]} */ all, /** @type {number} */ size) => edge + ((value - Math.min(...all)) / (Math.max(...all) - Math.min(...all) || 1)) * (size - 2 * edge);
  const svg = regard.svg("svg", { viewBox: `0 0 ${wide} ${tall}`, class: "plane", role: "img", "aria-label": "Tokens of the text and those nearest to them, by the first two principal components of their embeddings" });
  const pen = regard.pen(document.createElement("canvas")), taken = /** @type {number[][]} */ ([]);
  for (const point of [...points].sort((a, b) => Number(b.isHere) - Number(a.isHere))) {
    const x = scale(point.x, xs, wide), y = scale(point.y, ys, tall), kind = point.isHere ? "here" : "other", text = regard.cut(regard.shown(point.token), 18);
    const dot = regard.svg("circle", { cx: x.toFixed(1), cy: y.toFixed(1), r: point.isHere ? 4 : 2.5, class: kind }), title = regard.svg("title", {});
    title.textContent = text;
    dot.append(title);
    svg.append(dot);
    pen.font = point.isHere ? "600 14px system-ui, sans-serif" : "12px system-ui, sans-serif";
    const place = regard.placeLabel(x, y, pen.measureText(text).width, point.isHere ? 16 : 13, { wide, tall, taken });
    if (place) svg.append(regard.svgText(text, { x: place.x.toFixed(1), y: place.y.toFixed(1), class: kind, "text-anchor": "middle" }));
  }
  return svg;
};

// Where a label beside a dot covers no other: the middle of the first free place, or null; tokens of the text come first, and always have one.
regard.placeLabel = (x, y, long, high, { wide, tall, taken }) => {
  const aside = long / 2 + 7, above = high / 2 + 5;
  for (const [dx, dy] of [[aside, 0], [-aside, 0], [0, -above], [0, above], [aside, -above], [-aside, -above], [aside, above], [-aside, above]]) {
    const box = [x + dx - long / 2, y + dy - high / 2, x + dx + long / 2, y + dy + high / 2];
    const isFree = box[0] >= 0 && box[1] >= 0 && box[2] <= wide && box[3] <= tall && !taken.some((other) => box[0] < other[2] && other[0] < box[2] && box[1] < other[3] && other[1] < box[3]);
    if (!isFree) continue;
    taken.push(box);
    return { x: x + dx, y: y + dy };
  }
  return null;
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
