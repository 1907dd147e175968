"use strict";
// A running training: its curves as they grow, its sample outputs and attention over time.
regard.panels.run = (name) => {
  const curves = regard.make("div", { class: "curves" }), status = regard.make("p", { class: "legend" });
  /** @type {Record<string, any>[]} */
  const events = [];
  const snapshots = regard.snapshots();
  const update = async () => {
    if (!curves.isConnected && events.length) return; // another tab is open
    try {
      // What is logged of a step may come one after another: its loss, and after a while its scores.
      const newest = events.length ? events[events.length - 1].step : 0;
      const known = new Set(events.filter((event) => event.step === newest).map((event) => JSON.stringify(event)));
      const found = await regard.askJson(`/api/runs/${encodeURIComponent(name)}?after=${newest - 1}`);
      events.push(...found.events.filter((/** @type {unknown} */ event) => !known.has(JSON.stringify(event))));
      const named = events.map((event) => ("learning_rate" in event || !("loss" in event) ? event : { ...event, loss: undefined, "validation loss": event.loss }));
      const scores = [...new Set(named.flatMap((event) => Object.keys(event)))].filter((key) =>
        !["step", "seconds", "learning_rate", "skipped", "micro_batches"].includes(key));
      curves.replaceChildren(...scores.map((key) => regard.curve(key, named.filter((event) => typeof event[key] === "number")
        .map((event) => [event.step, event[key]]))));
      const last = events[events.length - 1];
      snapshots.add((await regard.askJson(`/api/runs/${encodeURIComponent(name)}/snapshots?after=${snapshots.newest()}`)).snapshots);
      status.textContent = last ? `step ${last.step}, ${(last.seconds / 60).toFixed(1)} minutes` : "Nothing is logged yet.";
    } catch (problem) {
      regard.report(problem);
    }
    setTimeout(update, 3000);
  };
  update();
  return regard.make("section", {}, status, curves, snapshots.box);
};

// Samples and probes of each validation; the slider goes through time, and stays at the end while it is there.
regard.snapshots = () => {
  /** @type {Frame[]} */
  const frames = [];
  const slider = regard.make("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "moment of the training", id: "moment" });
  const moment = regard.make("output", { id: "moment-step" }), samples = regard.make("div", { class: "samples" });
  const probe = regard.make("select", { id: "probe", "aria-label": "example" }), layer = regard.make("select", { id: "probe-layer", "aria-label": "layer" });
  const seen = regard.make("div", { class: "probe" });
  const box = regard.make("section", { class: "snapshots", hidden: true }, regard.make("h2", {}, "Over time"),
    regard.make("p", { class: "choices" }, slider, moment), samples, regard.make("p", { class: "choices" }, probe, layer), seen);
  const options = (/** @type {HTMLSelectElement} */ select, /** @type {string[]} */ labels) => {
    if (select.options.length === labels.length) return;
    select.replaceChildren(...labels.map((label, number) => regard.make("option", { value: number }, label)));
  };
  const draw = () => {
    const frame = frames[Number(slider.value)];
    moment.textContent = `step ${frame.step}`;
    samples.replaceChildren(...frame.samples.map((texts) => regard.make("blockquote", {}, ...texts.filter((text) => text)
      .map((text, place) => regard.make("p", { class: place === 1 || texts.length < 3 ? "generated" : "legend", dir: "auto" }, text)))));
    options(probe, frame.probes.map((_, number) => `example ${number + 1}`));
    const shown = frame.probes[Number(probe.value)];
    seen.replaceChildren();
    if (!shown) return;
    options(layer, shown.maps.map((_, number) => `layer ${number + 1}`));
    const map = shown.maps[Number(layer.value) || 0];
    const canvas = regard.make("canvas", { class: "matrix", "aria-label": "attention", "data-first": map[0][0] });
    const readout = regard.make("output", { class: "readout" }, "Point at a cell.");
    const state = { scale: "absolute", zoom: 1, moveX: 0, moveY: 0 };
    seen.append(regard.legend(state), readout, canvas);
    const table = { rows: shown.rows, columns: shown.columns, width: shown.columns.length, height: shown.rows.length, values: Float32Array.from(map.flat()) };
    regard.matrix(canvas, table, state, readout);
  };
  for (const control of [slider, probe, layer]) control.addEventListener("input", draw);
  document.addEventListener("regard-theme", () => { if (box.isConnected && frames.length) draw(); });
  const add = (/** @type {Frame[]} */ more) => {
    if (!more.length) return;
    const isAtEnd = Number(slider.value) === frames.length - 1 || !frames.length;
    frames.push(...more);
    slider.max = String(frames.length - 1);
    box.hidden = false;
    if (isAtEnd) slider.value = slider.max;
    if (box.isConnected) draw();
    else requestAnimationFrame(draw);
  };
  return { box, add, newest: () => (frames.length ? frames[frames.length - 1].step : -1) };
};

regard.curve = (name, points) => {
  const [wide, tall] = [340, 150];
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const place = (/** @type {number[]} */ [x, y]) => `${40 + (wide - 50) * (right > left ? (x - left) / (right - left) : 0.5)},${tall - 20 - (tall - 30) * (high > low ? (y - low) / (high - low) : 0.5)}`;
  const svg = regard.svg("svg", { viewBox: `0 0 ${wide} ${tall}`, width: wide, height: tall, role: "img", "aria-label": name, class: "curve" });
  const line = regard.svg("polyline", { points: points.map(place).join(" "), fill: "none" });
  svg.append(line);
  for (const [value, y] of [[high, 14], [low, tall - 16]]) {
    const text = regard.svg("text", { x: 36, y, "text-anchor": "end" });
    text.textContent = Math.abs(value) >= 1000 ? value.toFixed(0) : value.toPrecision(3);
    svg.append(text);
  }
  return regard.make("figure", { "data-curve": name, "data-points": points.length }, regard.make("figcaption", {}, name), svg);
};
