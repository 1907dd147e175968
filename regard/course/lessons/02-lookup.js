"use strict";
// A little database of videos that is searched by meaning.
course.experiments.lookup = (box) => {
  const names = ["Songs by the fire", "The cup final", "Soup in ten minutes", "Owls at night", "Best of everything"];
  const features = ["music", "sport", "cooking", "animals"], keys = [[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0], [0, 0, 0, 2], [3, 3, 3, 3]], minutes = [4, 90, 10, 25, 60];
  const query = [0, 0, 1, 0];
  let temperature = 1, isCosine = false;
  /** @type {(a: number[], b: number[]) => number} */
  const dot = (a, b) => a.reduce((sum, x, i) => sum + x * b[i], 0);
  const size = (/** @type {number[]} */ a) => Math.sqrt(dot(a, a)) || 1;
  /** @type {(q: number[], cosine: boolean) => number[]} */
  const match = (q, cosine) => keys.map((key) => (cosine ? dot(q, key) / size(q) / size(key) : dot(q, key)));
  const { box: drawn, show } = course.drawing(() => {
    const weights = engine.softmax(Float64Array.from(match(query, isCosine), (score) => score / temperature));
    const mixture = weights.reduce((sum, w, i) => sum + w * minutes[i], 0);
    const matches = match(query, isCosine);
    return [course.table([...features, isCosine ? "cosine" : "dot product", "minutes"], keys.map((key, i) => [names[i], ...key, course.number(matches[i], 2), minutes[i]])),
      course.heading("Weights"), course.bars(names, weights), course.note(`Found: ${course.number(mixture, 1)} minutes, a mixture of the values.`)];
  });
  box.append(course.row(...features.map((name, i) => course.slider(name, [-1, 1, 0.1, query[i]], (value) => { query[i] = value; show(); }))),
    course.row(course.slider("temperature", [0.05, 3, 0.05, 1], (value) => { temperature = value; show(); }), course.tick("cosine instead of dot product", (is) => { isCosine = is; show(); })), drawn);
  show();
  return { measure() {
    const [first] = engine.largest(match([0, 0, 1, 0], false), 1), [second] = engine.largest(match([0, 0, 1, 0], true), 1);
    return { choice: first === 4 ? 1 : 0, text: `Dot products: ${match([0, 0, 1, 0], false).join(", ")}. The dot product finds “${names[first]}”, the cosine “${names[second]}”.` };
  } };
};
