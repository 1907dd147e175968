"""`regard demo`: the whole way in a few minutes, on a phrasebook that comes with the package."""

from collections.abc import Callable
from pathlib import Path

from regard import phrasebook
from regard.cli.report import watch
from regard.errors import ConfigError
from regard.files import write_whole
from regard.run import load
from regard.text.samples import LANGUAGES, Phrase
from regard.text.score import score_translations

TRAIN, VALID, TEST = 60_000, 100, 500
LOOK_LAYER = 2  # the last one of this small model: where the next word is decided
SETTINGS = {
    "size": "tiny",
    "stop": {"steps": 1900},
    "model": {"dropout": 0.0, "layers": 2},
    "train": {"tokens_per_batch": 1280, "warmup": 150, "valid_every": 500, "average": 8},
}


def show_translate(direction: str, to: Path, put: Callable[[str], None], say: Callable[[str], None]) -> None:
    """Writes the phrasebook as two text files, trains on them as anybody would, and shows what was learned."""
    source, _, target = direction.partition("-")
    if source not in LANGUAGES or target not in LANGUAGES or source == target:
        raise ConfigError(
            f"--direction {direction} is not two of {', '.join(LANGUAGES)} with a - between them, as in de-en"
        )
    text, model = to / "text", to / direction
    text.mkdir(parents=True, exist_ok=True)
    names = {}
    for part, count, held_out in (("train", TRAIN, False), ("valid", VALID, True)):
        phrases = phrasebook(source, target, count, held_out=held_out)
        for language, lines in ((source, [p.source for p in phrases]), (target, [p.target for p in phrases])):
            names[part, language] = text / f"{part}.{direction}.{language}"
            write_whole(names[part, language], "".join(line + "\n" for line in lines))
    say(f"$ regard train translate {names['train', source]} {names['train', target]} --to {model}")
    finished = watch(
        "translate", to=model, settings=SETTINGS, fresh=True,
        source=names["train", source], target=names["train", target],
        valid_source=names["valid", source], valid_target=names["valid", target],
    )  # fmt: skip
    say("")
    _show_results(direction, model, finished.seconds, put)


def _show_results(direction: str, model: Path, seconds: float, put: Callable[[str], None]) -> None:
    source, _, target = direction.partition("-")
    # Other held-out sentences than those validated on: they come after them in the same stream.
    test = phrasebook(source, target, VALID + TEST, held_out=True)[VALID:]
    translator = load(model)
    texts = translator([phrase.source for phrase in test], beam=1)
    scores = score_translations(texts, [phrase.target for phrase in test])
    put(f"{TEST} held-out sentences, with combinations of noun, adjective and verb never seen in training:")
    put(f"  exact match {100 * scores.exact:.1f} %, BLEU {scores.bleu:.1f}, after {seconds:.0f} s of training")
    for phrase, text in list(zip(test, texts, strict=True))[:4]:
        put(f"  {phrase.source}\n    -> {text}")
    crossing = max(test, key=_crossings)
    put("")
    put(f"What it looks at: {crossing.source} (rows: the translation; columns: the source; darker: looked at more)")
    seen = translator.look(crossing.source)
    put(seen.to_text(layer=LOOK_LAYER))
    write_whole(model.parent / "look.svg", seen.to_svg(layer=LOOK_LAYER))
    put("")
    put(f"The same as a picture: {model.parent / 'look.svg'}")
    put(f'Go on: echo "{test[0].source}" | regard translate {model}')


def _crossings(phrase: Phrase) -> int:
    """Pairs of links that cross: how much a sentence is reordered."""
    links = phrase.alignment
    return sum(a < c and b > d for a, b in links for c, d in links)
