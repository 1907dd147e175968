"use strict";
// One map as a matrix on a canvas: rows attend to columns. The wheel zooms, dragging moves, pointing shows the weight.
regard.views.push({
  name: "matrix", title: "Matrix", key: "2", isScaled: true,
  fits: () => true,
  draw(state, box) {
    const table = state.data.table(state.kind, state.key, state.byWords);
    if (!table) return box.append(regard.make("p", {}, "Still being read …"));
    const canvas = regard.make("canvas", { class: "matrix", tabindex: "0", "aria-label": "Matrix of weights" });
    const readout = regard.make("output", { class: "readout" }, "Point at a cell.");
    box.append(regard.legend(state), readout, canvas);
    regard.matrix(canvas, table, state, readout);
  },
});

regard.matrix = (canvas, table, state, readout) => {
  const { width, height } = table;
  const ratio = window.devicePixelRatio || 1;
  const room = Math.max(280, Math.min(1100, (canvas.parentElement?.clientWidth ?? 0) - 8));
  const longest = (/** @type {string[]} */ labels) => Math.min(14, Math.max(...labels.map((label) => regard.shown(label).length)));
  const left = 12 + 8 * longest(table.rows), above = 12 + 8 * longest(table.columns);
  const cell = Math.max(1, Math.min(34, Math.floor((room - left) / width)));
  const size = { x: left + cell * width + 8, y: above + cell * height + 8 };
  canvas.width = size.x * ratio;
  canvas.height = size.y * ratio;
  canvas.style.width = `${size.x}px`;
  canvas.style.height = `${size.y}px`;
  const draw = regard.pen(canvas);

  // All cells once, one dot each; zooming only stretches it.
  const dots = document.createElement("canvas");
  dots.width = width;
  dots.height = height;
  const image = new ImageData(width, height);
  for (let y = 0; y < height; y++) {
    const most = regard.top(table.values.subarray(y * width, (y + 1) * width));
    for (let x = 0; x < width; x++) {
      const place = y * width + x;
      image.data.set([...regard.color(regard.share(state, table.values[place], most)), 255], 4 * place);
    }
  }
  regard.pen(dots).putImageData(image, 0, 0);

  const paint = (/** @type {{ x: number, y: number } | null} */ pointed) => {
    const style = getComputedStyle(document.documentElement);
    const zoom = state.zoom, step = cell * zoom;
    draw.setTransform(ratio, 0, 0, ratio, 0, 0);
    draw.fillStyle = style.getPropertyValue("--paper");
    draw.fillRect(0, 0, size.x, size.y);
    draw.imageSmoothingEnabled = false;
    draw.save();
    draw.beginPath();
    draw.rect(left, above, cell * width, cell * height);
    draw.clip();
    draw.drawImage(dots, left - state.moveX, above - state.moveY, step * width, step * height);
    if (pointed) {
      draw.strokeStyle = style.getPropertyValue("--mark");
      draw.lineWidth = 2;
      draw.strokeRect(left - state.moveX + step * pointed.x, above - state.moveY + step * pointed.y, step, step);
    }
    draw.restore();
    draw.fillStyle = style.getPropertyValue("--ink");
    draw.font = "13px sans-serif";
    draw.textBaseline = "middle";
    const every = Math.max(1, Math.ceil(12 / step)); // labels that would overlap are left out
    for (let y = 0; y < height; y += every) {
      const at = above - state.moveY + step * (y + 0.5);
      if (at < above || at > above + cell * height) continue;
      draw.textAlign = "right";
      draw.fillText(regard.shown(table.rows[y]).slice(0, 14), left - 6, at);
    }
    for (let x = 0; x < width; x += every) {
      const at = left - state.moveX + step * (x + 0.5);
      if (at < left || at > left + cell * width) continue;
      draw.save();
      draw.translate(at, above - 6);
      draw.rotate(-Math.PI / 2);
      draw.textAlign = "left";
      draw.fillText(regard.shown(table.columns[x]).slice(0, 14), 0, 0);
      draw.restore();
    }
  };
  const find = (/** @type {MouseEvent} */ event) => {
    const box = canvas.getBoundingClientRect(), step = cell * state.zoom;
    const x = Math.floor((event.clientX - box.left - left + state.moveX) / step);
    const y = Math.floor((event.clientY - box.top - above + state.moveY) / step);
    const isInside = event.clientX - box.left >= left && event.clientY - box.top >= above;
    return isInside && x >= 0 && y >= 0 && x < width && y < height ? { x, y } : null;
  };
  const limit = () => {
    state.moveX = Math.min(Math.max(0, state.moveX), cell * width * (state.zoom - 1));
    state.moveY = Math.min(Math.max(0, state.moveY), cell * height * (state.zoom - 1));
  };
  /** @type {{ x: number, y: number } | null} */
  let held = null;
  canvas.addEventListener("pointermove", (event) => {
    if (held) {
      state.moveX += held.x - event.clientX;
      state.moveY += held.y - event.clientY;
      held = { x: event.clientX, y: event.clientY };
      limit();
    }
    const at = find(event);
    readout.textContent = at
      ? `${regard.shown(table.rows[at.y])} attends to ${regard.shown(table.columns[at.x])}: ${table.values[at.y * width + at.x].toFixed(4)}`
      : "Point at a cell.";
    paint(at);
  });
  canvas.addEventListener("pointerdown", (event) => { held = { x: event.clientX, y: event.clientY }; });
  for (const name of ["pointerup", "pointerleave"]) canvas.addEventListener(name, () => { held = null; });
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    regard.zoom(state, event.deltaY < 0 ? 1.25 : 0.8);
    limit();
    paint(find(event));
  }, { passive: false });
  state.repaint = () => { limit(); paint(null); };
  paint(null);
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
