"use strict";
// Heads as lines between two columns of tokens: the stronger the attention, the stronger the line.
regard.views.push({
  name: "lines", title: "Lines", key: "3", isScaled: true, isMap: true, isPicture: true,
  fits: (data) => !data.isStory,
  says: (state) => [`From each of the ${regard.axes(state.kind, state.byWords).rows} on the left to what it attends to on the right.`, regard.kindSays(state.kind), regard.phrases.maps],
  draw(state, box) {
    const table = state.data.table(state.kind, state.key, state.byWords);
    if (!table) return box.append(regard.make("p", {}, "Still being read …"));
    const line = 26, wide = Math.max(300, Math.min(1000, box.clientWidth - 8));
    const tall = line * Math.max(table.height, table.width) + 40;
    const [from, to] = [0.34 * wide, 0.66 * wide];
    const svg = regard.svg("svg", { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, class: "lines" });
    const strokes = regard.svg("g", {});
    svg.append(strokes);
    const middle = (/** @type {number} */ index) => 34 + line * (index + 0.5);
    const draw = (/** @type {number | null} */ only) => {
      strokes.replaceChildren();
      const faint = table.height * table.width > 2500 && only === null ? 0.2 : 0.03; // of many, only the strong ones
      for (let y = 0; y < table.height; y++) {
        if (only !== null && only !== y) continue;
        const most = regard.top(table.values.subarray(y * table.width, (y + 1) * table.width));
        for (let x = 0; x < table.width; x++) {
          const weight = regard.share(state, table.values[y * table.width + x], most);
          if (weight < faint) continue;
          strokes.append(regard.svg("line", {
            x1: from + 6, y1: middle(y), x2: to - 6, y2: middle(x), "stroke-opacity": weight, "stroke-width": 1 + 3 * weight,
          }));
        }
      }
    };
    table.rows.forEach((label, y) => {
      const text = regard.svg("text", { x: from, y: middle(y), "text-anchor": "end", "data-row": y, tabindex: "0" });
      text.textContent = regard.cut(regard.shown(label), Math.floor(wide / 24));
      for (const event of ["pointerenter", "focus"]) text.addEventListener(event, () => draw(y));
      text.addEventListener("pointerleave", () => draw(null));
      svg.append(text);
    });
    table.columns.forEach((label, x) => {
      const text = regard.svg("text", { x: to, y: middle(x), "data-column": x });
      text.textContent = regard.cut(regard.shown(label), Math.floor(wide / 24));
      svg.append(text);
    });
    const axes = regard.axes(state.kind, state.byWords);
    svg.append(...(wide < 560 ? [regard.svgText(`queries: ${axes.rows}`, { x: 0, y: 14, class: "title" }), regard.svgText(`keys: ${axes.columns}`, { x: wide, y: 14, "text-anchor": "end", class: "title" })]
      : [regard.svgText(`queries: ${axes.rows}`, { x: from, y: 14, "text-anchor": "end", class: "title" }), regard.svgText(`keys: ${axes.columns}`, { x: to, y: 14, class: "title" })]));
    draw(null);
    box.append(regard.make("p", { class: "legend" }, "Left attends to right; a full line is ",
      state.scale === "row" ? "the largest weight of its row. " : "1, all attention of a row. ", "Point at a word on the left to see it alone."), svg);
  },
});

regard.space = (() => {
  const box = document.createElement("div");
  box.innerHTML = "<svg></svg>";
  return box.firstElementChild?.namespaceURI ?? ""; // so that no address is in this file
})();

regard.svg = (name, attributes) => {
  const element = document.createElementNS(regard.space, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, String(value));
  return element;
};

regard.svgText = (text, attributes) => {
  const element = regard.svg("text", attributes);
  element.textContent = text;
  return element;
};
