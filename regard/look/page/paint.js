"use strict";
// How a matrix is painted: cells once as dots that zooming stretches, numbers where there is room, labels, titles of the axes.

// All cells, one dot each.
regard.matrixDots = (table, state) => {
  const { width, height } = table, dots = document.createElement("canvas"), image = new ImageData(width, height);
  Object.assign(dots, { width, height });
  for (let y = 0; y < height; y++) {
    const most = regard.top(table.values.subarray(y * width, (y + 1) * width));
    for (let x = 0; x < width; x++) {
      const place = y * width + x;
      image.data.set([...regard.color(regard.share(state, table.values[place], most)), 255], 4 * place);
    }
  }
  regard.pen(dots).putImageData(image, 0, 0);
  return dots;
};

// Text that fits into so many pixels, with an ellipsis where it would not.
regard.fit = (draw, text, room) => {
  if (draw.measureText(text).width <= room) return text;
  const letters = [...text];
  while (letters.length > 1 && draw.measureText(`${letters.join("")}…`).width > room) letters.pop();
  return `${letters.join("")}…`;
};

regard.paintMatrix = (given, pointed) => {
  const { draw, table, state, shape, ratio, dots } = given, { left, above, cellX, cellY } = shape, { width, height } = table;
  const style = getComputedStyle(document.documentElement), [stepX, stepY] = [cellX * state.zoom, cellY * state.zoom];
  const color = (/** @type {string} */ name) => style.getPropertyValue(name);
  draw.setTransform(ratio, 0, 0, ratio, 0, 0);
  draw.fillStyle = color("--paper");
  draw.fillRect(0, 0, shape.x, shape.y);
  draw.imageSmoothingEnabled = false;
  draw.save();
  draw.beginPath();
  draw.rect(left, above, cellX * width, cellY * height);
  draw.clip();
  draw.drawImage(dots, left - state.moveX, above - state.moveY, stepX * width, stepY * height);
  if (stepX >= 34 && stepY >= 17) regard.paintNumbers(given, stepX, stepY);
  if (pointed) {
    draw.strokeStyle = color("--mark");
    draw.lineWidth = 2;
    draw.strokeRect(left - state.moveX + stepX * pointed.x + 1, above - state.moveY + stepY * pointed.y + 1, stepX - 2, stepY - 2);
  }
  draw.restore();
  draw.strokeStyle = color("--edge");
  draw.lineWidth = 1;
  draw.strokeRect(left - 0.5, above - 0.5, cellX * width + 1, cellY * height + 1);
  regard.paintLabels(given, stepX, stepY, color("--ink"));
  if (given.axes) regard.paintTitles(given, given.axes, color("--soft"));
};

regard.paintNumbers = ({ draw, table, state, shape }, stepX, stepY) => {
  draw.font = "12px system-ui, sans-serif";
  draw.textAlign = "center";
  draw.textBaseline = "middle";
  for (let y = 0; y < table.height; y++) {
    const most = regard.top(table.values.subarray(y * table.width, (y + 1) * table.width));
    for (let x = 0; x < table.width; x++) {
      const value = table.values[y * table.width + x];
      if (value < 0.005) continue;
      draw.fillStyle = regard.ink(regard.color(regard.share(state, value, most)));
      draw.fillText(value.toFixed(2), shape.left - state.moveX + stepX * (x + 0.5), shape.above - state.moveY + stepY * (y + 0.5));
    }
  }
};

regard.paintLabels = ({ draw, table, state, shape }, stepX, stepY, ink) => {
  const { left, above, cellX, cellY, rowRoom, columnRoom } = shape;
  draw.fillStyle = ink;
  draw.font = regard.matrixFont;
  draw.textBaseline = "middle";
  const every = (/** @type {number} */ step) => Math.max(1, Math.ceil(13 / step)); // labels that would overlap are left out
  for (let y = 0; y < table.height; y += every(stepY)) {
    const at = above - state.moveY + stepY * (y + 0.5);
    if (at < above || at > above + cellY * table.height) continue;
    draw.textAlign = "right";
    draw.fillText(regard.fit(draw, regard.shown(table.rows[y]), rowRoom), left - 8, at);
  }
  for (let x = 0; x < table.width; x += every(stepX)) {
    const at = left - state.moveX + stepX * (x + 0.5), label = regard.fit(draw, regard.shown(table.columns[x]), columnRoom);
    if (at < left || at > left + cellX * table.width) continue;
    draw.save();
    draw.translate(at, above - (shape.isFlat ? 12 : 8));
    draw.rotate(shape.isFlat ? 0 : shape.isTurned ? -Math.PI / 2 : -Math.PI / 4);
    draw.textAlign = shape.isFlat ? "center" : "left";
    draw.fillText(label, 0, 0);
    draw.restore();
  }
};

regard.paintTitles = ({ draw, table, shape }, axes, ink) => {
  const { left, above, cellX, cellY } = shape;
  draw.fillStyle = ink;
  draw.font = "13px system-ui, sans-serif";
  draw.textBaseline = "middle";
  draw.textAlign = "left";
  draw.fillText(regard.fit(draw, `keys: ${axes.columns} →`, Math.max(cellX * table.width, shape.x - left)), left, 9);
  draw.save();
  draw.translate(9, above + cellY * table.height);
  draw.rotate(-Math.PI / 2);
  draw.fillText(regard.fit(draw, `← queries: ${axes.rows}`, cellY * table.height + above - 4), 0, 0);
  draw.restore();
};
