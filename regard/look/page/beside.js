"use strict";
// A second map beside the first: another head, the model before it was changed, or another text.

// Inspections of other texts and of the model as it was, by what was asked.
regard.besides = new Map();

regard.besideControls = (state) => {
  const { live } = state.data, options = [["", "nothing"]], isChanged = live && (live.changes.edits.length || Object.keys(live.changes.instead).length);
  if (isChanged) options.push(["before", "before the change"]);
  if (live?.isInside) options.push(["text", "another text"]);
  options.push(...regard.mapNames(state, false).filter(([key]) => key !== state.key));
  const found = [regard.choose("beside", options, state.beside.split(":")[0], (value) => { state.beside = value === "text" ? "text:" : value; state.refresh(); })];
  if (state.beside.startsWith("text:")) {
    const field = regard.make("input", { type: "text", dir: "auto", class: "other", "aria-label": "The other text", placeholder: "The other text …", value: state.beside.slice(5), "data-focus": "other" });
    field.addEventListener("change", () => { state.beside = `text:${field.value}`; state.refresh(); });
    found.push(field);
  }
  return found;
};

// The table beside the first and its name, or null while there is none.
regard.besideTable = (state) => {
  const { beside, data } = state;
  if (!beside || beside === "text:") return null;
  if (beside !== "before" && !beside.startsWith("text:")) {
    const table = data.table(state.kind, beside, state.byWords);
    return table && { table, name: regard.keyName({ ...state, key: beside }) };
  }
  const live = /** @type {Live} */ (data.live), text = beside.slice(5);
  const fields = beside === "before" ? { ...live.given, why: false } : { model: live.given.model, text, edits: live.changes.edits.filter((edit) => edit.what !== "weight") };
  const name = JSON.stringify(fields), other = regard.besides.get(name);
  if (!other) {
    regard.besides.set(name, "asked");
    regard.askJson("/api/look", fields).then((found) => {
      if (regard.besides.size > 20) regard.besides.clear();
      regard.besides.set(name, new regard.LiveData(found));
      state.refresh();
    }, (problem) => { regard.besides.delete(name); regard.report(problem); });
  }
  if (!other || other === "asked") return null;
  const table = other.table(state.kind, state.key, state.byWords);
  return table && { table, name: beside === "before" ? "before the change" : other.text };
};
