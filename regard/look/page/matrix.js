"use strict";
// One map as a matrix on a canvas: rows attend to columns. The wheel zooms, dragging moves, pointing shows the weight.
regard.views.push({
  name: "matrix", title: "Matrix", key: "2", isScaled: true, isMap: true, isPicture: true,
  fits: () => true,
  says: (state) => [
    `Each row is a query, each column a key: ${regard.axes(state.kind, state.byWords).rows} attend to ${regard.axes(state.kind, state.byWords).columns}.`,
    regard.kindSays(state.kind), regard.phrases.maps, "The wheel zooms, dragging moves; arrow keys move from cell to cell."],
  draw(state, box) {
    const table = state.data.table(state.kind, state.key, state.byWords);
    if (!table) return box.append(regard.make("p", {}, "Still being read …"));
    const readout = regard.make("output", { class: "readout", "aria-live": "polite" }, regard.phrases.point(state));
    const pair = regard.make("div", { class: "pair" });
    box.append(regard.make("div", { class: "above" }, regard.legend(state), readout), pair);
    const draw = (/** @type {Table} */ shown, /** @type {string} */ name, /** @type {number} */ share, /** @type {((at: Cross) => void) | undefined} */ pick = undefined) => {
      const canvas = regard.make("canvas", { class: "matrix", tabindex: "0", role: "img",
        "aria-label": `Matrix of attention weights, ${name}: ${shown.height} queries, ${shown.width} keys; arrow keys read it cell by cell` });
      const figure = regard.make("figure", { class: share === 0.5 ? "half" : undefined }, share < 1 ? regard.make("figcaption", {}, name) : "", canvas);
      pair.append(figure);
      const room = Math.max(260, (box.clientWidth || 800) * share - 8);
      regard.matrix(canvas, shown, state, readout, { axes: regard.axes(state.kind, state.byWords), room, pick });
    };
    const pick = regard.cellPicker(state);
    const other = regard.besideTable(state);
    const isWide = box.clientWidth > 760;
    draw(table, state.beside.startsWith("model:") ? `${regard.about?.label ?? regard.about?.id}: ${state.data.answer}` : regard.keyName(state), other && isWide ? 0.5 : 1, pick);
    if (other) draw(other.table, other.name, isWide ? 0.5 : 0.999);
  },
});

// A click on a cell opens its numbers, where a model is there to compute them and one head is shown.
regard.cellPicker = (state) => {
  if (!state.data.live?.isInside) return undefined;
  return ({ x, y }) => {
    const about = state.data.kinds[state.kind];
    const rows = state.byWords ? regard.groups(about.row_words) : about.rows.map((_, i) => [i]);
    const columns = state.byWords ? regard.groups(about.column_words) : about.columns.map((_, i) => [i]);
    if (!state.key.includes("-")) state.key = regard.strongestHead(state, rows[y][0], columns[x][0]);
    state.cell = { row: rows[y][0], column: columns[x][0] };
    state.view = "numbers";
    state.refresh();
  };
};

// The head that attends most from a row to a column.
regard.strongestHead = (state, row, column) => {
  const about = state.data.kinds[state.kind], width = about.columns.length;
  let best = "1-1", most = -1;
  for (let layer = 1; layer <= about.layers; layer++) {
    for (let head = 1; head <= about.heads; head++) {
      const weight = state.data.map(state.kind, `${layer}-${head}`)?.[row * width + column] ?? 0;
      if (weight > most) [best, most] = [`${layer}-${head}`, weight];
    }
  }
  return best;
};

// The room that labels take and the size of a cell.
regard.matrixShape = (draw, table, room, hasTitles) => {
  draw.font = regard.matrixFont;
  const widest = (/** @type {string[]} */ labels) => Math.ceil(Math.max(8, ...labels.slice(0, 400).map((label) => draw.measureText(regard.shown(label)).width)));
  const title = hasTitles ? 22 : 0, rowRoom = Math.min(widest(table.rows), 0.38 * room, 260), columnRoom = Math.min(widest(table.columns), 200);
  const left = title + rowRoom + 12, tall = Math.max(320, 0.66 * window.innerHeight);
  const wide = (room - left - 4) / table.width, isFlat = columnRoom + 6 <= Math.min(72, wide), isTurned = !isFlat && wide < 18;
  const slant = isFlat || isTurned ? 0 : Math.ceil(0.71 * widest(table.columns.slice(-1)));
  const cellX = Math.max(1, Math.min(72, Math.floor((room - left - 4 - Math.min(slant, 150)) / table.width)));
  const above = title + (isFlat ? 22 : isTurned ? columnRoom + 10 : Math.ceil(0.71 * columnRoom) + 18);
  const cellY = Math.max(1, Math.min(40, Math.max(table.height > 60 ? 1 : 18, Math.floor((tall - above) / table.height)), table.height > 60 ? cellX : 40));
  return { left, above, cellX, cellY, rowRoom, columnRoom, isFlat, isTurned, x: left + cellX * table.width + Math.max(4, Math.min(slant, 150)), y: above + cellY * table.height + 4 };
};

regard.matrixFont = "14px system-ui, sans-serif";

regard.matrix = (canvas, table, state, readout, { axes, room = Math.max(280, (canvas.parentElement?.clientWidth ?? 0) - 8), pick } = {}) => {
  const { width, height } = table, ratio = window.devicePixelRatio || 1, draw = regard.pen(canvas);
  const shape = regard.matrixShape(draw, table, room, Boolean(axes)), { left, above, cellX, cellY } = shape;
  Object.assign(canvas, { width: shape.x * ratio, height: shape.y * ratio });
  Object.assign(canvas.style, { width: `${shape.x}px`, height: `${shape.y}px` });
  const dots = regard.matrixDots(table, state), empty = readout.textContent;
  const paint = (/** @type {Cross | null} */ pointed) => regard.paintMatrix({ draw, table, state, shape, ratio, dots, axes }, pointed);
  const find = (/** @type {MouseEvent} */ event) => {
    const box = canvas.getBoundingClientRect();
    const x = Math.floor((event.clientX - box.left - left + state.moveX) / (cellX * state.zoom));
    const y = Math.floor((event.clientY - box.top - above + state.moveY) / (cellY * state.zoom));
    const isInside = event.clientX - box.left >= left && event.clientY - box.top >= above;
    return isInside && x >= 0 && y >= 0 && x < width && y < height ? { x, y } : null;
  };
  const limit = () => {
    state.moveX = Math.min(Math.max(0, state.moveX), cellX * width * (state.zoom - 1));
    state.moveY = Math.min(Math.max(0, state.moveY), cellY * height * (state.zoom - 1));
  };
  const point = (/** @type {Cross | null} */ at) => {
    readout.textContent = at
      ? `${regard.shown(table.rows[at.y])} attends to ${regard.shown(table.columns[at.x])}: ${table.values[at.y * width + at.x].toFixed(4)}`
      : empty;
    paint(at);
  };
  /** @type {{ x: number, y: number, isMoved: boolean } | null} */
  let held = null;
  /** @type {Cross | null} */
  let at = null;
  canvas.addEventListener("pointermove", (event) => {
    if (held && (held.isMoved || Math.hypot(held.x - event.clientX, held.y - event.clientY) > 4)) {
      state.moveX += held.x - event.clientX;
      state.moveY += held.y - event.clientY;
      held = { x: event.clientX, y: event.clientY, isMoved: true };
      limit();
    }
    point(at = find(event));
  });
  canvas.addEventListener("pointerdown", (event) => { held = { x: event.clientX, y: event.clientY, isMoved: false }; });
  canvas.addEventListener("pointerup", (event) => {
    const place = held && !held.isMoved ? find(event) : null;
    held = null;
    if (place && pick) pick(place);
  });
  canvas.addEventListener("pointerleave", () => { held = null; });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    regard.zoom(state, event.deltaY < 0 ? 1.25 : 0.8);
    limit();
    paint(find(event));
  }, { passive: false });
  canvas.addEventListener("keydown", (event) => {
    const next = regard.nextCell(at, event.key, table);
    if (event.key === "Enter" && at && pick) pick(at);
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    point(at = next);
  });
  state.repaint = () => { limit(); paint(null); };
  paint(null);
};

// The cell that an arrow key leads to; null for another key.
regard.nextCell = (at, key, { width, height }) => {
  if (key === "Home") return { x: 0, y: 0 };
  if (key === "End") return { x: width - 1, y: height - 1 };
  const step = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
  if (!step) return null;
  if (!at) return { x: 0, y: 0 };
  const clamp = (/** @type {number} */ value, /** @type {number} */ count) => Math.min(count - 1, Math.max(0, value));
  return { x: clamp(at.x + step[0], width), y: clamp(at.y + step[1], height) };
};

// What draws on a canvas: a browser has one for every canvas that has no other.
regard.pen = (canvas) => /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));

regard.top = (values) => {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
};

regard.zoom = (state, factor) => {
  state.zoom = Math.min(40, Math.max(1, state.zoom * factor));
};
