"use strict";
// Controls and charts of the lessons: numbers as bars, as a table of shades, as lines. Text is always text.
course.number = (value, digits = 3) => (Math.abs(value) > 0 && Math.abs(value) < 10 ** -digits ? value.toExponential(1) : value.toFixed(digits));

course.label = (text) => (text === "" ? "" : regard.shown(text));

course.slider = (label, [least, most, step, value], change) => {
  const shown = regard.make("output", {}, String(value));
  const input = regard.make("input", { type: "range", min: least, max: most, step, value, "aria-label": label, oninput: (event) => {
    shown.textContent = event.target.value;
    change(Number(event.target.value));
  } });
  return regard.make("label", { class: "slider" }, `${label} `, input, " ", shown);
};

course.button = (label, act) => regard.make("button", { type: "button", onclick: act }, label);

course.select = (label, options, change) => regard.make("label", {}, `${label} `, regard.make("select", { "aria-label": label, onchange: (event) => change(event.target.selectedIndex) },
  ...options.map((option) => regard.make("option", {}, option))));

course.tick = (label, change) => regard.make("label", {}, regard.make("input", { type: "checkbox", onchange: (event) => change(event.target.checked) }), ` ${label}`);

course.input = (label, value, change) => {
  const field = regard.make("input", { type: "text", "aria-label": label, oninput: (event) => change(event.target.value) });
  field.value = value;
  return regard.make("label", { class: "wide" }, `${label} `, field);
};

course.area = (label, value, change) => {
  const field = regard.make("textarea", { "aria-label": label, rows: value.split("\n").length + 1, oninput: (event) => change(event.target.value) });
  field.value = value;
  return regard.make("label", { class: "wide" }, label, field);
};

course.row = (...parts) => regard.make("div", { class: "controls" }, ...parts);
course.note = (text) => regard.make("p", { class: "note" }, text);

// A bar for each number, 1 being the whole width unless `most` says otherwise.
course.bars = (labels, values, most = 1) => regard.make("table", { class: "bars" }, ...labels.map((label, i) => regard.make("tr", {},
  regard.make("th", {}, course.label(label)),
  regard.make("td", {}, regard.make("span", { class: "bar", style: `width:${Math.max(0, Math.min(1, values[i] / most)) * 16}em` })),
  regard.make("td", { class: "number" }, course.number(values[i])))));

// A table of numbers, shaded by their size; of both signs in two colors. null is a cell that may not be attended to; plain:
// small numbers are 0.
course.heat = (rows, columns, values, { digits = 2, act = null, plain = false } = {}) => {
  const finite = values.flat().filter((value) => value !== null && Number.isFinite(value));
  const most = Math.max(1e-9, ...finite.map(Math.abs));
  const cell = (value, y, x) => {
    const isShown = value !== null && Number.isFinite(value);
    const share = isShown ? Math.abs(value) / most : 0, color = value < 0 ? "214,111,16" : "36,104,166";
    return regard.make("td", { class: "number", style: isShown ? `background:rgba(${color},${(0.75 * share).toFixed(3)})` : "background:repeating-linear-gradient(45deg,#8884,#8884 3px,#8880 3px,#8880 6px)",
      ...(act ? { onclick: () => act(y, x), tabindex: 0, role: "button" } : {}) }, isShown ? (plain ? value.toFixed(digits) : course.number(value, digits)) : "");
  };
  return regard.make("div", { class: "scroll" }, regard.make("table", { class: "heat" },
    regard.make("tr", {}, regard.make("th"), ...columns.map((column) => regard.make("th", {}, course.label(column)))),
    ...values.map((row, y) => regard.make("tr", {}, regard.make("th", {}, course.label(rows[y])), ...row.map((value, x) => cell(value, y, x))))));
};

// Lines over steps, each with its name at its end.
course.lines = (series, { most = null, across = "step" } = {}) => {
  const [width, height] = [560, 200], space = "http://www.w3.org/2000/svg", colors = ["#2468a6", "#d66f10", "#2a8a57", "#8a4fa3", "#8a8a2a"];
  const svg = document.createElementNS(space, "svg");
  const draw = (name, attributes, text = "") => {
    const part = document.createElementNS(space, name);
    for (const [key, value] of Object.entries(attributes)) part.setAttribute(key, String(value));
    part.textContent = text;
    svg.append(part);
  };
  svg.setAttribute("viewBox", `0 0 ${width + 150} ${height + 24}`);
  svg.setAttribute("class", "chart");
  const all = Object.values(series).flat(), top = most ?? Math.max(...all, 1e-9), long = Math.max(...Object.values(series).map((line) => line.length));
  draw("path", { d: `M30 0V${height}H${width}`, class: "axis" });
  draw("text", { x: 26, y: 10, "text-anchor": "end" }, course.number(top, 1));
  draw("text", { x: width, y: height + 18, "text-anchor": "end" }, `${across} ${long - 1}`);
  const ends = [];
  Object.entries(series).forEach(([name, line], i) => {
    const place = (value, step) => `${(30 + (step / Math.max(1, long - 1)) * (width - 30)).toFixed(1)},${(height - (Math.min(value, top) / top) * (height - 4)).toFixed(1)}`;
    draw("polyline", { points: line.map(place).join(" "), stroke: colors[i % colors.length] });
    let y = height - (Math.min(line.at(-1), top) / top) * (height - 4) + 4;
    while (ends.some((other) => Math.abs(other - y) < 14)) y += y < 40 ? 14 : -14;
    ends.push(y);
    draw("text", { x: width + 6, y, fill: colors[i % colors.length] }, `${name} ${course.number(line.at(-1), 2)}`);
  });
  return svg;
};
