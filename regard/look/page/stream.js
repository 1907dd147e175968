"use strict";
// The residual stream at one place: what each sub-layer writes, what would be predicted after it, and which units are active.
regard.views.push({
  name: "stream", title: "Layers", key: "6", group: "Inside",
  fits: (data) => Boolean(data.live?.isInside),
  says: () => ["A token's vector runs through all layers; each sub-layer adds to it. What it would predict after each of them is the logit lens.",
    "“Writes” is the length of what a sub-layer adds, “like the end” the cosine of the stream to what it becomes at last: 1 is the same direction.",
    "The most active units of a feed-forward layer come with their activation and the tokens that their output vector points to; this is a reading of single units, which often share their work.",
    "The logit lens puts the stream through the last norm and the output embedding, as if the rest of the layers were not there. An encoder predicts nothing, so it has none."],
  draw(state, box) {
    const { data } = state, live = /** @type {Live} */ (data.live), streams = regard.streamsOf(data);
    const chosen = streams.find((one) => one.stack === state.place?.stack) ?? streams[streams.length - 1];
    const place = Math.min(state.place?.stack === chosen.stack ? state.place.row : 0, chosen.labels.length - 1);
    const line = regard.make("p", { class: "sentence small", dir: "auto", role: "group", "aria-label": "Token" });
    chosen.labels.forEach((label, row) => line.append(regard.make("button", { class: "token" + (row === place ? " pointed" : ""), "aria-pressed": row === place ? "true" : "false", "data-focus": `token-${row}`,
      onclick: () => { state.place = { stack: chosen.stack, row }; state.refresh(); } }, regard.shown(label)), " "));
    if (streams.length > 1) {
      box.append(regard.make("div", { class: "tools" }, regard.choose("stream", streams.map((one) => [one.stack, one.name]), chosen.stack, (stack) => { state.place = { stack, row: 0 }; state.refresh(); })));
    }
    box.append(regard.make("p", { class: "legend" }, chosen.hint), line);
    regard.later(box, live.ask("/api/stream", { stack: chosen.stack, place }), (/** @type {{ steps: StreamStep[], units: { name: string, units: ActiveUnit[] }[] }} */ found) => [regard.streamTable(found)]);
  },
});

regard.streamsOf = (data) => ("cross" in data.kinds
  ? [{ stack: "encoder", name: "source (encoder)", labels: data.kinds.encoder.rows, hint: "Tokens of the source, as the encoder reads them." },
    { stack: "decoder", name: "translation (decoder)", labels: data.kinds.decoder.rows, hint: "The step that predicts each token of the translation." }]
  : [{ stack: "stack", name: "text", labels: data.kinds.text.rows, hint: regard.isCausal(data) ? "Tokens of the text: each predicts the one after it." : "Tokens of the text." }]);

regard.subLayerName = (name) => {
  const [, layer, piece] = /\.blocks\.(\d+)\.(\w+)$/.exec(name) ?? [];
  if (layer === undefined) return ["", "embedding + position"];
  return [`layer ${Number(layer) + 1}`, { self_attention: "self-attention", cross_attention: "cross-attention", feed_forward: "feed-forward" }[piece] ?? piece];
};

regard.streamTable = ({ steps, units }) => {
  const most = Math.max(...steps.map((step) => step.norm)), isPredicting = steps.some((step) => step.likeliest);
  const rows = steps.flatMap((step) => {
    const [layer, piece] = regard.subLayerName(step.name), own = units.find((one) => one.name === step.name);
    const tokens = (step.likeliest ?? []).map(([token, probability], i) => regard.make("span", { class: i ? "guess soft" : "guess" }, regard.make("bdi", {}, regard.shown(token)), regard.make("small", {}, ` ${regard.percent(probability)}`)));
    const active = own?.units.map((unit) => regard.make("span", { class: "guess" }, regard.make("small", {}, `#${unit.unit} `), regard.number(unit.value, 2),
      unit.towards.length ? regard.make("small", {}, " → ", ...unit.towards.flatMap(([token], i) => [i ? ", " : "", regard.make("bdi", {}, regard.shown(token))])) : "")) ?? [];
    return [regard.make("tr", { class: layer ? undefined : "first" }, regard.make("th", { scope: "row" }, regard.make("small", {}, layer), " ", piece), regard.barCell(step.norm, most), regard.barCell(step.cosine, 1),
      ...(isPredicting ? [regard.make("td", {}, ...tokens)] : [])),
    ...(active.length ? [regard.make("tr", { class: "units" }, regard.make("th", { scope: "row" }, regard.make("small", {}, "most active units")), regard.make("td", { colspan: isPredicting ? 3 : 2 }, ...active))] : [])];
  });
  const heads = ["sub-layer", "writes (length)", "like the end (cosine)", ...(isPredicting ? ["likeliest after it (logit lens)"] : [])];
  return regard.scroll("Sub-layers", regard.make("table", { class: "stream" }, regard.headRow(heads), ...rows));
};
