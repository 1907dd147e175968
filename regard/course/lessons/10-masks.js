"use strict";
// Zeros against a mask in a trained model, a graph to be drawn, and two small models of which one may cheat.
course.experiments.masks = (box, model) => {
  const { tokenizer } = model;
  // The most that places behind attend to a place whose vector is zero.
  /** @type {(ids: number[], place: number) => number} */
  const most = (ids, place) => Math.max(...course.pass(model, ids, { zero: place }).maps[0].flatMap((head) => head.slice(place + 1).map((row) => row[place])));
  let graph = [[0, 1], [1, 2]];
  const names = ["a", "b", "c", "d", "e"], random = engine.makeRandom(2), vectors = course.rowsOf(course.fresh(5, 8, random, 1));
  /** @type {(a: number, b: number) => boolean} */
  const may = (a, b) => a === b || graph.some(([x, y]) => (x === a && y === b) || (x === b && y === a));
  const { box: drawn, show } = course.drawing(() => course.heat(names, names, vectors.map((q, a) => {
    const shares = engine.softmax(Float64Array.from(vectors, (k, b) => (may(a, b) ? q.reduce((sum, x, i) => sum + x * k[i], 0) / Math.sqrt(8) : -Infinity)));
    return [...shares].map((share, b) => (may(a, b) ? share : null));
  }), { act: (a, b) => { if (a !== b) graph = may(a, b) ? graph.filter(([x, y]) => !((x === a && y === b) || (x === b && y === a))) : [...graph, [a, b]]; show(); } }));
  // One layer of attention over letters, trained on one text, with or without a mask.
  const text = "a mask decides which place may attend to which other place. a model of language must not see the letters that it is asked to predict, for then it would only have to copy them. one that is trained without a mask has a low loss, and all seems well, until the model has to write something of its own and there is nothing left to copy. the score is set to minus infinity before softmax, so that the weight is exactly zero and all the others share what is left. ", letters = [...new Set(text)].sort(), width = 24, count = letters.length, window = 12;
  const train = async (/** @type {boolean} */ isCausal, steps = 300) => {
    const draw = engine.makeRandom(4), [table, places, query, key, value, output] = [[count, 0.5], [window, 0.5], [width], [width], [width], [width]].map(([rows, spread], i) => course.fresh(rows, i === 5 ? count : width, draw, spread));
    const all = [table, places, query, key, value, output], step = course.adam(all, 0.02), losses = [];
    const run = (/** @type {number[]} */ ids) => {
      const x = course.plus(course.pick(table, ids), course.pick(places, ids.map((_, i) => i)));
      const scores = course.scale(course.multiply(course.multiply(x, query), course.transpose(course.multiply(x, key))), 1 / Math.sqrt(width));
      return course.multiply(course.plus(course.multiply(course.softmax(scores, (t, s) => !isCausal || s <= t), course.multiply(x, value)), x), output);
    };
    for (let i = 0; i < steps; i++) {
      if (i % 10 === 0) await engine.yieldOnce(); // the page stays alive
      let sum = 0;
      for (let part = 0; part < 4; part++) {
        const start = Math.floor(draw() * (text.length - window - 1)), ids = [...text.slice(start, start + window + 1)].map((letter) => letters.indexOf(letter));
        const loss = course.crossEntropy(run(ids.slice(0, -1)), ids.slice(1));
        sum += loss.data[0] / 4;
        course.back(loss);
      }
      losses.push(sum);
      step();
    }
    let written = "the c";
    while (written.length < 30) {
      const ids = [...written.slice(-window)].map((letter) => letters.indexOf(letter)), logits = course.rowsOf(run(ids))[ids.length - 1];
      written += letters[engine.largest(logits, 1)[0]];
    }
    return { losses, written };
  };
  const { box: cheat, show: showCheat } = course.drawing(async () => {
    const fair = await train(true), cheating = await train(false);
    return [course.lines({ "with mask": fair.losses, "without mask": cheating.losses }), course.note("Training loss, in nats a letter. Then each continues “the c”:"),
      course.bars(["with mask", "without mask"], [fair, cheating].map((one) => one.losses.slice(-10).reduce((sum, x) => sum + x / 10, 0)), 3),
      regard.make("pre", {}, `with mask:    ${fair.written}\nwithout mask: ${cheating.written}`)];
  });
  box.append(regard.make("h3", {}, "Look into the future, and cheat"), course.row(course.button("train both", showCheat)), cheat,
    regard.make("h3", {}, "Any graph: click a cell to join or part two nodes"), drawn);
  show();
  return { measure() {
    const ids = course.encode(model, "The old dog drinks the water in the garden."), weight = most(ids, 3), [name] = tokenizer.tokens([ids[3]]);
    return { choice: weight > 0 ? 1 : 0, text: `“${regard.shown(name)}” as zeros: later tokens attend to it with up to ${course.number(weight)}. With a score of minus infinity it would be exactly 0.` };
  } };
};
