"""What a head does, by name and score, for people to read. How heads are scored is in `heads.py`. Imports no torch."""

from __future__ import annotations

Scores = dict[str, float]  # of one head: role -> 1 where all attention is on its keys, 0 as uniform attention
Roles = dict[str, list[list[Scores]]]  # of each kind of attention, layer and head

LEAST = 0.1  # a best score below this is no role


def best_role(scores: Scores) -> tuple[str, float] | None:
    """The role that fits a head best, and how well; None where none does."""
    found = max(scores.items(), key=lambda one: one[1], default=("", 0.0))
    return found if found[1] >= LEAST else None


def describe_head(scores: Scores) -> str:
    """All roles of a head that it has to some extent, best first."""
    ranked = sorted(scores.items(), key=lambda one: -one[1])
    return ", ".join(f"{role} {score:.2f}" for role, score in ranked if score >= LEAST) or "no role"


def describe_roles(roles: Roles) -> str:
    """The head that fits each role best, layers and heads counted from 1; a role that is no head's best is left out."""
    found: dict[str, tuple[float, str]] = {}
    for kind, layers in roles.items():
        for layer, heads in enumerate(layers, start=1):
            for head, scores in enumerate(heads, start=1):
                if best := best_role(scores):
                    role, score = best
                    found[role] = max(found.get(role, (0.0, "")), (score, f"{kind} {layer}.{head}"))
    return ", ".join(f"{role} {score:.2f} ({head})" for role, (score, head) in sorted(found.items(), key=_by_score))


def _by_score(one: tuple[str, tuple[float, str]]) -> float:
    return -one[1][0]
