"use strict";
// One row of one head down to its numbers: query, keys, their products, scale, mask, softmax, and what the values bring.
regard.views.push({
  name: "numbers", title: "One cell", key: "5", isMap: true, isSingle: true,
  fits: (data) => Boolean(data.live?.isInside),
  says: () => ["How one attention weight came about: a query times each key, divided, made positive and to add up to 1; then the values are fetched in these shares.",
    "A head turns each token into a query (what it searches for), a key (what it offers) and a value (what it hands over). The query is multiplied with every key, dimension by dimension; the sum, divided by the square root of the number of dimensions, is the score.",
    "Keys that may not be seen (later ones, in a decoder) are masked. Softmax makes weights of the scores of a row. Each value, times its weight, goes through the head's part of the output projection into the residual stream.",
    "A large weight on a short value brings little: so beside plain attention is attention times the length of what is brought (Kobayashi et al. 2020).",
    "Drag a weight to set it: the others share the rest as before, and the model computes on with them."],
  draw(state, box) {
    if (!state.key.includes("-")) state.key = regard.firstHead(state);
    const { data, kind } = state, about = data.kinds[kind], [layer, head] = state.key.split("-").map(Number), live = /** @type {Live} */ (data.live);
    const cell = regard.cellOf(state);
    const pick = (/** @type {string} */ name, /** @type {string[]} */ labels, /** @type {number} */ chosen, /** @type {"row" | "column"} */ part) =>
      regard.choose(name, labels.map((label, i) => [String(i), `${i + 1}. ${regard.shown(label)}`]), String(chosen), (value) => {
        state.cell = { ...cell, [part]: Number(value) };
        if (part === "row") state.cell.column = regard.strongestIn(state, Number(value));
        state.refresh();
      });
    box.append(regard.make("div", { class: "tools" }, pick("query", about.rows, cell.row, "row"), pick("key", about.columns, cell.column, "column")));
    regard.later(box, live.ask("/api/numbers", { kind, layer, head: head - 1, row: cell.row }), (/** @type {CellNumbers} */ found) => {
      const word = (/** @type {string} */ label) => regard.make("b", {}, regard.make("bdi", {}, regard.shown(label)));
      return [
        regard.make("p", { class: "lead" }, word(about.rows[cell.row]), " gives ", regard.make("b", {}, found.weights[cell.column].toFixed(3)), ` of this head's attention to `, word(about.columns[cell.column]), "."),
        regard.make("div", { class: "columns" }, regard.make("div", { class: "stack" }, regard.productCard(found, cell), regard.headsCard(state, found)), regard.rowCard(state, found, cell)),
      ];
    });
  },
});

regard.firstHead = (state) => (state.kind === "cross" && state.data.aligning ? `${state.data.aligning.layer + 1}-${state.data.aligning.heads[0] + 1}` : "1-1");

regard.strongestIn = (state, row) => {
  const width = state.data.kinds[state.kind].columns.length, values = state.data.map(state.kind, state.key);
  if (!values) return 0;
  const own = [...values.subarray(row * width, (row + 1) * width)];
  return own.indexOf(Math.max(...own));
};

// The chosen cell, or one of a row that attends to more than one place.
regard.cellOf = (state) => {
  const about = state.data.kinds[state.kind], { cell } = state;
  if (cell && cell.row < about.rows.length && cell.column < about.columns.length) return cell;
  const values = state.data.map(state.kind, state.key), width = about.columns.length;
  const tops = about.rows.map((_, y) => Math.abs(0.7 - regard.top(values?.subarray(y * width, (y + 1) * width) ?? []))), row = tops.indexOf(Math.min(...tops)); // neither sure nor lost
  return (state.cell = { row, column: regard.strongestIn(state, row) });
};

// Query, key and product, one column a dimension, and the sum.
regard.productCard = (found, { column }) => {
  const { query, keys, scale, scores, may, temperature } = found, key = keys[column], count = query.length;
  const products = query.map((value, i) => value * key[i]), sum = products.reduce((total, value) => total + value, 0);
  const wide = 440, left = 66, step = (wide - left) / count, line = 34;
  const svg = regard.svg("svg", { viewBox: `0 0 ${wide} ${3 * line + 4}`, class: "strips", role: "img", "aria-label": `query, key and their product in ${count} dimensions; the products add up to ${sum.toFixed(2)}` });
  [["query", query], ["key", key], ["product", products]].forEach(([name, values], y) => {
    const most = regard.reach([.../** @type {Float32Array} */ (values)]);
    svg.append(regard.svgText(String(name), { x: left - 8, y: y * line + line / 2, "text-anchor": "end" }));
    /** @type {Float32Array} */ (values).forEach((value, i) => {
      const rect = regard.svg("rect", { x: (left + i * step).toFixed(2), y: y * line + 2, width: Math.max(0.5, step - 0.6).toFixed(2), height: line - 4, fill: regard.css(regard.diverge(value / most)) });
      const title = regard.svg("title", {});
      title.textContent = `dimension ${i + 1}: ${regard.number(value, 3)}`;
      rect.append(title);
      svg.append(rect);
    });
  });
  const best = products.reduce((top, value, i) => (Math.abs(value) > Math.abs(products[top]) ? i : top), 0);
  const line2 = (/** @type {string} */ name, /** @type {string} */ value) => regard.make("tr", {}, regard.make("th", { scope: "row" }, name), regard.make("td", { class: "number" }, value));
  return regard.make("section", { class: "card" }, regard.make("h2", {}, "1 · Query times key"), svg,
    regard.make("p", { class: "legend" }, "Blue is more than 0, orange less. ", `Dimension ${best + 1} counts most: ${regard.number(query[best], 2)} × ${regard.number(key[best], 2)} = ${regard.number(products[best], 2)}.`),
    regard.make("table", { class: "sums" }, line2("sum of the products", regard.number(sum, 3)), line2(`÷ √${count} = ${scale.toFixed(2)}`, regard.number(scores[column], 3)),
      temperature === 1 ? "" : line2(`÷ temperature ${regard.temperatureName(temperature)}`, ""), line2("mask", may[column] ? "may be seen" : "masked: weight 0"), line2("softmax of the row", found.weights[column].toFixed(3))));
};

// Every key of the row: score, weight (which can be set), and the share of what is brought.
regard.rowCard = (state, found, cell) => {
  const about = state.data.kinds[state.kind], live = /** @type {Live} */ (state.data.live), { weights, scores, norms, may } = found;
  const brought = norms.map((norm, i) => norm * weights[i]), whole = brought.reduce((sum, value) => sum + value, 0) || 1;
  const [layer, head] = state.key.split("-").map(Number), name = regard.partsOf(state.data.kinds).find((part) => part.kind === state.kind && part.layer === layer && part.heads)?.name;
  const set = (/** @type {number} */ column, /** @type {number | null} */ value) => {
    const others = live.changes.edits.filter((edit) => !(edit.what === "weight" && edit.name === name && edit.head === head - 1 && edit.row === cell.row && edit.column === column));
    live.change(value === null ? others : [...others, { what: "weight", name, head: head - 1, row: cell.row, column, value }]);
  };
  const order = weights.length <= 40 ? [...weights.keys()] : regard.largestOf(weights, 40).sort((a, b) => a - b);
  const rows = order.map((i) => {
    const readout = regard.make("output", {}, weights[i].toFixed(3)), isFixed = found.fixed.includes(i);
    const slider = regard.make("input", { type: "range", min: 0, max: 1, step: 0.01, value: weights[i], disabled: !may[i], "data-focus": `weight-${i}`, "data-column": i,
      "aria-label": `attention to ${regard.shown(about.columns[i])}`, style: `--share:${(100 * weights[i]).toFixed(1)}%` });
    slider.addEventListener("input", () => { readout.textContent = Number(slider.value).toFixed(2); slider.style.setProperty("--share", `${100 * Number(slider.value)}%`); });
    slider.addEventListener("change", () => set(i, Number(slider.value)));
    return regard.make("tr", { class: i === cell.column ? "chosen" : undefined },
      regard.make("th", { scope: "row" }, regard.make("button", { class: "plain", "data-focus": `key-${i}`, onclick: () => { state.cell = { ...cell, column: i }; state.refresh(); } }, regard.make("bdi", {}, regard.shown(about.columns[i])))),
      regard.make("td", { class: "number" }, may[i] ? regard.number(scores[i], 2) : "masked"), regard.make("td", { class: "slide" }, slider),
      regard.make("td", { class: "number" }, readout, isFixed ? regard.make("button", { class: "chip", title: "let the model compute it", onclick: () => set(i, null) }, "set ×") : ""),
      regard.make("td", { class: "number" }, norms[i].toFixed(2)), regard.barCell(brought[i] / whole, 1));
  });
  const heads = ["key", "score", "attention", "", "value’s length", "share brought"];
  return regard.make("section", { class: "card wide" }, regard.make("h2", {}, "2 · Softmax over the row, and the values it brings"),
    regard.scroll("Keys of the row", regard.make("table", { class: "softmax" }, regard.headRow(heads), ...rows)),
    order.length < weights.length ? regard.make("p", { class: "legend" }, `The ${order.length} strongest of ${weights.length} keys.`) : "");
};

regard.largestOf = (values, count) => [...values.keys()].sort((a, b) => values[b] - values[a]).slice(0, count);

// What each head of the layer writes into the residual stream at this place.
regard.headsCard = (state, found) => {
  const [, head] = state.key.split("-").map(Number), most = regard.reach(found.written);
  return regard.make("section", { class: "card" }, regard.make("h2", {}, "This head among those of its layer"),
    regard.make("p", { class: "legend" }, "The length of what each head writes into the residual stream at this place."),
    regard.make("table", {}, ...found.written.map((norm, i) => regard.make("tr", { class: i === head - 1 ? "chosen" : undefined },
      regard.make("th", { scope: "row" }, `head ${i + 1}`), regard.barCell(norm, most)))));
};

// A bar with its number.
regard.barCell = (value, most) => regard.make("td", { class: "barred", "data-value": value },
  regard.make("span", { class: "track" }, regard.make("i", { class: "bar", style: `width:${(100 * Math.min(1, Math.abs(value) / (most || 1))).toFixed(1)}%;background:${regard.css(regard.side(value))}` })),
  regard.make("small", {}, regard.number(value, 2)));
