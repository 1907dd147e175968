"use strict";
// Controls of the lessons: what a pupil moves, types or presses. Knows no experiment.

/** @param {string} label @param {[least: number, most: number, step: number, value: number]} range @param {(value: number) => void} change */
course.slider = (label, [least, most, step, value], change) => {
  const shown = regard.make("output", {}, String(value));
  const moved = (/** @type {any} */ event) => {
    shown.textContent = event.target.value;
    change(Number(event.target.value));
  };
  const input = regard.make("input", { type: "range", min: least, max: most, step, value, "aria-label": label, oninput: moved });
  return regard.make("label", { class: "range" }, `${label} `, input, " ", shown);
};

/** @param {string} label @param {() => void} act */
course.button = (label, act) => regard.make("button", { type: "button", onclick: act }, label);

/** @param {string} label @param {string[]} options @param {(place: number) => void} change */
course.select = (label, options, change) => regard.make("label", {}, `${label} `, regard.make("select", {
  "aria-label": label, onchange: (event) => change(event.target.selectedIndex),
}, ...options.map((option) => regard.make("option", {}, option))));

/** @param {string} label @param {(is: boolean) => void} change @param {boolean} [isOn] */
course.tick = (label, change, isOn = false) => regard.make("label", {}, regard.make("input", {
  type: "checkbox", checked: isOn, onchange: (event) => change(event.target.checked),
}), ` ${label}`);

/** A choice among the whole numbers up to this one. @param {string} label @param {number} count @param {(place: number) => void} change @param {number} [chosen] */
course.which = (label, count, change, chosen = 0) => {
  const box = course.select(label, Array.from({ length: count }, (_, i) => `${i + 1}`), change);
  for (const field of box.querySelectorAll("select")) field.selectedIndex = chosen;
  return box;
};

/** @param {string} label @param {string} value @param {(value: string) => void} change */
course.input = (label, value, change) => {
  const field = /** @type {HTMLInputElement} */ (regard.make("input", { type: "text", "aria-label": label, oninput: (event) => change(event.target.value) }));
  field.value = value;
  return regard.make("label", { class: "wide" }, regard.make("span", {}, label), field);
};

/** @param {string} label @param {string} value @param {(value: string) => void} change */
course.area = (label, value, change) => {
  const rows = value.split("\n").length + 1;
  const field = /** @type {HTMLTextAreaElement} */ (regard.make("textarea", { "aria-label": label, rows, oninput: (event) => change(event.target.value) }));
  field.value = value;
  return regard.make("label", { class: "wide" }, regard.make("span", {}, label), field);
};

/** @param {Child[]} parts */
course.row = (...parts) => regard.make("div", { class: "controls" }, ...parts);
/** @param {string} text */
course.note = (text) => regard.make("p", { class: "note" }, text);
/** @param {string} text */
course.heading = (text) => regard.make("h3", {}, text);

// What a lesson's sandbox computes is drawn anew; what goes wrong is shown where it went wrong.
/** @param {() => Drawn | Promise<Drawn>} draw */
course.drawing = (draw) => {
  const box = regard.make("div", { class: "drawn" });
  const show = async () => {
    try {
      box.replaceChildren(...[await draw()].flat());
    } catch (problem) {
      box.replaceChildren(regard.make("p", { class: "trouble", role: "alert" }, /** @type {Error} */ (problem).message));
    }
  };
  return { box, show };
};
