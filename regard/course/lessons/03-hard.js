"use strict";
// A query that learns to fetch one value of eight: soft, hard, straight-through, or over the k best.
course.experiments.hard = (box) => {
  const random = engine.makeRandom(7), keys = course.fresh(8, 4, random, 1), values = course.matrix(Array.from({ length: 8 }, (_, i) => [Math.cos(i * 0.785), Math.sin(i * 0.785)]));
  const target = 2, wanted = [...values.data.subarray(2 * target, 2 * target + 2)];
  const worst = () => new course.Matrix(1, 4, Float64Array.from(keys.data.subarray(4 * target, 4 * target + 4), (x) => -x)); // away from the key that is needed
  /** @type {(scores: Matrix) => May} */
  const one = (scores) => { const best = engine.largest(scores.data, 1)[0]; return (_, c) => c === best; };
  // Weights of the choice; straight-through: forwards the choice, backwards the gradient of softmax.
  /** @type {Record<string, (scores: Matrix, k: number) => Matrix>} */
  const ways = {
    soft: (scores) => course.softmax(scores),
    argmax: (scores) => course.softmax(scores, one(scores)),
    "straight-through": (scores) => {
      const soft = course.softmax(scores), may = one(scores);
      return new course.Matrix(1, 8, soft.data.map((_, c) => Number(may(0, c))), [soft], (grad) => grad.forEach((g, i) => { soft.grad[i] += g; }));
    },
    best: (scores, k) => {
      const best = new Set(engine.largest(scores.data, k));
      return course.softmax(scores, (_, c) => best.has(c));
    },
  };
  /** @type {(way: string, k?: number, steps?: number) => { losses: number[], first: number, right: boolean }} */
  const learn = (way, k = 1, steps = 200) => {
    const query = worst(), step = course.adam([query], 0.05), losses = /** @type {number[]} */ ([]);
    let first = 0;
    for (let i = 0; i <= steps; i++) {
      const loss = course.squares(course.multiply(ways[way](course.multiply(query, course.transpose(keys)), k), values), wanted);
      losses.push(loss.data[0]);
      course.back(loss);
      if (i === 0) first = Math.hypot(...query.grad);
      keys.grad.fill(0); values.grad.fill(0);
      step();
    }
    const [found] = engine.largest(course.multiply(query, course.transpose(keys)).data, 1);
    return { losses, first, right: found === target };
  };
  let k = 3;
  const { box: drawn, show } = course.drawing(() => {
    const runs = { soft: learn("soft"), argmax: learn("argmax"), "straight-through": learn("straight-through"), [`${k} best`]: learn("best", k) };
    return [course.lines(Object.fromEntries(Object.entries(runs).map(([name, run]) => [name, run.losses]))),
      course.table(["first gradient", "loss before", "loss after", "right key"], Object.entries(runs).map(([name, run]) => [
        name, course.number(run.first, 2), course.number(run.losses[0], 2), course.number(run.losses[run.losses.length - 1], 2), run.right ? "yes" : "no"]))];
  });
  box.append(course.row(course.slider("k", [1, 8, 1, k], (value) => { k = value; show(); })), drawn);
  show();
  return { measure() {
    const [soft, hard, through] = ["soft", "argmax", "straight-through"].map((way) => learn(way));
    const choice = hard.right ? 0 : through.right ? 1 : 2;
    return { choice, text: `Length of the first gradient: soft ${course.number(soft.first)}, argmax ${hard.first}, straight-through ${course.number(through.first)}. `
      + `Right key after training: soft ${soft.right ? "yes" : "no"}, argmax ${hard.right ? "yes" : "no"}, straight-through ${through.right ? "yes" : "no"}.` };
  } };
};
