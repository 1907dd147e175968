"""Where a model comes from: the models it was fine-tuned or distilled from, and what was imported, with licences.

regard.json keeps it as `base_models`, a list of such descriptions, each with the `base_models` of its own, and as
`teacher`, one of them. `monolingual` is text that was translated back, by which model, and what came of it.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import Any

from regard.files import read_regular
from regard.folder import ModelFolder, ModelInfo

MOST_GENERATIONS = 20  # of base models that are passed on
MOST_BASES, MOST_LETTERS, MOST_CARD_BYTES = 8, 300, 2**20
LICENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_-]{0,60}")
HASH = re.compile(r"[0-9a-f]{64}")


def describe_base(folder: ModelFolder, given: str, hashes: list[str]) -> dict[str, Any]:
    """A model that another one begins from: its name as given, its weights, its licence, and its own bases."""
    return _checked({
        "name": given,
        "imported_from": folder.info.imported_from,
        "license": read_licence(folder),
        "weights_sha256": hashes,
        "base_models": folder.info.base_models,
    })  # fmt: skip


def read_licence(folder: ModelFolder) -> str | None:
    """The licence a model was given: in regard.json, or at the head of its card as Hugging Face has it."""
    known = folder.info.license
    if known is None:
        with suppress(OSError, UnicodeDecodeError):
            known = _head_of_card(folder.path / "README.md").get("license")
    return known if isinstance(known, str) and LICENCE.fullmatch(known) else None


def name_bases(info: ModelInfo) -> list[str]:
    """What a model was fine-tuned from, a base each, in words: `a (imported from b, licence mit), from c`."""
    return [_in_words(_checked(base)) for base in info.base_models] if _is_list(info.base_models) else []


def name_teacher(info: ModelInfo) -> str | None:
    """The model whose output a student learned from, in words as above."""
    if info.teacher is None:
        return None
    beam = info.teacher.get("beam")
    return _in_words(_checked(info.teacher)) + (f", beam {beam}" if isinstance(beam, int) else "")


def scored_against_teacher(info: ModelInfo) -> bool:
    """Whether its scores compare it with its teacher, not with real references."""
    return info.teacher is not None and info.teacher.get("has_references") is False


def describe_verdict(verdict: dict[str, Any]) -> str:
    """Which model was kept, with back-translations or without, and why."""
    number = verdict["round"]
    before = "without back-translations" if number == 1 else f"of round {number - 1}"
    what = "back-translation" if number == 1 else f"round {number} of back-translation"
    kept = (
        f"{what} helps, and its model was kept"
        if verdict["is_kept"]
        else f"{what} was not shown to help, so the model {before} was kept"
    )
    return (
        f"{kept}: BLEU {verdict['bleu']:.2f}, {before} {verdict['against_bleu']:.2f}, "
        f"p = {verdict['p_value']:.3f} by the paired test on {verdict['held_out']} held-out pairs"
    )


def name_monolingual(info: ModelInfo) -> str | None:
    """The text in the target language that was tried, and whether it helped, in words."""
    if not (found := info.monolingual):
        return None
    names = ", ".join(plain(name) for name in [*found["files"]][:MOST_BASES])
    reverse = _in_words(_checked(found["reverse"]))
    verdicts = "; ".join(map(describe_verdict, found["comparisons"].values()))
    return f"{int(found['lines'])} lines ({names}) translated back by {reverse}; {verdicts}"


def _in_words(base: dict[str, Any]) -> str:
    imported, licence, hashes = base.get("imported_from"), base.get("license"), base.get("weights_sha256", [])
    facts = [f"imported from {imported}"] if imported else []
    facts += [f"licence {licence}"] if licence else []
    facts += [f"SHA-256 {hashes[0][:16]}…"] if hashes else []
    earlier = " and ".join(_in_words(one) for one in base.get("base_models", []))
    return (
        base["name"] + (f" ({', '.join(facts)})" if facts else "") + (f", fine-tuned from {earlier}" if earlier else "")
    )


def _checked(base: dict[str, Any], generation: int = 0) -> dict[str, Any]:
    """What may be passed on of it: the regard.json of a stranger can hold anything."""
    licence, hashes, bases = base.get("license"), base.get("weights_sha256"), base.get("base_models")
    found: dict[str, Any] = {"name": plain(base.get("name") or "unnamed")}
    if base.get("imported_from"):
        found["imported_from"] = plain(base["imported_from"])
    if isinstance(licence, str) and LICENCE.fullmatch(licence):
        found["license"] = licence
    if hashes and _is_list(hashes):
        found["weights_sha256"] = [one for one in hashes if isinstance(one, str) and HASH.fullmatch(one)]
    if bases and _is_list(bases) and generation < MOST_GENERATIONS:
        found["base_models"] = [_checked(one, generation + 1) for one in bases if isinstance(one, dict)]
    return found


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and 0 < len(value) <= MOST_BASES


def plain(value: Any) -> str:
    """A name on one line, with nothing in it that a card would take for markup."""
    letters = "".join(letter if letter.isprintable() and letter not in "<>`[]|" else " " for letter in str(value))
    return " ".join(letters[:MOST_LETTERS].split())


def _head_of_card(path: Path) -> dict[str, str]:
    """The `name: value` lines between the two `---` that a card begins with."""
    lines = read_regular(path, MOST_CARD_BYTES).decode("utf-8").split("\n")
    if lines[0].strip() != "---":
        return {}
    head = lines[1 : next((i for i, line in enumerate(lines[1:], start=1) if line.strip() == "---"), 1)]
    return {name.strip(): value.strip().strip("\"'") for name, _, value in (line.partition(":") for line in head)}
