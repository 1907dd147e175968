"use strict";
// Attention beside importance: what leaving a word out costs, and what the gradient says; and a switch for every head.
regard.views.push({
  name: "why", title: "Why", key: "9", group: "Output",
  fits: (data) => data.why !== null && !data.isStory,
  says: () => ["Attention beside what the output depends on: each word left out in turn, the gradient, and each head switched off.",
    "Left out: the log-probability that a token loses without the word, in nats (1 nat: 2.7 times less likely). Gradient × input: a first guess at the same from the slope.", "Blue is more than 0: the word helps this token; orange: it hinders."],
  draw(state, box) {
    const { data } = state, { why } = data;
    if (!why) return;
    const kind = Object.keys(data.kinds)[0], about = data.kinds[kind];
    box.append(regard.make("p", { class: "honest" },
      "Attention alone is not an explanation: it shows where information may flow, not what the output depends on."));
    if (why.argmax_overlap) {
      box.append(regard.make("p", {}, `The most attended token is also the most important one for ${regard.percent(why.argmax_overlap.left_out)}` +
        ` of the tokens by leaving words out, and for ${regard.percent(why.argmax_overlap.gradient)} by the gradient.`));
    }
    const pick = regard.make("select", { "aria-label": "Token", "data-pick": "token" },
      ...data.token_scores.map((score, index) => regard.make("option", { value: index }, `${index + 1}. ${regard.shown(score.token)}`)));
    const table = regard.make("table", { class: "importance" });
    const show = () => {
      const row = Number(pick.value), looked = why.rows[row];
      const attention = data.map(kind, kind === "cross" && data.aligning ? "alignment" : "mean");
      const width = about.columns.length;
      const bars = about.columns.map((label, x) => regard.make("tr", {},
        regard.make("th", {}, regard.make("bdi", {}, regard.shown(label))),
        regard.bar(attention ? attention[looked * width + x] : 0, 1),
        regard.bar(why.left_out[row][x], regard.reach(why.left_out[row])),
        regard.bar(why.gradient[row][x], regard.reach(why.gradient[row]))));
      table.replaceChildren(regard.headRow(["", "attention", "left out, it costs (nats)", "gradient × input"]), ...bars);
    };
    pick.addEventListener("change", show);
    box.append(regard.make("label", {}, "What mattered for ", pick), table);
    show();
    box.append(regard.switches(state));
  },
});

regard.reach = (values) => Math.max(1e-9, ...values.map(Math.abs));

regard.bar = (value, most) => {
  const side = regard.side(value);
  return regard.make("td", { "data-value": value },
    regard.make("i", { class: "bar", style: `width:calc(var(--long) * ${Math.min(1, Math.abs(value) / most).toFixed(3)});background:${regard.css(side)}` }),
    regard.make("small", {}, ` ${regard.number(value, most < 0.01 ? 5 : 3)}`));
};

regard.offOf = (data, kind, layer, head) =>
  (data.why ? data.why.off.find((off) => off.kind === kind && off.layer === layer && off.head === head) : undefined);

// Every head can be switched off: what becomes of each token then.
regard.switches = (state) => {
  const { data } = state;
  const box = regard.make("section", { class: "switches" }, regard.make("h2", {}, "Switch a head off"));
  const heads = [...(data.why?.off ?? [])].sort((a, b) => b.loss - a.loss);
  const pick = regard.make("select", { "aria-label": "Head", "data-pick": "head" }, regard.make("option", { value: "" }, "none is off"),
    ...heads.map((off, index) => regard.make("option", { value: index },
      `${off.kind} ${off.layer}·${off.head}: ${off.loss >= 0 ? "−" : "+"}${Math.abs(off.loss).toFixed(3)} nats a token`)));
  const line = regard.make("p", { class: "sentence", dir: "auto" });
  const show = () => {
    const off = pick.value === "" ? null : heads[Number(pick.value)];
    line.replaceChildren(...data.token_scores.flatMap((score, index) => {
      const probability = off ? off.probabilities[index] : score.probability;
      const lost = Math.log2(Math.max(score.probability, 1e-9) / Math.max(probability, 1e-9));
      const color = regard.side(-lost);
      const isOther = off && off.instead[index] !== score.token;
      const span = regard.make("span", {
        class: "token" + (isOther ? " changed" : ""), title: `${regard.percent(score.probability)} → ${regard.percent(probability)}`,
        style: `background:${regard.css(color, Math.min(0.8, Math.abs(lost) / 6))}`,
      }, regard.shown(score.token));
      if (isOther) span.append(regard.make("ins", {}, ` ${regard.shown(off.instead[index])}`));
      return [span, " "];
    }));
  };
  pick.addEventListener("change", show);
  box.append(pick, regard.make("p", { class: "legend" },
    "Orange: less likely without this head; blue: more likely. Small after a token: what would be likeliest instead, all else as it was."), line);
  show();
  return box;
};
