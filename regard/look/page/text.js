"use strict";
// Source and translation as running text: pointing at a word shows what it attends to, or what attends to it.
regard.views.push({
  name: "text", title: "Text", key: "1", isScaled: true, isMap: true,
  fits: (data) => !data.isStory,
  says: (state) => [`Point at a word, or tap it, to see what it attends to: ${regard.axes(state.kind, state.byWords).rows} attend to ${regard.axes(state.kind, state.byWords).columns}.`,
    regard.kindSays(state.kind), state.kind === "cross" ? "Words that are linked by the word alignment are underlined." : "", regard.phrases.maps],
  draw(state, box) {
    const { data, kind } = state;
    /** @type {Record<string, [string, string]>} */
    const sides = { cross: ["Source", "Translation"], words: ["Text", "Labels"], labels: ["Labels", "Text"] };
    const isPair = kind in sides;
    const table = data.table(kind, state.key, state.byWords);
    if (!table) return box.append(regard.make("p", {}, "Still being read …"));
    const columns = regard.sentence(table.columns, "column");
    const rows = regard.sentence(table.rows, "row");
    box.append(regard.legend(state, "the largest weight shown"));
    if (isPair) box.append(regard.make("h2", {}, sides[kind][0]), columns.line, regard.make("h2", {}, sides[kind][1]), rows.line);
    else box.append(columns.line);
    const mine = isPair ? rows.spans : columns.spans;
    const links = kind === "cross" && state.byWords ? regard.links(data) : [];

    /** @type {HTMLElement[]} */
    let touched = [];
    const clear = () => {
      for (const span of touched) {
        span.style.cssText = "";
        span.classList.remove("linked", "pointed");
      }
      touched = [];
    };
    const mark = (/** @type {HTMLElement} */ span, /** @type {string} */ name) => { span.classList.add(name); touched.push(span); };
    const paint = (/** @type {HTMLElement[]} */ spans, /** @type {number[]} */ weights) => {
      const most = regard.top(weights);
      spans.forEach((span, place) => {
        span.weight = weights[place];
        const share = regard.share(state, weights[place], most);
        if (share < 0.02) return; // as good as paper
        span.title = weights[place].toFixed(4);
        touched.push(span);
        const color = regard.color(share);
        span.style.cssText = `background:${regard.css(color)};color:${regard.ink(color)}`;
      });
    };
    const point = (/** @type {string} */ side, /** @type {number} */ index) => {
      clear();
      const isRow = side === "row", others = isRow ? columns.spans : mine;
      paint(others, others.map((_, place) => table.values[isRow ? index * table.width + place : place * table.width + index]));
      for (const [x, y] of links) if ((isRow ? y : x) === index) mark(others[isRow ? x : y], "linked");
      mark((isRow ? mine : columns.spans)[index], "pointed");
    };
    const listen = (/** @type {HTMLElement[]} */ spans, /** @type {string} */ side) => spans.forEach((span, index) => {
      for (const event of ["pointerenter", "focus"]) span.addEventListener(event, () => point(side, index));
      span.addEventListener("click", () => { kept = { side, index }; point(side, index); });
      span.addEventListener("pointerleave", () => point(kept.side, kept.index));
    });
    let kept = { side: "row", index: kind === "words" ? 0 : regard.tellingRow(table) }; // so that something is seen before one points
    listen(mine, "row");
    if (isPair) listen(columns.spans, "column");
    point(kept.side, kept.index);
  },
});

// Words of a text in a line that runs the way its script does.
regard.sentence = (labels, side) => {
  const line = regard.make("p", { class: "sentence", dir: "auto" });
  const spans = labels.map((label, index) => {
    const span = regard.make("span", { class: "token", tabindex: "0", "data-side": side, "data-index": index },
      regard.shown(label));
    line.append(span, " ");
    return span;
  });
  return { line, spans };
};

// The alignment by places of words in a table: special tokens take places of their own there.
regard.links = (data) => {
  const about = data.kinds.cross;
  const places = (/** @type {(number | null)[]} */ words) => {
    const found = new Map();
    regard.groups(words).forEach((group, place) => {
      if (words[group[0]] !== null) found.set(words[group[0]], place);
    });
    return found;
  };
  const sources = places(about.column_words), targets = places(about.row_words);
  return data.alignment.map(([source, target]) => [sources.get(source), targets.get(target)]);
};

// The row that is least spread, of those that do not attend to themselves or to the last column: one that shows something.
regard.tellingRow = ({ rows, values, width, height }) => {
  let best = 0, most = 0;
  for (let y = 0; y < height; y++) {
    if (/^(\[(CLS|SEP)\]|<.*>)$/.test(rows[y].trim())) continue; // of a text, not a mark
    const row = values.subarray(y * width, (y + 1) * width), top = regard.top(row), place = row.indexOf(top);
    if (top > most && place !== width - 1 && top < 0.9999) [best, most] = [y, top];
  }
  return best;
};
