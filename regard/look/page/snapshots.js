"use strict";
// A training over time: sample outputs and attention from step 0 on; played, or moved by hand. Early moments are close
// together and later ones far apart, as a model changes.
regard.snapshots = (isShown = () => {}) => {
  /** @type {Frame[]} */
  const frames = [];
  const slider = regard.make("input", { type: "range", min: 0, max: 0, value: 0, "aria-label": "moment of the training", id: "moment" });
  const play = regard.make("button", { id: "play", "aria-label": "play the training" }, "▶ play");
  const moment = regard.make("output", { id: "moment-step" }), samples = regard.make("div", { class: "samples" });
  const probe = regard.make("select", { id: "probe", "aria-label": "example" }), layer = regard.make("select", { id: "probe-layer", "aria-label": "layer" });
  const seen = regard.make("div", { class: "probe" });
  const choices = regard.make("p", { class: "choices" }, probe, layer);
  const box = regard.make("section", { class: "snapshots", hidden: true }, regard.make("h2", {}, "Over time"),
    regard.make("p", { class: "legend" }, "What the model makes of the same held-out examples at each moment of its training, and what it attends to. Play it, or drag the slider."),
    regard.make("p", { class: "choices" }, play, slider, moment), regard.make("div", { class: "together" }, samples, regard.make("div", {}, choices, seen)));
  const options = (/** @type {HTMLSelectElement} */ select, /** @type {string[]} */ labels) => {
    if (select.options.length === labels.length) return;
    select.replaceChildren(...labels.map((label, number) => regard.make("option", { value: number }, label)));
  };
  const draw = () => {
    const frame = frames[Number(slider.value)];
    moment.textContent = `step ${frame.step}`;
    slider.setAttribute("aria-valuetext", `step ${frame.step}`);
    isShown(frame.step);
    samples.replaceChildren(...frame.samples.map((texts) => regard.sample(texts, frame.step)));
    choices.hidden = !frame.probes.length;
    options(probe, frame.probes.map((_, number) => `example ${number + 1}`));
    const shown = frame.probes[Number(probe.value)];
    seen.replaceChildren();
    if (!shown) return;
    options(layer, shown.maps.map((_, number) => `layer ${number + 1}, mean of its heads`));
    layer.hidden = shown.maps.length === 1;
    const map = shown.maps[Number(layer.value) || 0];
    const canvas = regard.make("canvas", { class: "matrix", role: "img", "aria-label": `attention at step ${frame.step}`, "data-first": map[0][0] });
    const readout = regard.make("output", { class: "readout" }, "Each row is what attends, each column what it attends to.");
    const state = { scale: "absolute", zoom: 1, moveX: 0, moveY: 0 };
    seen.append(regard.legend(state), readout, canvas);
    const table = { rows: shown.rows, columns: shown.columns, width: shown.columns.length, height: shown.rows.length, values: Float32Array.from(map.flat()) };
    regard.matrix(canvas, table, state, readout);
  };
  /** @type {number | undefined} */
  let timer;
  const stop = () => {
    clearInterval(timer);
    timer = undefined;
    play.textContent = "▶ play";
  };
  const next = () => {
    if (!box.isConnected || Number(slider.value) >= frames.length - 1) return stop();
    slider.value = String(Number(slider.value) + 1);
    return draw();
  };
  play.addEventListener("click", () => {
    if (timer !== undefined) return stop();
    if (Number(slider.value) >= frames.length - 1) slider.value = "0";
    draw();
    play.textContent = "❚❚ pause";
    timer = setInterval(next, 700);
    return undefined;
  });
  slider.addEventListener("input", stop);
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

// One sample: what was asked, what the model generated at this step, and the reference, if there is one.
regard.sample = ([asked, generated, reference], step) => {
  const row = (/** @type {string} */ name, /** @type {string} */ text, /** @type {string} */ kind) => [
    regard.make("dt", {}, name), regard.make("dd", { class: kind, dir: "auto" }, text)];
  return regard.make("dl", { class: "sample" },
    ...row("given", asked || "nothing: it begins a text", asked ? "given" : "given none"),
    ...row(`generated at step ${step}`, generated.trim() || "nothing", generated.trim() ? "generated" : "generated none"),
    ...(reference ? row("reference", reference, "reference") : []));
};

// In a page with a model in it: how it was trained, if that is in the file.
regard.history = async (packed) => {
  const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
  const { events, snapshots } = JSON.parse(await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"))).text());
  const curves = regard.curves(), moments = regard.snapshots(curves.mark);
  const box = regard.make("details", { class: "history" }, regard.make("summary", {}, "How it was trained"), moments.box, curves.box);
  box.addEventListener("toggle", () => { if (moments.newest() < 0) moments.add(snapshots); });
  curves.show(events);
  return box;
};
