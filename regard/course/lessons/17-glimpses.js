"use strict";
// A reader of digits with four glimpses: where, and how sharply.
course.experiments.glimpses = (box) => {
  const drawn = ["01110 10001 10011 10101 11001 10001 01110", "00100 01100 00100 00100 00100 00100 01110", "01110 10001 00001 00010 00100 01000 11111", "11111 00010 00100 00010 00001 10001 01110", "00010 00110 01010 10010 11111 00010 00010",
    "11111 10000 11110 00001 00001 10001 01110", "00110 01000 10000 11110 10001 10001 01110", "11111 00001 00010 00100 01000 01000 01000", "01110 10001 10001 01110 10001 10001 01110", "01110 10001 10001 01111 00001 00010 01100"];
  const digits = drawn.map((text) => text.split(" ").map((row) => [...row].map(Number))), noise = 0.3;
  const boxes = /** @type {Glimpse[]} */ ([]);
  for (let y = 0; y < 7; y++) for (let x = 0; x < 5; x++) boxes.push({ y, x, high: 1, wide: 1 }); // sharp
  for (let y = 0; y < 7; y += 2) for (let x = 0; x < 5; x += 2) boxes.push({ y, x, high: Math.min(3, 7 - y), wide: Math.min(3, 5 - x) }); // wide
  /** @type {(image: number[][], box: Glimpse) => number} */
  const mean = (image, { y, x, high, wide }) => {
    let sum = 0;
    for (let dy = 0; dy < high; dy++) for (let dx = 0; dx < wide; dx++) sum += image[y + dy][x + dx];
    return sum / (high * wide);
  };
  const table = digits.map((image) => boxes.map((one) => mean(image, one))); // what each glimpse would show of each digit
  // How much the digits that are still possible differ in a glimpse: its variance under the state.
  /** @type {(state: number[]) => number[]} */
  const differ = (state) => boxes.map((_, g) => {
    const middle = state.reduce((sum, p, d) => sum + p * table[d][g], 0);
    return state.reduce((sum, p, d) => sum + p * (table[d][g] - middle) ** 2, 0);
  });
  /** @type {(state: number[], glimpse: number, value: number) => number[]} */
  const see = (state, glimpse, value) => {
    const scores = Float64Array.from(state, (p, d) => Math.log(Math.max(p, 1e-300)) - (value - table[d][glimpse]) ** 2 / (2 * noise ** 2));
    return [...engine.softmax(scores)];
  };
  const even = () => new Array(10).fill(0.1), gauss = (/** @type {() => number} */ random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
  /** @type {(scores: number[], seen: number[]) => number} */
  const best = (scores, seen) => engine.largest(scores.map((score, g) => (seen.includes(g) ? -1 : score)), 1)[0];
  const fixed = () => { // each place the best on average after those before it, over digits as they are
    const found = /** @type {number[]} */ ([]);
    while (found.length < 4) {
      const gains = boxes.map((_, g) => (found.includes(g) ? -1 : digits.reduce((sum, __, d) => {
        const state = [...found, g].reduce((held, one) => see(held, one, table[d][one]), even());
        return sum + state[d];
      }, 0)));
      found.push(engine.largest(gains, 1)[0]);
    }
    return found;
  };
  const path = fixed();
  /** @type {(way: string, digit: number, random: () => number) => { right: boolean, seen: number[] }} */
  const read = (way, digit, random) => {
    let state = even();
    const seen = /** @type {number[]} */ ([]);
    for (let i = 0; i < 4; i++) {
      const free = boxes.map((_, g) => g).filter((g) => !seen.includes(g));
      const glimpse = way === "random" ? free[Math.floor(random() * free.length)] : way === "fixed" ? path[i] : best(differ(state), seen);
      seen.push(glimpse);
      state = see(state, glimpse, table[digit][glimpse] + noise * gauss(random));
    }
    return { right: engine.largest(state, 1)[0] === digit, seen };
  };
  const score = (/** @type {string} */ way, count = 1000) => {
    const random = engine.makeRandom(6);
    let right = 0;
    for (let i = 0; i < count; i++) right += Number(read(way, i % 10, random).right);
    return right / count;
  };
  let digit = 3, state = even(), seen = /** @type {{ glimpse: number, value: number }[]} */ ([]), isWide = false, random = engine.makeRandom(3);
  /** @type {(box: Glimpse, row: number, column: number) => boolean} */
  const covers = ({ y, x, high, wide }, row, column) => row >= y && row < y + high && column >= x && column < x + wide;
  const glance = (/** @type {number} */ glimpse) => {
    const value = table[digit][glimpse] + noise * gauss(random);
    seen = [...seen, { glimpse, value }];
    state = see(state, glimpse, value);
    show();
  };
  const fresh = () => { digit = (digit + 7) % 10; state = even(); seen = []; random = engine.makeRandom(digit); show(); };
  // The screen: what was seen where, sharp glimpses over wide ones; a click is a glimpse there.
  const screen = (/** @type {number} */ wanted) => regard.make("table", { class: "screen" }, ...digits[digit].map((inks, y) => regard.make("tr", {}, ...inks.map((_, x) => {
    const here = seen.filter(({ glimpse }) => covers(boxes[glimpse], y, x)).sort((a, b) => boxes[b.glimpse].high - boxes[a.glimpse].high).at(-1);
    const share = here ? Math.max(0, Math.min(1, here.value)) : 0;
    const look = () => {
      const at = boxes.findIndex((one) => (isWide ? one.high > 1 || one.wide > 1 : one.high === 1 && one.wide === 1) && covers(one, y, x));
      glance(at);
    };
    return regard.make("td", {
      class: `${here ? "shade" : "masked"}${covers(boxes[wanted], y, x) ? " wanted" : ""}`, style: `--share:${(75 * share).toFixed(0)}%`, role: "button", tabindex: 0,
      "aria-label": `row ${y + 1}, column ${x + 1}: ${here ? here.value.toFixed(1).replace("-0.0", "0.0") : "not seen"}`, onclick: look,
      onkeydown: (event) => { if (event.key === "Enter") look(); },
    }, here ? here.value.toFixed(1).replace("-0.0", "0.0") : "");
  }))));
  const { box: shown, show } = course.drawing(() => {
    const wanted = best(differ(state), seen.map((one) => one.glimpse)), { high, wide, y, x } = boxes[wanted];
    return [regard.make("div", { class: "pair" }, screen(wanted), course.bars(state.map((_, d) => `${d}`), state.map((p) => Math.round(100 * p) / 100), 1, 2)),
      course.note(`${seen.length} ${seen.length === 1 ? "glimpse" : "glimpses"}. Framed: where most is to be learned next, a ${high > 1 || wide > 1 ? "wide" : "sharp"} glimpse at row ${y + 1}, column ${x + 1}. The bars: how probable each digit is by now.`)];
  });
  box.append(course.note("Click a cell to look there. What is seen has noise in it."), course.row(
    course.button("best glimpse", () => glance(best(differ(state), seen.map((one) => one.glimpse)))), course.tick("look widely", (is) => { isWide = is; }),
    course.button("another digit", fresh), course.button("which digit was it?", () => { shown.append(course.note(`It is a ${digit}.`)); })), shown);
  show();
  return { measure() {
    const [blind, fix, chosen] = ["random", "fixed", "seen"].map((way) => score(way)), choice = chosen <= fix ? 1 : Math.abs(blind - fix) < 0.03 ? 0 : 2;
    return { choice, text: `Of 1,000 noisy digits with four glimpses each: random ${regard.percent(blind)}, fixed ${regard.percent(fix)}, by what was seen ${regard.percent(chosen)}.` };
  } };
};
