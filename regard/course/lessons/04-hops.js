"use strict";
// The memory network in the page, hop by hop, as it is, from zero, or with one table for all hops.
course.experiments.hops = (box, { config, weights, tokenizer }) => {
  let story = "Brian is a frog.\nLily is gray.\nBrian is yellow.\nJulius is green.\nGreg is a frog.", question = "What color is Greg?", isZero = false, isOne = false;
  const pad = tokenizer.roles.pad ?? 0;
  /** @type {(lines: string[], asked: string, zero: boolean, one: boolean) => { hops: number[][], answer: string, share: number }} */
  const run = (lines, asked, zero, one) => {
    const changed = one ? new Map([...weights].map(([name, tensor]) => [name, weights.get(name.replace(/^(words|times)\.\d+$/, (whole, kind) => (whole === `${kind}.${config.hops}` ? whole : `${kind}.0`))) ?? tensor])) : weights;
    const model = engine.makeAnswerer({ ...config, controller: zero ? "zero" : "question" }, changed, pad);
    /** @type {(text: string) => number[]} */
    const known = (text) => tokenizer.encodePart(text).filter((id) => id !== tokenizer.roles.unknown);
    const { logits, hops } = model.read(lines.map(known), known(asked)), shares = engine.softmax(Float64Array.from(logits)), [best] = engine.largest(shares, 1);
    return { hops, answer: tokenizer.tokens([best])[0].trim(), share: shares[best] };
  };
  const lines = () => story.split("\n").map((line) => line.trim()).filter(Boolean);
  const isMemory = config.kind === "memory";
  const { box: drawn, show } = course.drawing(() => {
    const told = lines();
    if (!told.length) throw new Error("the story has no sentence");
    const { hops, answer, share } = run(told, question, isZero, isOne), unknown = [...new Set([...told, question].flatMap((text) => tokenizer.unknown(text)))];
    const twice = hops.slice(1).filter((hop, i) => engine.largest(hop, 1)[0] === engine.largest(hops[i], 1)[0]).length;
    return [course.heat(told, hops.map((_, i) => `hop ${i + 1}`), told.map((_, s) => hops.map((hop) => hop[s])), { plain: true }),
      regard.make("p", { class: "answer" }, `${answer} (${regard.percent(share)})`),
      course.note(`${twice ? `${twice} of ${hops.length - 1} further hops attend most to the sentence of the hop before` : "no hop attends most to the sentence of the hop before"}${unknown.length ? `; words the model never saw: ${unknown.join(", ")}` : ""}`)];
  });
  const ticks = isMemory ? [course.tick("begin at zero", (is) => { isZero = is; show(); })] : [course.note("This model is a story Transformer; what is cut below is of a memory network.")];
  if (isMemory && config.tying === "adjacent") ticks.push(course.tick("one table for all hops", (is) => { isOne = is; show(); }));
  box.append(course.area("story", story, (value) => { story = value; show(); }), course.input("question", question, (value) => { question = value; show(); }), course.row(...ticks), drawn);
  show();
  return { measure() {
    if (!isMemory) throw new Error("this model is a story Transformer, whose hops begin otherwise; train a memory network: --set model.kind=memory");
    const told = lines(), { hops: [first] } = run(told, "What color is Greg?", true, false), spread = Math.max(...first) - Math.min(...first);
    const answers = ["Greg", "Brian", "Lily"].map((name) => run(told, `What color is ${name}?`, true, false).answer);
    const choice = spread < 1e-6 ? 2 : engine.largest(first, 1)[0] === told.length - 1 ? 1 : 0;
    return { choice, text: `Weights of the first hop: ${first.map((w) => course.number(w)).join(", ")}. Asked for Greg, Brian and Lily it answers ${answers.join(", ")}.` };
  } };
};
