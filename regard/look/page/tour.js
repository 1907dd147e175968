"use strict";
// A tour of one minute: each stop chooses a view and says what to see there.
regard.tourStops = [
  { view: "text", words: "This is the model at work. Type on the left: every keystroke is computed by the model in this file, and nothing leaves it. One word is chosen; the words that it attends to are coloured." },
  { view: "story", words: "This is the model at work. Change the story on the left: every keystroke is computed by the model in this file. Each column is a hop: which sentences the question attended to on its way to the answer." },
  { view: "matrix", words: "All attention at once: a row for each word that attends, a column for each that is attended to. Choose a single layer and head above; heads differ." },
  { view: "overview", words: "Every head of every layer, small. Some look at the word before, some at the same word, some at the end of the sentence. Click one to see it large." },
  { view: "numbers", words: "Any cell down to its numbers: query times key, softmax, and what the value brings. Drag a weight, and the model computes with yours." },
  { view: "stream", words: "A token on its way through the layers: what each one adds, and what the model would predict if it stopped there." },
  { view: "probabilities", words: "What the model thought likely in each place. Surprises stand out." },
  { view: "change", words: "Attention is not an explanation; an experiment is better. Switch a head off here, and see which predictions fall. Undo brings it back, and the address of the page keeps what you did." },
];

regard.tourButton = (box) => regard.make("button", { "data-act": "tour", onclick: () => regard.tour(box) }, "Tour", regard.make("span", { class: "roomy" }, " of one minute"));

regard.tour = (box) => {
  const look = /** @type {HTMLElement} */ (box.querySelector(".look") ?? box); // of a page with several models, the one that is open
  document.querySelector(".tour")?.remove();
  const stops = regard.tourStops.filter((stop) => look.state && regard.viewsOf(look.state.data).some((view) => view.name === stop.view));
  if (!stops.length) return regard.complain("Give the model something to read first; then there is something to see.");
  let place = 0;
  const words = regard.make("p", {}), count = regard.make("small", {}), back = regard.make("button", { onclick: () => go(place - 1) }, "Back");
  const next = regard.make("button", { class: "main", onclick: () => { if (place === stops.length - 1) close(); else go(place + 1); } }, "Next");
  /** @type {HTMLElement} */
  const card = regard.make("div", { class: "tour", role: "dialog", "aria-label": "Tour" }, words, regard.make("div", {}, count, back, next, regard.make("button", { onclick: () => close() }, "Close")));
  const go = (/** @type {number} */ index) => {
    place = index;
    const { state } = look;
    if (state) Object.assign(state, { view: stops[index].view });
    state?.refresh();
    words.textContent = stops[index].words;
    count.textContent = `${index + 1} of ${stops.length}`;
    back.disabled = index === 0;
    next.textContent = index === stops.length - 1 ? "Done" : "Next";
  };
  const close = () => card.remove();
  card.addEventListener("keydown", (event) => { if (event.key === "Escape") close(); });
  document.body.append(card);
  go(0);
  next.focus();
  return undefined;
};
