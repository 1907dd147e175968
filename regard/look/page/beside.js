"use strict";
// A second map beside the first: another head, the model before it was changed, another text, or another model.

// Inspections of other texts, of other models and of the model as it was, by what was asked.
regard.besides = new Map();

// Other models of the same family that can be asked, by name; a page with one model in it can open the file of another.
regard.others = new Map();

regard.besideControls = (state) => {
  const { live, isStory } = state.data, options = [["", "nothing"]], isChanged = live && (live.changes.edits.length || Object.keys(live.changes.instead).length);
  if (isChanged) options.push(["before", "before the change"]);
  if (live) options.push(["text", isStory ? "another question" : "another text"]);
  options.push(...[...regard.others.keys()].filter((name) => name !== regard.about?.label).map((name) => [`model:${name}`, `the model ${name}`]));
  if (regard.openOther) options.push(["open", "another model: open its page …"]);
  if (!isStory) options.push(...regard.mapNames(state, false).filter(([key]) => key !== state.key));
  const chosen = state.beside.startsWith("text:") ? "text" : state.beside;
  const found = [regard.choose("beside", options, chosen, (value) => {
    if (value === "open") regard.openOther?.((name) => { state.beside = `model:${name}`; state.refresh(); });
    else state.beside = value === "text" ? "text:" : value;
    state.refresh();
  })];
  if (chosen === "text") {
    const field = regard.make("input", { type: "text", dir: "auto", class: "other", "aria-label": "The other text", placeholder: "Type it, then press Enter …", value: state.beside.slice(5), "data-focus": "other" });
    field.addEventListener("change", () => { state.beside = `text:${field.value}`; state.refresh(); });
    found.push(field);
  }
  return found;
};

// Who is asked for what is beside, and what: null where it is a head of what is shown already.
regard.besideAsked = ({ beside, data }) => {
  const { live } = data, given = live?.given ?? { text: data.text, ...(data.isStory ? { story: data.kinds.hops.columns.join("\n") } : {}) };
  const asked = Object.fromEntries(Object.entries(given).filter(([name]) => name !== "target")); // each answers for itself
  if (beside === "before") return { ask: regard.askJson, fields: { ...given, why: false }, name: () => "before the change" };
  const edits = live?.changes.edits.filter((edit) => edit.what !== "weight") ?? [];
  if (beside.startsWith("text:")) return { ask: regard.askJson, fields: { ...asked, text: beside.slice(5), why: false, edits }, name: (/** @type {Data} */ other) => other.text };
  const other = beside.startsWith("model:") ? regard.others.get(beside.slice(6)) : undefined;
  return other ? { ask: other, fields: { ...asked, why: false }, name: (/** @type {Data} */ found) => `${beside.slice(6)}${found.answer ? `: ${found.answer}` : ""}` } : null;
};

// The table beside the first and its name, or null while there is none.
regard.besideTable = (state) => {
  const { beside, data } = state;
  if (!beside || beside === "text:") return null;
  const asked = regard.besideAsked(state);
  if (!asked) {
    const table = beside.startsWith("model:") ? null : data.table(state.kind, beside, state.byWords);
    return table && { table, name: regard.keyName({ ...state, key: beside }) };
  }
  const name = JSON.stringify([beside, asked.fields]), other = regard.besides.get(name);
  if (!other) {
    regard.besides.set(name, "asked");
    asked.ask("/api/look", asked.fields).then((found) => {
      if (regard.besides.size > 20) regard.besides.clear();
      regard.besides.set(name, new regard.LiveData(found));
      state.refresh();
    }, (problem) => { regard.besides.delete(name); regard.report(problem); });
  }
  if (!other || other === "asked") return null;
  const key = regard.keyIn(other, state), table = key && other.table(state.kind, key, state.byWords);
  return table ? { table, name: `${asked.name(other)}${key === state.key ? "" : ` (${regard.keyName({ key })})`}` } : null;
};

// The map of another model that is closest to what is shown: the same head where it has one, else the mean; null without that attention.
regard.keyIn = (other, { kind, key }) => {
  const about = other.kinds[kind], [layer, head] = key.split("-").map(Number);
  if (!about) return null;
  if (key === "alignment" && !other.aligning) return "mean";
  return head && (layer > about.layers || head > about.heads) ? "mean" : key;
};
