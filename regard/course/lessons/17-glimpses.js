"use strict";
// A reader of digits with four glimpses: where, and how sharply.
course.experiments.glimpses = (box) => {
  const drawn = ["01110 10001 10011 10101 11001 10001 01110", "00100 01100 00100 00100 00100 00100 01110", "01110 10001 00001 00010 00100 01000 11111", "11111 00010 00100 00010 00001 10001 01110", "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110", "00110 01000 10000 11110 10001 10001 01110", "11111 00001 00010 00100 01000 01000 01000", "01110 10001 10001 01110 10001 10001 01110", "01110 10001 10001 01111 00001 00010 01100"];
  const digits = drawn.map((text) => text.split(" ").map((row) => [...row].map(Number))), noise = 0.3;
  const boxes = [];
  for (let y = 0; y < 7; y++) for (let x = 0; x < 5; x++) boxes.push({ y, x, high: 1, wide: 1 }); // sharp
  for (let y = 0; y < 7; y += 2) for (let x = 0; x < 5; x += 2) boxes.push({ y, x, high: Math.min(3, 7 - y), wide: Math.min(3, 5 - x) }); // wide
  const mean = (image, { y, x, high, wide }) => {
    let sum = 0;
    for (let dy = 0; dy < high; dy++) for (let dx = 0; dx < wide; dx++) sum += image[y + dy][x + dx];
    return sum / (high * wide);
  };
  const table = digits.map((image) => boxes.map((one) => mean(image, one))); // what each glimpse would show of each digit
  // How much the digits that are still possible differ in a glimpse: its variance under the state.
  const differ = (state) => boxes.map((_, g) => {
    const middle = state.reduce((sum, p, d) => sum + p * table[d][g], 0);
    return state.reduce((sum, p, d) => sum + p * (table[d][g] - middle) ** 2, 0);
  });
  const see = (state, glimpse, value) => {
    const scores = Float64Array.from(state, (p, d) => Math.log(Math.max(p, 1e-300)) - (value - table[d][glimpse]) ** 2 / (2 * noise ** 2));
    return [...engine.softmax(scores)];
  };
  const even = () => new Array(10).fill(0.1), gauss = (random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  const best = (scores, seen) => engine.largest(scores.map((score, g) => (seen.includes(g) ? -1 : score)), 1)[0];
  const fixed = () => { // each place the best on average after those before it, over digits as they are
    const path = [];
    while (path.length < 4) {
      const gains = boxes.map((_, g) => (path.includes(g) ? -1 : digits.reduce((sum, __, d) => {
        const state = [...path, g].reduce((held, one) => see(held, one, table[d][one]), even());
        return sum + state[d];
      }, 0)));
      path.push(engine.largest(gains, 1)[0]);
    }
    return path;
  };
  const path = fixed();
  const read = (way, digit, random) => {
    let state = even();
    const seen = [];
    for (let i = 0; i < 4; i++) {
      const free = boxes.map((_, g) => g).filter((g) => !seen.includes(g));
      const glimpse = way === "random" ? free[Math.floor(random() * free.length)] : way === "fixed" ? path[i] : best(differ(state), seen);
      seen.push(glimpse);
      state = see(state, glimpse, table[digit][glimpse] + noise * gauss(random));
    }
    return { right: engine.largest(state, 1)[0] === digit, seen };
  };
  const score = (way, count = 1000) => {
    const random = engine.makeRandom(6);
    let right = 0;
    for (let i = 0; i < count; i++) right += Number(read(way, i % 10, random).right);
    return right / count;
  };
  let digit = 3, state = even(), seen = [], random = engine.makeRandom(digit);
  const { box: shown, show } = course.drawing(() => {
    const next = differ(state), [wanted] = [best(next, seen)], cover = (y, x) => seen.some((g) => { const b = boxes[g]; return y >= b.y && y < b.y + b.high && x >= b.x && x < b.x + b.wide; });
    return [regard.make("div", { class: "pair" }, course.heat(["", "", "", "", "", "", ""], ["", "", "", "", ""], digits[digit].map((row, y) => row.map((ink, x) => (cover(y, x) ? ink : null))), { digits: 0 }),
      course.bars(state.map((_, d) => `${d}`), state)), course.note(`${seen.length} glimpses. Most is to be learned from ${boxes[wanted].high > 1 || boxes[wanted].wide > 1 ? "a wide" : "a sharp"} one at row ${boxes[wanted].y + 1}, column ${boxes[wanted].x + 1}.`)];
  });
  const glance = (glimpse) => { seen = [...seen, glimpse]; state = see(state, glimpse, table[digit][glimpse] + noise * gauss(random)); show(); };
  const fresh = () => { digit = (digit + 7) % 10; state = even(); seen = []; random = engine.makeRandom(digit + seen.length); show(); };
  let [y, x] = [3, 2];
  box.append(course.row(course.button("best glimpse", () => glance(best(differ(state), seen))), course.slider("row", [1, 7, 1, 4], (value) => { y = value - 1; }), course.slider("column", [1, 5, 1, 3], (value) => { x = value - 1; }),
    course.button("glimpse there", () => glance(boxes.findIndex((b) => b.y === y && b.x === x))), course.button("another digit", fresh)), shown);
  show();
  return { measure() {
    const [blind, fix, chosen] = ["random", "fixed", "seen"].map((way) => score(way)), choice = chosen <= fix ? 1 : Math.abs(blind - fix) < 0.03 ? 0 : 2;
    return { choice, text: `Of 1,000 noisy digits with four glimpses each: random ${regard.percent(blind)}, fixed ${regard.percent(fix)}, by what was seen ${regard.percent(chosen)}.` };
  } };
};
