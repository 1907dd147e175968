"use strict";
// A running training: its curves as they grow.
regard.panels.run = (name) => {
  const curves = regard.make("div", { class: "curves" }), told = regard.make("p", { class: "legend" });
  const events = [];
  const update = async () => {
    if (!curves.isConnected && events.length) return; // somebody went elsewhere
    try {
      const after = events.length ? events[events.length - 1].step : -1;
      const found = await regard.askJson(`/api/runs/${encodeURIComponent(name)}?after=${after}`);
      events.push(...found.events);
      const scores = [...new Set(events.flatMap((event) => Object.keys(event)))].filter((key) =>
        !["step", "seconds", "rate", "skipped", "pieces"].includes(key));
      curves.replaceChildren(...scores.map((key) => regard.curve(key, events.filter((event) => typeof event[key] === "number")
        .map((event) => [event.step, event[key]]))));
      const last = events[events.length - 1];
      told.textContent = last ? `step ${last.step}, ${(last.seconds / 60).toFixed(1)} minutes` : "Nothing is logged yet.";
    } catch (problem) {
      regard.complain(problem.message);
    }
    setTimeout(update, 3000);
  };
  update();
  return regard.make("section", {}, told, curves);
};

regard.curve = (name, points) => {
  const [wide, tall] = [340, 150];
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  const [left, right, low, high] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const place = ([x, y]) => `${40 + (wide - 50) * (right > left ? (x - left) / (right - left) : 0.5)},${tall - 20 - (tall - 30) * (high > low ? (y - low) / (high - low) : 0.5)}`;
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
