"""`regard demo`: the whole way in a few minutes, on text that comes with the package or is on every machine."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from regard import phrasebook
from regard.cli.report import show_training
from regard.errors import ConfigError
from regard.families.answer.surface import describe_answer
from regard.files import hash_file, make_own, write_whole
from regard.folder import RUN
from regard.install import place_of, read_about
from regard.load import load
from regard.text.samples import LANGUAGES, Phrase, everyday, induction, standard_library
from regard.text.score import score_translations
from regard.text.stories import write_stories
from regard.training.record import read_record
from regard.training.session import Finished

Print = Callable[[str], None]

PAGE = "look.html"
TRAIN, VALID, TEST = 60_000, 100, 500
TIMES_EVERYDAY, TIMES_GREETED = 160, 10  # each is like no other, so it is learned by being seen often
GREETING = {"en": "Hello, I love you.", "de": "Hallo, ich liebe dich.", "fr": "Bonjour, je t'aime."}
TRANSLATE = {
    "size": "tiny",
    "stop": {"steps": 1900},
    "model": {"dropout": 0.0, "layers": 2, "norm": "post"},  # the paper's place is ahead on these few, short sentences
    "train": {"tokens_per_batch": 1280, "warmup_steps": 150, "valid_every": 500, "average_checkpoints": 8},
}
WRITE = {
    "stop": {"minutes": 2},
    "text": {"tokenizer": "bpe", "vocab_size": 1000},
    "size": "tiny",
    "train": {"valid_every": 500},
}
FILL = {"stop": {"minutes": 1.5}, "size": "tiny", "model": {"layers": 2}, "train": {"valid_every": 500}}
ANSWER: dict[str, Any] = {"model": {"kind": "memory"}}  # its hops follow the proof, in order
PROMPT = "def read_"
GAPS = ("The [MASK] reads the book.", "The old woman [MASK] the letter in the [MASK].")
TALE = ["Brian is a frog.", "Lily is gray.", "Brian is yellow.", "Julius is green.", "Greg is a frog."]
QUESTION = "What color is Greg?"


def show_translate(to: Path, print_data: Print, print_status: Print, direction: str = "en-fr") -> None:
    """Writes the phrasebook as two text files, trains on them and shows what was learned."""
    source, _, target = direction.partition("-")
    if source not in LANGUAGES or target not in LANGUAGES or source == target:
        raise ConfigError(
            f"--direction {direction} is not two of {', '.join(LANGUAGES)} with a - between them, as in de-en"
        )
    names = {}
    for part, count, held_out in (("train", TRAIN, False), ("valid", VALID, True)):
        phrases = phrasebook(source, target, count, held_out=held_out)
        if part == "train":
            everyday_phrases = everyday(source, target)
            phrases += TIMES_EVERYDAY * [p for p in everyday_phrases if "," not in p.source]
            phrases += TIMES_GREETED * [p for p in everyday_phrases if "," in p.source]
        for language, lines in ((source, [p.source for p in phrases]), (target, [p.target for p in phrases])):
            names[part, language] = _write(to, f"{part}.{direction}.{language}", lines)
    print_status(f"$ regard train translate {names['train', source]} {names['train', target]} --to {to / direction}")
    finished = _train(
        "translate", to / direction, TRANSLATE, source=names["train", source], target=names["train", target],
        valid_source=names["valid", source], valid_target=names["valid", target],
    )  # fmt: skip
    print_status("")
    _show_translations(direction, to / direction, finished.seconds, print_data)


def _show_translations(direction: str, model: Path, seconds: float, print_data: Print) -> None:
    source, _, target = direction.partition("-")
    # Other held-out sentences than those validated on: they come after them in the same stream.
    test = phrasebook(source, target, VALID + TEST, held_out=True)[VALID:]
    translator = load(model)
    texts = translator([phrase.source for phrase in test], beam=1)
    scores = score_translations(texts, [phrase.target for phrase in test])
    print_data(f"{TEST} held-out sentences, with combinations of noun, adjective and verb never seen in training:")
    print_data(f"  exact match {100 * scores.exact:.1f} %, BLEU {scores.bleu:.1f}, after {seconds:.0f} s of training")
    for phrase, text in list(zip(test, texts, strict=True))[:4]:
        print_data(f"  {phrase.source}\n    -> {text}")
    print_data(f"  {GREETING[source]}\n    -> {translator(GREETING[source], beam=1)}")
    crossing = max(test, key=_crossings)
    print_data("")
    print_data(f"Attention on {crossing.source} (rows: the translation; columns: the source)")
    seen = translator.look(crossing.source, why=True)
    print_data(seen.to_text(head="alignment", words=True))
    _show_page(seen, model.parent, print_data)
    print_data(f'Next: echo "{test[0].source}" | regard translate {model}')


def show_write(to: Path, print_data: Print, print_status: Print) -> None:
    """Learns to write Python from the source files of the standard library."""
    files = standard_library()
    held_out, text = files[::20], [path for number, path in enumerate(files) if number % 20]
    size = sum(path.stat().st_size for path in text) / 1e6
    print_status(
        f"{len(text)} source files of Python's standard library, {size:.1f} MB; {len(held_out)} more are held out"
    )
    finished = _train("write", to / "write", WRITE, text=text, valid=held_out)
    writer = load(to / "write")
    scores = writer.evaluate(*held_out)
    print_status("")
    print_data(f"Held-out files after {finished.seconds:.0f} s of training: {scores['bits_per_byte']:.3f} bits per "
               f"byte, perplexity {scores['perplexity']:.1f} per token ({scores['signature']})")  # fmt: skip
    print_data("")
    text = PROMPT + writer(PROMPT, tokens=150, temperature=0.7, top_p=0.9, seed=1)
    print_data(text)
    _show_page(writer.look(text, why=True), to, print_data)
    print_data(f'Next: regard write {to / "write"} "class Reader:"')


def show_fill(to: Path, print_data: Print, print_status: Print) -> None:
    """Learns to fill gaps in English sentences of the phrasebook."""
    train = _write(to, "train.en", [phrase.source for phrase in phrasebook("en", "de", 40_000)])
    test = _write(to, "test.en", [phrase.source for phrase in phrasebook("en", "de", 500, held_out=True)])
    print_status(f"$ regard train fill {train} --to {to / 'fill'}")
    finished = _train("fill", to / "fill", FILL, text=train)
    filler = load(to / "fill")
    scores = filler.evaluate(test)
    print_status("")
    print_data(f"{100 * scores['accuracy']:.1f} % of the masked tokens of 500 held-out sentences predicted, "
        f"after {finished.seconds:.0f} s of training ({scores['signature']})")  # fmt: skip
    for text in GAPS:
        filled = filler.fill(text, top=3)
        print_data(f"  {text}\n    -> {filled.text}")
        for gap in filled.gaps:
            print_data("       " + ", ".join(f"{one.text} {one.probability:.0%}" for one in gap))
    _show_page(filler.look(GAPS[-1], why=True), to, print_data)
    print_data(f'Next: regard fill {to / "fill"} "{GAPS[0]}"')


def show_answer(to: Path, print_data: Print, print_status: Print) -> None:
    """Learns to infer a color over three sentences of a story, and shows how it finds them."""
    names = {}
    for part, count, held_out in (("train", 1000, False), ("test", TEST, True)):
        names[part] = _write(to, f"{part}.stories", write_stories(induction(count, held_out=held_out)).splitlines())
    print_status(f"$ regard train answer {names['train']} --to {to / 'answer'} --set model.kind=memory")
    finished = _train("answer", to / "answer", ANSWER, stories=names["train"])
    answerer = load(to / "answer")
    scores: dict[str, Any] = answerer.evaluate(names["test"])
    print_status("")
    print_data(f"{100 * scores['accuracy']:.1f} % of {TEST} held-out questions answered right, after "
               f"{finished.seconds:.0f} s of training; in {100 * scores['support_found']:.1f} % the hops attend most "
               f"to all three supporting sentences")  # fmt: skip
    print_data("")
    print_data("\n".join([*TALE, QUESTION]))
    print_data(describe_answer(answerer.answer(TALE, QUESTION)))
    tale = _write(to, "tale.txt", TALE)
    _show_page(answerer.look(QUESTION, TALE, why=True), to, print_data)
    print_data(f'Next: regard answer {to / "answer"} {tale} "{QUESTION}"')


def show_classify(to: Path, print_data: Print, print_status: Print) -> None:
    """Learns to identify three languages by a few sentences of each."""
    names = {}
    for part, count, held_out in (("train", 200, False), ("test", TEST, True)):
        others = {language: "fr" if language == "en" else "en" for language in LANGUAGES}
        pages = {one: phrasebook(one, other, count, held_out=held_out) for one, other in others.items()}
        rows = [f"{language}\t{phrase.source}" for language, page in pages.items() for phrase in page]
        names[part] = _write(to, f"{part}.tsv", rows)
    print_status(f"$ regard train classify {names['train']} --to {to / 'classify'}")
    finished = _train("classify", to / "classify", {}, text=names["train"])
    classifier = load(to / "classify")
    scores = classifier.evaluate(names["test"])
    print_status("")
    print_data(f"{100 * scores['accuracy']:.1f} % of {scores['texts']} held-out sentences given their language, "
               f"after {finished.seconds:.0f} s of training")  # fmt: skip
    for text in GREETING.values():
        best = classifier.classify(text).labels[0]
        print_data(f"  {text}\n    -> {best.name} {best.probability:.0%}")
    _show_page(classifier.look(GREETING["de"], why=True), to, print_data)
    print_data(f'Next: echo "{GREETING["fr"]}" | regard classify {to / "classify"}')


def _train(task: str, model: Path, settings: dict[str, Any], **files: Any) -> Finished:
    """Trains from the beginning; a model that was trained on other text is the user's, and stays."""
    given = {hash_file(path) for one in files.values() for path in (one if isinstance(one, list) else [one])}
    about, record = read_about(place_of(model)) or {}, read_record(model / RUN) or {}
    for known in (about.get("data", {}).get("sha256"), record.get("fingerprints")):
        if known is not None and set(known.values()) != given:
            raise ConfigError(f"{model} holds a model that was trained on other text than this demo's; move it away, "
                              f"or choose another folder with --to")  # fmt: skip
    return show_training(task, to=model, settings=settings, fresh=True, **files)


def _show_page(seen: Any, folder: Path, print_data: Print) -> None:
    seen.save(folder / PAGE)
    print_data("")
    print_data(f"Attention, layer by layer and head by head: {folder / PAGE} (open it in a browser)")


def _write(to: Path, name: str, lines: Iterable[str]) -> Path:
    path, text = to / "text" / name, "".join(line + "\n" for line in lines).encode()
    to.mkdir(parents=True, exist_ok=True)
    try:
        make_own(path.parent)
    except OSError as problem:
        if not path.is_file() or path.stat().st_size != len(text) or path.read_bytes() != text:
            raise ConfigError(f"{path.parent}: {problem.strerror}, or choose another folder with --to") from None
        return path
    write_whole(path, text)
    return path


def _crossings(phrase: Phrase) -> int:
    """Pairs of links that cross: how much a sentence is reordered."""
    links = phrase.alignment
    return sum(a < c and b > d for a, b in links for c, d in links)
