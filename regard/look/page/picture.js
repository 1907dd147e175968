"use strict";
// A map, or what is drawn in lines, as a picture to take away: SVG, or PNG at twice its size.
regard.pictureButtons = (state) => ["SVG", "PNG"].map((kind) => regard.make("button", { "data-picture": kind, "data-focus": `picture-${kind}`, title: `What is shown, as a picture (${kind})`,
  onclick: () => regard.takePicture(state, kind) }, kind));

regard.takePicture = async (state, kind) => {
  if (state.view === "overview") return regard.keepPicture(regard.headsSvg(state), kind, `${state.kind}-heads`);
  const drawn = document.querySelector(".stage svg.lines, .stage svg.tree-of-beam, .stage svg.plane"), table = state.data.table(state.kind, state.key, state.byWords);
  if (!drawn && !table) return;
  const svg = drawn ? regard.withStyles(drawn) : regard.mapSvg(/** @type {Table} */ (table), state);
  return regard.keepPicture(svg, kind, drawn && state.view !== "lines" ? state.view : `${state.kind}-${state.key}`);
};

regard.keepPicture = async (svg, kind, name) => {
  const text = new XMLSerializer().serializeToString(svg);
  if (kind === "SVG") return regard.save(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
  const picture = new Image();
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(text)}`;
  await picture.decode();
  const canvas = document.createElement("canvas");
  Object.assign(canvas, { width: 2 * picture.width, height: 2 * picture.height });
  regard.pen(canvas).drawImage(picture, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => { if (blob) regard.save(blob, `${name}.png`); });
};

regard.save = (blob, name) => {
  const link = document.createElement("a");
  Object.assign(link, { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

// What is drawn, with the styles that it has in the page written into it.
regard.withStyles = (svg) => {
  const copy = /** @type {Element} */ (svg.cloneNode(true)), all = [svg, ...svg.querySelectorAll("*")];
  [copy, ...copy.querySelectorAll("*")].forEach((element, i) => {
    const style = getComputedStyle(all[i]);
    element.setAttribute("style", ["fill", "stroke", "stroke-width", "stroke-opacity", "font-size", "font-family", "font-weight", "dominant-baseline", "text-anchor", "opacity", "stroke-dasharray"].map((name) => `${name}:${style.getPropertyValue(name)}`).join(";"));
  });
  copy.prepend(regard.svg("rect", { width: "100%", height: "100%", fill: regard.css(regard.color(0)) }));
  return copy;
};

// All heads of a kind of attention, a row for each layer.
regard.headsSvg = (state) => {
  const about = state.data.kinds[state.kind], { rows, columns } = about, size = 150, step = size + 34, wide = about.heads * step + 16, tall = about.layers * step + 36, ink = regard.isDark() ? "#e8e6df" : "#1a1a1a";
  const svg = regard.svg("svg", { width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}`, "font-family": "system-ui, sans-serif", "font-size": 12, fill: ink });
  svg.append(regard.svg("rect", { width: wide, height: tall, fill: regard.css(regard.color(0)) }), regard.svgText(`${regard.kindName(state.kind)}, all heads; ${regard.more()} is more attention`, { x: 16, y: 20, "font-size": 14, "font-weight": 600 }));
  for (let layer = 1; layer <= about.layers; layer++) {
    for (let head = 1; head <= about.heads; head++) {
      const values = state.data.map(state.kind, `${layer}-${head}`) ?? [], x = 16 + (head - 1) * step, y = 36 + (layer - 1) * step, [long, high] = [size / columns.length, size / rows.length];
      rows.forEach((_, row) => {
        const most = regard.top(values.slice(row * columns.length, (row + 1) * columns.length));
        columns.forEach((__, column) => {
          const share = regard.share(state, values[row * columns.length + column], most);
          if (share >= 0.01) svg.append(regard.svg("rect", { x: (x + column * long).toFixed(1), y: (y + row * high).toFixed(1), width: long.toFixed(1), height: high.toFixed(1), fill: regard.css(regard.color(share)) }));
        });
      });
      svg.append(regard.svg("rect", { x, y, width: size, height: size, fill: "none", stroke: ink, "stroke-opacity": 0.3 }),
        regard.svgText(`${layer}·${head} ${regard.bestRole(regard.rolesOf(state.data, state.kind, layer, head))}`, { x, y: y + size + 15 }));
    }
  }
  return svg;
};

// A map in lines: cells with their numbers, labels, titles of the axes, and the legend.
regard.mapSvg = (table, state) => {
  const { width, height } = table, pen = regard.pen(document.createElement("canvas")), cell = 36, row = 28, ink = regard.isDark() ? "#e8e6df" : "#1a1a1a";
  pen.font = regard.matrixFont;
  const widest = (/** @type {string[]} */ labels) => Math.min(260, Math.max(...labels.map((label) => pen.measureText(regard.shown(label)).width)));
  const left = 34 + widest(table.rows) + 10, above = 52 + 0.75 * widest(table.columns) + 12, right = 0.75 * widest(table.columns.slice(-1)) + 10;
  const wide = Math.max(360, left + cell * width + right), tall = above + row * height + 40, axes = regard.axes(state.kind, state.byWords);
  const svg = regard.svg("svg", { width: wide, height: tall, viewBox: `0 0 ${wide} ${tall}`, "font-family": "system-ui, sans-serif", "font-size": 14, fill: ink });
  const write = (/** @type {string} */ text, /** @type {Record<string, string | number>} */ attributes) => svg.append(regard.svgText(text, { "dominant-baseline": "central", ...attributes }));
  svg.append(regard.svg("rect", { width: wide, height: tall, fill: regard.css(regard.color(0)) }));
  write(`${regard.kindName(state.kind)}, ${regard.keyName(state)}`, { x: left, y: 16, "font-weight": 600 });
  write(`keys: ${axes.columns} →`, { x: left, y: 38, "font-size": 13, "fill-opacity": 0.7 });
  write(`← queries: ${axes.rows}`, { "font-size": 13, "fill-opacity": 0.7, transform: `translate(14 ${above + row * height}) rotate(-90)` });
  for (let y = 0; y < height; y++) {
    const most = regard.top(table.values.subarray(y * width, (y + 1) * width));
    write(regard.fit(pen, regard.shown(table.rows[y]), 260), { x: left - 8, y: above + row * (y + 0.5), "text-anchor": "end" });
    for (let x = 0; x < width; x++) {
      const value = table.values[y * width + x], color = regard.color(regard.share(state, value, most));
      svg.append(regard.svg("rect", { x: left + cell * x, y: above + row * y, width: cell, height: row, fill: regard.css(color) }));
      if (value >= 0.005 && width * height <= 4000) write(value.toFixed(2), { x: left + cell * (x + 0.5), y: above + row * (y + 0.5), "font-size": 11, "text-anchor": "middle", fill: regard.ink(color) });
    }
  }
  table.columns.forEach((label, x) => write(regard.fit(pen, regard.shown(label), 260), { transform: `translate(${left + cell * (x + 0.5)} ${above - 10}) rotate(-45)` }));
  write(state.scale === "row" ? `Colour: share of the largest weight of each row; ${regard.more()} is more.` : `Colour: weight from 0 to 1; ${regard.more()} is more.`, { x: left, y: tall - 18, "font-size": 12, "fill-opacity": 0.7 });
  return svg;
};
