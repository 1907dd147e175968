"use strict";
// Gradients through deep stacks, and a trained model with a bypass taken away.
course.experiments.residual = (box, model) => {
  const width = 16, count = 5;
  // The length of the gradient at the input, and at each layer, of a stack with fresh weights.
  /** @type {(layers: number, hasResidual: boolean, norm: string, spread?: number) => number[]} */
  const gradients = (layers, hasResidual, norm, spread = 0.5) => {
    const random = engine.makeRandom(11), input = course.fresh(count, width, random, 1), states = [input];
    let x = input;
    const around = (/** @type {(given: Matrix) => Matrix} */ layer) => {
      const found = layer(norm === "pre" ? course.norm(x) : x), sum = hasResidual ? course.plus(found, x) : found;
      x = norm === "post" ? course.norm(sum) : sum;
    };
    for (let number = 0; number < layers; number++) {
      const [query, key, value, output, down] = Array.from({ length: 5 }, () => course.fresh(width, width, random, spread / Math.sqrt(width))), up = course.fresh(width, width, random, spread / Math.sqrt(width));
      around((given) => {
        const scores = course.scale(course.multiply(course.multiply(given, query), course.transpose(course.multiply(given, key))), 1 / Math.sqrt(width));
        return course.multiply(course.multiply(course.softmax(scores), course.multiply(given, value)), output);
      });
      around((given) => course.multiply(course.relu(course.multiply(given, up)), down));
      states.push(x);
    }
    const random2 = engine.makeRandom(5), target = Array.from({ length: count * width }, () => random2() - 0.5);
    course.back(course.squares(x, target));
    const ends = Math.hypot(...x.grad);
    return states.map((state) => Math.hypot(...state.grad) / (ends || 1));
  };
  let layers = 20, norm = "none", spread = 0.5, text = "The old dog drinks the water in the garden.";
  const { box: drawn, show } = course.drawing(() => {
    const [kept, gone] = [true, false].map((is) => gradients(layers, is, norm, spread)), log = (/** @type {number[]} */ line) => line.map((value) => Math.max(0, 12 + Math.log10(Math.max(value, 1e-12))));
    return [course.lines({ "with residuals": log(kept), without: log(gone) }, { across: "layer", most: 16, ticks: [[0, "10⁻¹²"], [4, "10⁻⁸"], [8, "10⁻⁴"], [12, "1"], [16, "10⁴"]] }),
      course.note(`Length of the gradient at each layer, as a share of that at the end. At the input: ${course.power(kept[0])} with residuals, ${course.power(gone[0])} without.`)];
  });
  const called = (/** @type {string} */ name) => name.replace(/^stack\.blocks\.(\d+)\.(\w+)_residual$/, (_, number, part) => `block ${Number(number) + 1}, ${part === "self" ? "attention" : "feed-forward"}`);
  const names = Array.from(model.weights.keys()).flatMap((name) => /^(stack\.blocks\.\d+\.\w+_residual)\.norm\.weight$/.exec(name)?.[1] ?? []);
  const { box: trained, show: showTrained } = course.drawing(() => {
    const ids = course.encode(model, text), own = course.pass(model, ids).loss, gone = names.map((name) => course.pass(model, ids, { residual: (one) => one !== name }).loss);
    return [course.bars(["nothing taken away", ...names.map(called)], [own, ...gone], Math.max(own, ...gone)), course.note("Loss of the text, in nats a token.")];
  });
  box.append(course.row(course.slider("layers", [1, 30, 1, layers], (value) => { layers = value; show(); }), course.select("norm", ["none", "pre", "post"], (value) => { norm = ["none", "pre", "post"][value]; show(); }),
    course.slider("size of the weights", [0.25, 2, 0.25, spread], (value) => { spread = value; show(); })), drawn,
    course.heading("The trained model, without one residual connection"), course.input("text", text, (value) => { text = value; showTrained(); }), trained);
  show();
  showTrained();
  return { measure() {
    const [kept, gone] = [true, false].map((is) => gradients(20, is, "none")[0]), times = kept / gone;
    return { choice: times > 1000 ? 2 : times > 3 ? 1 : 0, text: `Length of the gradient at the input, the one at the end being 1: ${course.power(kept)} with residuals, ${course.power(gone)} without.` };
  } };
};
