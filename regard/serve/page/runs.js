"use strict";
// A running training: its curves as they grow, its sample outputs and attention over time.
regard.panels.run = (name) => {
  const curves = regard.curves(), status = regard.make("p", { class: "legend" });
  /** @type {Record<string, any>[]} */
  const events = [];
  const snapshots = regard.snapshots(curves.mark), section = regard.make("section", {}, status, curves.box, snapshots.box);
  const update = async () => {
    if (!section.isConnected && events.length) return; // another tab is open
    try {
      // What is logged of a step may come one after another: its loss, and after a while its scores.
      const newest = events.length ? events[events.length - 1].step : 0;
      const known = new Set(events.filter((event) => event.step === newest).map((event) => JSON.stringify(event)));
      const found = await regard.askJson(`/api/runs/${encodeURIComponent(name)}?after=${newest - 1}`);
      const more = found.events.filter((/** @type {unknown} */ event) => !known.has(JSON.stringify(event)));
      events.push(...more);
      if (more.length) curves.show(events);
      const last = events[events.length - 1];
      snapshots.add((await regard.askJson(`/api/runs/${encodeURIComponent(name)}/snapshots?after=${snapshots.newest()}`)).snapshots);
      status.textContent = last ? `step ${last.step}, ${(last.seconds / 60).toFixed(1)} minutes` : "Nothing is logged yet.";
    } catch (problem) {
      regard.report(problem);
    }
    setTimeout(update, 3000);
  };
  update();
  return section;
};
