"use strict";
// The feed-forward network of a layer as matrices, and as a kernel that is moved along the text.
course.experiments.feed = (box, model) => {
  const { config, weights, tokenizer } = model, { width } = config, name = "stack.blocks.0.feed_forward";
  const feed = engine.makeFeedForward(weights, name, config), activate = engine.activations[config.activation];
  /** @type {(which: string) => [Tensor, Tensor | undefined]} */
  const part = (which) => [engine.need(weights, `${name}.${which}.weight`), weights.get(`${name}.${which}.bias`)];
  // A convolution over places: of a kernel of any odd width, whose middle is the matrix; the others are a tenth of it.
  /** @type {(x: Float32Array, kernel: [Tensor, Tensor | undefined], wide: number) => Float32Array} */
  const convolve = (x, [kernel, bias], wide) => {
    const [outputs, inputs] = kernel.shape, numbers = kernel.data, count = x.length / inputs, found = new Float32Array(count * outputs), half = Math.floor(wide / 2);
    for (let p = 0; p < count; p++) for (let o = 0; o < outputs; o++) {
      let sum = bias ? bias.data[o] : 0;
      for (let from = Math.max(0, p - half); from <= Math.min(count - 1, p + half); from++) {
        let product = 0;
        for (let i = 0; i < inputs; i++) product += x[from * inputs + i] * numbers[o * inputs + i];
        sum += from === p ? product : 0.1 * product;
      }
      found[p * outputs + o] = sum;
    }
    return found;
  };
  /** @type {(x: Float32Array, wide: number) => Float32Array} */
  const asKernel = (x, wide) => {
    const middle = convolve(x, part("up"), wide), gate = config.is_gated ? convolve(x, part("gate"), wide) : null;
    return convolve(gate ? middle.map((value, i) => value * activate(gate[i])) : middle.map(activate), part("down"), 1);
  };
  let text = "The old dog drinks the water in the garden.", place = 2, wide = 1;
  /** @type {(ids: number[]) => Float32Array} */
  const inputs = (ids) => engine.embed(engine.need(weights, "embedding.table.weight"), ids);
  /** @type {(layer: Layer, ids: number[], at: number) => number[]} */
  const change = (layer, ids, at) => {
    const x = inputs(ids), moved = x.slice();
    for (let i = 0; i < width; i++) moved[at * width + i] += 0.5;
    const [before, after] = [layer(x), layer(moved)];
    return ids.map((_, p) => Math.max(...before.subarray(p * width, (p + 1) * width).map((value, i) => Math.abs(value - after[p * width + i]))));
  };
  const { box: drawn, show } = course.drawing(() => {
    const ids = course.encode(model, text), tokens = tokenizer.tokens(ids), x = inputs(ids), at = Math.min(place, ids.length - 1);
    const [own, moved] = [feed(x), asKernel(x, wide)], apart = Math.max(...own.map((value, i) => Math.abs(value - moved[i])));
    return [course.heat(["matrices", `kernel of width ${wide}`], tokens, [change(feed, ids, at), change((some) => asKernel(some, wide), ids, at)]),
      course.note(`Change of each place's output after the vector of “${regard.shown(tokens[at])}” was changed. The two ways differ by at most ${course.tiny(apart)}.`)];
  });
  box.append(course.input("text", text, (value) => { text = value; show(); }), course.row(course.slider("changed place", [1, 7, 1, place + 1], (value) => { place = value - 1; show(); }), course.slider("kernel width", [1, 5, 2, 1], (value) => { wide = value; show(); })), drawn);
  show();
  return { measure() {
    const ids = course.encode(model, "The old dog drinks the water in the garden."), moved = change(feed, ids, 2), changed = moved.flatMap((value, p) => (value > 1e-6 ? [p] : []));
    return { choice: changed.length === 1 && changed[0] === 2 ? 0 : changed.length < ids.length ? 1 : 2, text: `Largest change of the output at each place: ${moved.map((value) => course.number(value, 2)).join(", ")}.` };
  } };
};
