"use strict";
// Gradients through deep stacks, and a trained model with a bypass taken away.
course.experiments.residual = (box, model) => {
  const width = 16, count = 5;
  // The length of the gradient at the input, and at each layer, of a stack with fresh weights.
  const gradients = (layers, hasResidual, norm) => {
    const random = engine.makeRandom(11), input = course.fresh(count, width, random, 1), states = [input];
    let x = input;
    const around = (layer) => {
      const found = layer(norm === "pre" ? course.norm(x) : x), sum = hasResidual ? course.plus(found, x) : found;
      x = norm === "post" ? course.norm(sum) : sum;
    };
    for (let number = 0; number < layers; number++) {
      const [query, key, value, output, down] = Array.from({ length: 5 }, () => course.fresh(width, width, random, 0.5 / Math.sqrt(width))), up = course.fresh(width, width, random, 0.5 / Math.sqrt(width));
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
  let layers = 20, norm = "none", text = "The old dog sees a young cat.";
  const { box: drawn, show } = course.drawing(() => {
    const [kept, gone] = [true, false].map((is) => gradients(layers, is, norm)), log = (line) => line.map((value) => Math.max(0, 8 + Math.log10(Math.max(value, 1e-8))));
    return [course.lines({ "with residuals": log(kept), without: log(gone) }, { across: "layer" }),
      course.note(`Length of the gradient at the input, as a share of that at the end: ${kept[0].toExponential(1)} with residuals, ${gone[0].toExponential(1)} without. (The chart counts powers of ten above 1e-8.)`)];
  });
  const names = Array.from(model.weights.keys()).flatMap((name) => /^(stack\.blocks\.\d+\.\w+_residual)\.norm\.weight$/.exec(name)?.[1] ?? []);
  const { box: trained, show: showTrained } = course.drawing(() => {
    const ids = course.encode(model, text), own = course.pass(model, ids).loss, gone = names.map((name) => course.pass(model, ids, { residual: (one) => one !== name }).loss);
    return [course.bars(["nothing taken away", ...names], [own, ...gone], Math.max(own, ...gone)), course.note("Loss of the text, in nats a token.")];
  });
  box.append(course.row(course.slider("layers", [1, 30, 1, layers], (value) => { layers = value; show(); }), course.select("norm", ["none", "pre", "post"], (value) => { norm = ["none", "pre", "post"][value]; show(); })), drawn,
    regard.make("h3", {}, "The trained model, without one residual connection"), course.input("text", text, (value) => { text = value; showTrained(); }), trained);
  show();
  showTrained();
  return { measure() {
    const [kept, gone] = [true, false].map((is) => gradients(20, is, "none")[0]), times = kept / gone;
    return { choice: times > 1000 ? 2 : times > 3 ? 1 : 0, text: `Gradient at the input, as a share of that at the end: ${kept.toExponential(1)} with residuals, ${gone.toExponential(1)} without: ${times.toExponential(0)} times shorter.` };
  } };
};
