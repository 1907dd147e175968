"use strict";
// Colours that differ in lightness, for the colour-blind: from the paper to deep blue, or from dark to pale yellow.
regard.ramps = {
  light: [[255, 255, 255], [199, 221, 240], [112, 169, 207], [36, 104, 166], [8, 36, 84]],
  dark: [[22, 24, 29], [34, 58, 96], [58, 106, 134], [133, 160, 130], [250, 231, 155]],
};
// For gains and losses, more and less than 0: blue and orange, which differ to everybody.
regard.sides = { light: { gain: [30, 106, 184], loss: [184, 80, 10] }, dark: { gain: [112, 172, 236], loss: [242, 166, 90] } };

regard.isDark = () => document.documentElement.dataset.theme === "dark";

regard.color = (value) => {
  const ramp = regard.ramps[regard.isDark() ? "dark" : "light"];
  const place = Math.min(1, Math.max(0, value)) * (ramp.length - 1);
  const low = Math.min(ramp.length - 2, Math.floor(place)), share = place - low;
  return ramp[low].map((part, i) => Math.round(part + (ramp[low + 1][i] - part) * share));
};

regard.side = (value) => regard.sides[regard.isDark() ? "dark" : "light"][value < 0 ? "loss" : "gain"];

// A value from -1 to 1: orange, paper, blue.
regard.diverge = (value) => {
  const paper = regard.ramps[regard.isDark() ? "dark" : "light"][0], share = Math.min(1, Math.abs(value));
  return regard.side(value).map((part, i) => Math.round(paper[i] + (part - paper[i]) * share));
};

regard.css = ([red, green, blue], alpha = 1) => `rgba(${red},${green},${blue},${alpha})`;

// Ink that can be read on a colour: of black and white the one with more contrast, which is at least 4.5 on any.
regard.ink = (color) => {
  const [red, green, blue] = color.map((part) => (part <= 10 ? part / 3294 : ((part / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000" : "#fff";
};

// Redraws what is drawn in colours.
regard.setTheme = (theme) => {
  document.documentElement.dataset.theme = theme;
  document.dispatchEvent(new Event("regard-theme"));
};

// How strong the colour of a weight is: the weight itself, or its share of the largest one of its row.
regard.share = (state, weight, most) => (state.scale === "row" ? weight / Math.max(1e-9, most) : weight);

// What more attention looks like: on paper the ramp gets darker, on a dark page brighter.
regard.more = () => (regard.isDark() ? "brighter" : "darker");

// A bar of the colours, from what is least to what is most.
regard.ramp = (least, most) => regard.make("span", { class: "ramped" }, `${least} `,
  regard.make("i", { class: "ramp", style: `background:linear-gradient(to right, ${regard.ramps[regard.isDark() ? "dark" : "light"].map((color) => regard.css(color)).join(", ")})` }), ` ${most}`);

// What the colours of attention mean.
regard.legend = (state, most = "the largest weight of its row") => regard.make("p", { class: "legend scale" }, `${regard.more()} is more attention: `,
  regard.ramp("0", state.scale === "row" ? `${most} (rows cannot be compared)` : "1 (all attention of a row)"));
