"use strict";
// What each head does, as it was scored on held-out text at the end of training: a name, never without its score.

// The scores of a head, role by role; null where the model has none.
regard.rolesOf = (data, kind, layer, head) => data.head_roles?.[kind]?.[layer - 1]?.[head - 1] ?? null;

// Roles that a head has to some extent, best first; a score of 1 is all attention, 0 as uniform attention.
regard.rankRoles = (scores) => Object.entries(scores ?? {}).filter(([, score]) => score >= 0.1).sort(([, a], [, b]) => b - a);

regard.nameRole = ([role, score]) => `${role.replace("-", "−")}${/\d$/.test(role) ? ":" : ""} ${score.toFixed(2)}`;

// The best name of a head with its score; nothing where there is none.
regard.bestRole = (scores) => regard.rankRoles(scores).slice(0, 1).map(regard.nameRole).join("");

// All of them, in a sentence.
regard.describeHead = (scores) => {
  if (!scores) return "";
  return `on held-out text: ${regard.rankRoles(scores).map(regard.nameRole).join(", ") || "no role"}`;
};
