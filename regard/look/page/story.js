"use strict";
// A story and how the hops went through it: each sentence, how much each hop attends to it, and how much the answer depends on it.
regard.views.push({
  name: "story", title: "Story", key: "1", isScaled: true,
  fits: (data) => data.isStory,
  says: (state) => [`Which sentences each hop attended to${state.data.why ? ", and what the answer loses without each" : ""}.`,
    "The question goes through the story in hops: each attends to the sentences with what the hops before it found. The names that other models’ heads have on this page (previous, aligning …) are of tokens that attend to tokens; hops attend to whole sentences, so they have none."],
  draw(state, box) {
    const { data } = state, about = data.kinds.hops;
    const values = data.map("hops", "mean"), width = about.columns.length;
    if (!values) return box.append(regard.make("p", {}, "Still being read …"));
    box.append(regard.make("h2", {}, data.text, " ", regard.make("strong", {}, data.answer),
      ` (${regard.percent(data.token_scores[0].probability)})`));
    const head = ["", ...about.rows, ...(data.why ? ["answer without it"] : [])];
    const rows = about.columns.map((sentence, x) => {
      const cells = about.rows.map((_, y) => {
        const weight = values[y * width + x];
        const color = regard.color(regard.share(state, weight, regard.top(values.subarray(y * width, (y + 1) * width))));
        return regard.make("td", { class: "number", "data-hop": y, "data-sentence": x,
          style: `background:${regard.css(color)};color:${regard.ink(color)}` }, weight.toFixed(2));
      });
      if (data.why) cells.push(regard.changeCell(-data.why.left_out[0][x]));
      return regard.make("tr", {}, regard.make("th", {}, regard.make("bdi", {}, sentence)), ...cells);
    });
    box.append(regard.make("table", { class: "story" },
      regard.headRow(head, head.map((_, i) => i)), ...rows));
    box.append(regard.make("p", { class: "legend" },
      data.why ? "Without it: how the probability of the answer changes when the sentence is left out, in percentage points." : ""), regard.legend(state, "the largest weight of its hop"));
  },
});

// A change of a probability, in percentage points.
regard.changeCell = (difference) => (Math.abs(difference) < 0.0005 ? regard.make("td", { class: "number" }, regard.make("small", {}, "0"))
  : regard.make("td", { class: "number", style: `color:${regard.css(regard.side(difference))}` }, `${difference > 0 ? "+" : "−"}${(100 * Math.abs(difference)).toFixed(1)}`));
