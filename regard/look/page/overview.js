"use strict";
// All layers and heads at a glance, each a small picture with how spread it is and whether it is stuck on one place.
regard.views.push({
  name: "overview", title: "All heads", key: "4", isScaled: true, isMap: true, isPicture: true,
  fits: (data) => !data.isStory && Object.values(data.kinds).some(({ layers, heads }) => layers * heads > 1),
  says: (state) => ["Every head small, a row for each layer; click one to see it large.", regard.kindSays(state.kind),
    "Heads of one layer learn to do different things. ↔ marks the heads whose attention matches word alignment best; ⚓ a sink: one token takes half of all attention, which a head often does where it has nothing to fetch."],
  draw(state, box) {
    const about = state.data.kinds[state.kind];
    box.append(regard.make("p", { class: "legend" }, "1·2 is layer 1, head 2. The bar is its entropy: full is uniform attention, empty one place alone. ",
      regard.rolesOf(state.data, state.kind, 1, 1) ? "The name says what it does on held-out text, with the score: 1 always, 0 as uniform attention." : ""), regard.legend(state));
    const grid = regard.make("div", { class: "grid", style: `--heads:${about.heads}` });
    for (let layer = 1; layer <= about.layers; layer++) {
      for (let head = 1; head <= about.heads; head++) grid.append(regard.thumbnail(state, about, layer, head));
    }
    box.append(grid);
  },
});

regard.thumbnail = (state, about, layer, head) => {
  const key = `${layer}-${head}`;
  const spread = about.entropy[layer - 1][head - 1], sink = about.sink[layer - 1][head - 1];
  const aligning = state.data.aligning;
  const isAligning = state.kind === "cross" && aligning && aligning.layer === layer - 1 && aligning.heads.includes(head - 1);
  const stuck = sink === null ? "" : ` ⚓ ${regard.shown(about.columns[sink])}`;
  const canvas = regard.make("canvas", { width: 96, height: 96 });
  const off = regard.offOf(state.data, state.kind, layer, head);
  const roles = regard.rolesOf(state.data, state.kind, layer, head), role = regard.bestRole(roles);
  const title = `layer ${layer}, head ${head}: ${roles ? `${regard.describeHead(roles)}; ` : ""}spread ${(100 * spread).toFixed(0)} %${stuck}` +
    (off ? `; switched off, the answer loses ${off.loss.toFixed(3)} nats a token` : "");
  const button = regard.make("button", {
    class: "head" + (state.key === key ? " chosen" : ""), title, "data-key": key,
    onclick: () => { state.key = key; state.view = "matrix"; state.refresh(); },
  }, canvas, regard.make("span", { class: "name" }, `${layer}·${head}${isAligning ? " ↔" : ""}${stuck}`),
  role ? regard.make("span", { class: "name", "data-role": role }, role) : "",
  regard.make("span", { class: "spread" }, regard.make("i", { style: `width:${(100 * spread).toFixed(1)}%` })));
  const paint = () => {
    const values = state.data.map(state.kind, key);
    if (values === null) return;
    const [height, width] = [about.rows.length, about.columns.length];
    const image = new ImageData(96, 96);
    for (let y = 0; y < 96; y++) {
      const start = Math.floor((y * height) / 96) * width;
      const most = regard.top(values.subarray(start, start + width));
      for (let x = 0; x < 96; x++) {
        const value = regard.share(state, values[start + Math.floor((x * width) / 96)], most);
        image.data.set([...regard.color(value), 255], 4 * (96 * y + x));
      }
    }
    regard.pen(canvas).putImageData(image, 0, 0);
  };
  requestAnimationFrame(paint);
  return button;
};
