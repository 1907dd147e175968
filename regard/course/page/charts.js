"use strict";
// Charts of the lessons: numbers as bars, as a table, as a table of shades, as lines. Text is always text.

/** @param {number} value @param {number} [digits] */
course.number = (value, digits = 3) => (Math.abs(value) > 0 && Math.abs(value) < 10 ** -digits ? value.toExponential(1) : value.toFixed(digits));

/** A difference that ought to be nothing: its power of ten. @param {number} value */
course.tiny = (value) => (value === 0 ? "0" : value.toExponential(1));

/** A number that may be of any size: as it is, or as a power of ten. @param {number} value */
course.power = (value) => (value >= 0.001 && value < 1000 ? course.number(value, 2) : `10${[...String(Math.round(Math.log10(value)))].map((sign) => (sign === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[Number(sign)])).join("")}`);

/** A token as a label; the mark that begins a text by a word. @param {string} text */
course.label = (text) => (text === "" ? "" : /^<(s|\|endoftext\|)>$/.test(text) ? "begin" : regard.shown(text));

/** A bar for each number, 1 being the whole width unless `most` says otherwise. @param {string[]} labels @param {ArrayLike<number>} values @param {number} [most] @param {number} [digits] */
course.bars = (labels, values, most = 1, digits = 3) => regard.make("table", { class: "bars" }, ...labels.map((label, i) => regard.make("tr", {},
  regard.make("th", {}, course.label(label)),
  regard.make("td", { class: "room" }, regard.make("span", { class: "bar", style: `width:${100 * Math.max(0, Math.min(1, values[i] / most))}%` })),
  regard.make("td", { class: "number" }, course.number(values[i], digits)))));

/** A plain table. @param {string[]} columns @param {(string | number)[][]} rows the first cell of each is its name */
course.table = (columns, rows) => regard.make("div", { class: "scroll" }, regard.make("table", { class: "facts" },
  regard.make("tr", {}, regard.make("th"), ...columns.map((column) => regard.make("th", {}, column))),
  ...rows.map(([name, ...cells]) => regard.make("tr", {}, regard.make("th", {}, String(name)), ...cells.map((cell) => regard.make("td", { class: "number" }, String(cell)))))));

/**
 * A table of numbers, shaded by their size; of both signs in two colors. null is a cell that may not be attended to.
 * plain: small numbers are 0 · bare: shades alone, the number when one points at it · act: what a click on a cell does
 * @param {string[]} rows @param {string[]} columns @param {(number | null)[][]} values
 * @param {{ digits?: number, act?: ((y: number, x: number) => void) | null, plain?: boolean, bare?: boolean }} [how]
 */
course.heat = (rows, columns, values, { digits = 2, act = null, plain = false, bare = false } = {}) => {
  const finite = values.flat().filter((value) => value !== null && Number.isFinite(value)).map(Number);
  const most = Math.max(1e-9, ...finite.map(Math.abs));
  const cell = (/** @type {number | null} */ value, /** @type {number} */ y, /** @type {number} */ x) => {
    const isShown = value !== null && Number.isFinite(value), text = isShown ? (plain ? value.toFixed(digits) : course.number(value, digits)) : "";
    const style = isShown ? `--share:${((75 * Math.abs(value)) / most).toFixed(1)}%` : "";
    const kind = isShown ? `number ${value < 0 ? "below" : "shade"}` : "masked";
    const clicked = act && { onclick: () => act(y, x), onkeydown: (/** @type {any} */ event) => { if (["Enter", " "].includes(event.key)) { event.preventDefault(); act(y, x); } }, tabindex: 0, role: "button", "aria-label": `${rows[y]}, ${columns[x]}: ${text || "masked"}` };
    return regard.make("td", { class: kind, style, ...(bare && isShown ? { title: `${rows[y]} → ${columns[x]}: ${text}` } : {}), ...(clicked ?? {}) }, bare ? "" : text);
  };
  return regard.make("div", { class: "scroll" }, regard.make("table", { class: bare ? "heat bare" : "heat" },
    regard.make("tr", {}, regard.make("th"), ...columns.map((column) => regard.make("th", {}, regard.make("span", {}, course.label(column))))),
    ...values.map((row, y) => regard.make("tr", {}, regard.make("th", {}, course.label(rows[y])), ...row.map((value, x) => cell(value, y, x))))));
};

/**
 * Lines over steps, each with its name at its end. ticks: what stands at certain heights, else the largest number
 * @param {Record<string, number[]>} series @param {{ most?: number | null, across?: string, ticks?: [number, string][] | null }} [how]
 */
course.lines = (series, { most = null, across = "step", ticks = null } = {}) => {
  const [width, height, left] = [520, 200, 44], space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  const draw = (/** @type {string} */ name, /** @type {Record<string, string | number>} */ attributes, text = "") => {
    const part = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, String(value));
    part.textContent = text;
    svg.append(part);
  };
  svg.setAttribute("viewBox", `0 0 ${width + 160} ${height + 24}`);
  svg.setAttribute("class", "chart");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", Object.entries(series).map(([name, line]) => `${name}: from ${course.number(line[0])} to ${course.number(line[line.length - 1])}`).join("; "));
  const all = Object.values(series).flat(), top = most ?? Math.max(...all, 1e-9), long = Math.max(...Object.values(series).map((line) => line.length));
  const up = (/** @type {number} */ value) => height - (Math.max(0, Math.min(value, top)) / top) * (height - 10);
  draw("path", { d: `M${left} 0V${height}H${width}`, class: "axis" });
  for (const [value, text] of ticks ?? [[0, "0"], [top, course.number(top, 1)]]) draw("text", { x: left - 5, y: up(Number(value)) + 4, "text-anchor": "end" }, String(text));
  draw("text", { x: width, y: height + 18, "text-anchor": "end" }, `${across} ${long - 1}`);
  const ends = /** @type {number[]} */ ([]);
  Object.entries(series).forEach(([name, line], i) => {
    const points = line.map((value, step) => `${(left + (step / Math.max(1, long - 1)) * (width - left)).toFixed(1)},${up(value).toFixed(1)}`);
    draw("polyline", { points: points.join(" "), class: `series-${i % 5}` });
    let y = up(line[line.length - 1]) + 4;
    while (ends.some((other) => Math.abs(other - y) < 14)) y += y < 40 ? 14 : -14;
    ends.push(y);
    draw("text", { x: width + 6, y, class: `series-${i % 5}` }, ticks ? name : `${name} ${course.number(line[line.length - 1], 2)}`);
  });
  return svg;
};
