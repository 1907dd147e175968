"use strict";
// Weights of scores that the pupil moves.
course.experiments.softmax = (box) => {
  let scores = [1, 2, 3, 0, 2.5], names = ["a", "b", "c", "d", "e"], temperature = 1;
  /** @type {(some: number[], heat?: number) => Float64Array} */
  const weigh = (some, heat = 1) => engine.softmax(Float64Array.from(some, (score) => score / heat));
  const { box: drawn, show } = course.drawing(() => {
    const weights = weigh(scores, temperature), entropy = -weights.reduce((sum, w) => sum + (w > 0 ? w * Math.log2(w) : 0), 0);
    return [course.bars(names.map((name, i) => `${name} (score ${course.number(scores[i], 1)})`), weights),
      course.note(`entropy ${course.number(entropy, 2)} bits; uniform would be ${course.number(Math.log2(scores.length), 2)}, argmax 0`)];
  });
  const shuffle = () => {
    const order = names.map((_, i) => (i + 2) % names.length);
    [scores, names] = [order.map((i) => scores[i]), order.map((i) => names[i])];
    show();
  };
  box.append(course.row(course.slider("temperature", [0.05, 10, 0.05, 1], (value) => { temperature = value; show(); }),
    course.button("add 10 to all", () => { scores = scores.map((score) => score + 10); show(); }),
    course.button("times 2", () => { scores = scores.map((score) => score * 2); show(); }), course.button("permute", shuffle)),
  course.row(...names.map((name, i) => course.slider(name, [-5, 5, 0.5, scores[i]], (value) => { scores[names.indexOf(name)] = value; show(); }))), drawn);
  show();
  return { measure() {
    const before = weigh([1, 2, 3])[2], after = weigh([10, 20, 30])[2];
    return { choice: after > 0.9999 ? 2 : after > 0.75 ? 1 : 0, text: `The largest weight goes from ${before.toFixed(4)} to ${after.toFixed(6)}.` };
  } };
};
