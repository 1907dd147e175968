"use strict";
// Each token by its probability, with the alternatives at its place; and the logit lens.
regard.views.push({
  name: "probabilities", title: "Probabilities", key: "8", group: "Output",
  fits: (data) => data.token_scores.length > 0,
  says: (state) => [`How likely each token was that the model ${state.data.answer ? "generated" : "read"}, and what else was likely in its place.`,
    "Surprise is −log2 of the probability: 1 bit is one of two equals, 10 bits one of a thousand.", "The logit lens shows what would be predicted if each layer were the last."],
  draw(state, box) {
    const { data } = state;
    box.append(regard.make("p", { class: "legend" }, `${regard.more()} is more of a surprise: `, regard.ramp("0", "10 bits, one of a thousand."), " Point at a token for what was likely there."));
    const line = regard.make("p", { class: "sentence", dir: "auto" });
    const table = regard.make("div", { class: "alternatives columns" });
    const show = (/** @type {number} */ index) => {
      const score = data.token_scores[index];
      const rows = score.alternatives.map(([token, probability]) => regard.make("tr",
        { class: token === score.token ? "chosen" : undefined },
        regard.make("td", {}, regard.make("bdi", {}, regard.shown(token))),
        regard.make("td", { class: "number" }, regard.percent(probability)),
        regard.make("td", {}, regard.probabilityBar(probability))));
      const bits = -Math.log2(Math.max(score.probability, 1e-12));
      table.replaceChildren(regard.make("section", {},
        regard.make("h2", {}, regard.make("bdi", {}, regard.shown(score.token)), ` ${regard.percent(score.probability)}, ${bits.toFixed(1)} bits of surprise`), regard.make("table", {}, ...rows)), ...regard.logitLens(data, index));
      for (const span of line.querySelectorAll("span")) span.classList.toggle("pointed", span.dataset.index === String(index));
    };
    data.token_scores.forEach((score, index) => {
      const bits = -Math.log2(Math.max(score.probability, 1e-12));
      const color = regard.color(Math.min(1, bits / 10));
      const span = regard.make("span", {
        class: "token", tabindex: "0", "data-index": index, "data-probability": score.probability,
        style: `background:${regard.css(color)};color:${regard.ink(color)}`,
      }, regard.shown(score.token));
      for (const event of ["pointerenter", "focus", "click"]) span.addEventListener(event, () => show(index));
      line.append(span, " ");
    });
    box.append(line, table);
    show(data.token_scores.reduce((best, score, index) => (score.probability < data.token_scores[best].probability ? index : best), 0)); // the greatest surprise
  },
});

regard.probabilityBar = (value) => regard.make("span", { class: "track" }, regard.make("i", { class: "bar", style: `width:${(100 * value).toFixed(1)}%` }));

// The logit lens at one place: the prediction if each layer were the last.
regard.logitLens = (data, index) => {
  if (!data.logit_lens.length) return [];
  const rows = data.logit_lens.map((layer, number) => regard.make("tr", {},
    regard.make("th", {}, number === 0 ? "input" : `layer ${number}`),
    ...layer[index].map(([token, probability]) => regard.make("td", {},
      regard.make("bdi", {}, regard.shown(token)), regard.make("small", {}, ` ${regard.percent(probability)}`)))));
  return [regard.make("section", {}, regard.make("h2", {}, "If each layer were the last (logit lens)"), regard.make("table", { class: "logit-lens" }, ...rows))];
};
