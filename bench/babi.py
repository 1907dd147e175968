"""Error on bAbI, default settings only: one task at a time, all ten together, and with 10,000 questions.

Next to each error is that of the end-to-end memory network (its authors' code, run again, 1,000 questions). Also:
tasks of our own in the style of bAbI's other ten (`bench/tales.py`); how often the hops of a memory network go the way
of the notes' induction example over held-out stories; how often an answerer abstains where such a story has no answer;
and whether one memory for all hops learns them. Parts can be run one by one, of `single` and `tales` also some tasks;
each is written into the same JSON as soon as it is done. `cpu_seconds` is processor time, of a busy machine too.
"""

import resource
import sys
import tempfile
from dataclasses import replace
from pathlib import Path

from measure import arguments, record
from tales import KINDS, make_tales

import regard
from regard.text.stories import Story, read_stories, write_stories

PEER = {1: 0.1, 2: 8.2, 4: 4.4, 5: 13.7, 6: 7.9, 9: 13.6, 12: 0.0, 15: 0.0, 16: 0.4, 20: 0.0}
TEN_THOUSAND = (2, 5, 16)


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--parts", default="single,tales,joint,10k,induction,abstention,layer-wise")
    parser.add_argument("--tasks", help="of `single` and `tales` only these, as 1,2,counting")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--to", type=Path, help="keep the joint model here; an interrupted bench resumes from it")
    given = parser.parse_args()
    for part in given.parts.split(","):
        if part == "joint":
            joint(given.data, given.seed, given.json, given.to)
        elif part == "single":
            single(given.data, given.seed, given.json, given.tasks)
        elif part == "tales":
            tales(given.seed, given.json, given.tasks)
        else:
            PARTS[part](given.data, given.seed, given.json)


def train(files: list[Path], seed: int, to: Path, **model: object) -> tuple[regard.Answerer, float]:
    settings = {"seed": seed} | ({"model": model} if model else {})
    before = processor_time()
    regard.train("answer", stories=files, to=to, settings=settings)
    return regard.load(to), processor_time() - before


def processor_time() -> float:
    uses = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(use.ru_utime + use.ru_stime for use in uses)


def error(answerer: regard.Answerer, test: Path) -> dict[str, float]:
    report = answerer.evaluate(test)
    found = {"error": round(100 * (1 - report["accuracy"]), 2)}
    return found | ({"support_found": round(report["support_found"], 3)} if "support_found" in report else {})


def find(folder: Path, task: int, part: str) -> Path:
    return next(folder.glob(f"qa{task}_*_{part}.txt"))


def single(data: Path, seed: int, out: Path | None, tasks: str | None) -> None:
    for task, peer in PEER.items():
        if tasks and str(task) not in tasks.split(","):
            continue
        with tempfile.TemporaryDirectory() as to:
            answerer, seconds = train([find(data / "en", task, "train")], seed, Path(to) / "m")
            found = error(answerer, find(data / "en", task, "test"))
        found |= {"memn2n": peer, "goal": peer + 1, "cpu_seconds": round(seconds)}
        record(f"single qa{task}", found, out)


def tales(seed: int, out: Path | None, tasks: str | None) -> None:
    """Ten kinds that the shared tasks do not have, 1,000 questions to learn from and 1,000 others."""
    for kind in tasks.split(",") if tasks else KINDS:
        with tempfile.TemporaryDirectory() as to:
            for name, first in (("train", 1), ("test", 2)):
                (Path(to) / name).write_text(write_stories(make_tales(kind, 1000, first)))
            answerer, seconds = train([Path(to) / "train"], seed, Path(to) / "m")
            found = error(answerer, Path(to) / "test")
        record(f"tales {kind}", {"error": found["error"], "cpu_seconds": round(seconds)}, out)


def joint(data: Path, seed: int, out: Path | None, to: Path | None) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        files = [find(data / "en", task, "train") for task in PEER]
        answerer, seconds = train(files, seed, to or Path(temporary) / "m")
        errors = {f"qa{task}": error(answerer, find(data / "en", task, "test"))["error"] for task in PEER}
    mean = round(sum(errors.values()) / len(errors), 2)
    record("joint", errors | {"mean": mean, "cpu_seconds": round(seconds)}, out)


def ten_thousand(data: Path, seed: int, out: Path | None) -> None:
    for task in TEN_THOUSAND:
        with tempfile.TemporaryDirectory() as to:
            files = [find(data / "en-10k", task, "train")]
            answerer, seconds = train(files, seed, Path(to) / "m")
            found = error(answerer, find(data / "en-10k", task, "test"))
        record(f"transformer_10k qa{task}", found | {"goal": 1.0, "cpu_seconds": round(seconds)}, out)


def induction(data: Path, seed: int, out: Path | None) -> None:
    """Greg is a frog, Brian is a frog, Brian is yellow: do the hops look there, in this order?"""
    with tempfile.TemporaryDirectory() as to:
        for name, count, held_out in (("train", 1000, False), ("test", 500, True)):
            stories = regard.induction(count, held_out=held_out)
            (Path(to) / name).write_text(write_stories(stories))
        answerer, seconds = train([Path(to) / "train"], seed, Path(to) / "m", kind="memory")
        stories = read_stories([Path(to) / "test"])
    answers = answerer.answer_all(stories)
    attended = [[max(range(len(w)), key=w.__getitem__) for w in answer.hops] for answer in answers]
    pairs = list(zip(attended, stories, strict=True))
    right = sum(answer.text == story.answer for answer, story in zip(answers, stories, strict=True))
    again = sum(place in hops[:number] for hops in attended for number, place in enumerate(hops))
    found = {
        "stories": len(stories),
        "right": round(right / len(stories), 4),
        "hops_in_order": round(sum(tuple(hops) == story.support for hops, story in pairs) / len(stories), 4),
        "all_three_read": round(sum(set(story.support) <= set(hops) for hops, story in pairs) / len(stories), 4),
        "hops_that_read_again": round(again / sum(map(len, attended)), 4),
        "cpu_seconds": round(seconds),
    }
    record("induction", found, out)


def abstention(data: Path, seed: int, out: Path | None) -> None:
    """Held-out induction stories as they are, and the same without an answer: how often it says unknown."""
    stories = regard.induction(300, held_out=True)
    names = sorted({story.question.split()[-1].strip("?") for story in stories})
    absent = [next(n for n in names if not any(n in sentence for sentence in s.sentences)) for s in stories]
    cases = {
        "answerable": stories,
        "not_in_the_story": [replace(s, question=f"What color is {n}?") for s, n in zip(stories, absent, strict=True)],
        "word_never_seen": [replace(story, question="What color is Zorro?") for story in stories],
        **{f"without_fact_{number + 1}": [without(s, s.support[number]) for s in stories] for number in range(3)},
    }
    with tempfile.TemporaryDirectory() as to:
        (Path(to) / "train").write_text(write_stories(regard.induction(1000)))
        answerer, seconds = train([Path(to) / "train"], seed, Path(to) / "m")
    found = {name: answerer.answer_all(asked) for name, asked in cases.items()}
    right = sum(a.text == s.answer for a, s in zip(found["answerable"], stories, strict=True))
    shares = {name: round(sum(a.abstained for a in answers) / len(answers), 4) for name, answers in found.items()}
    record("abstention", {"right": right / len(stories), "abstained": shares, "cpu_seconds": round(seconds)}, out)


def without(story: Story, gone: int) -> Story:
    kept = tuple(sentence for place, sentence in enumerate(story.sentences) if place != gone)
    return replace(story, sentences=kept, support=())


def layer_wise(data: Path, seed: int, out: Path | None) -> None:
    """Induction with one memory for all hops and a matrix between them."""
    stories = regard.induction(500, held_out=True)
    with tempfile.TemporaryDirectory() as to:
        (Path(to) / "train").write_text(write_stories(regard.induction(1000)))
        answerer, seconds = train([Path(to) / "train"], seed, Path(to) / "m", kind="memory", tying="layer-wise")
    right = sum(a.text == s.answer for a, s in zip(answerer.answer_all(stories), stories, strict=True))
    record("layer-wise", {"stories": len(stories), "right": right / len(stories), "cpu_seconds": round(seconds)}, out)


PARTS = {
    "10k": ten_thousand,
    "induction": induction,
    "abstention": abstention,
    "layer-wise": layer_wise,
}

if __name__ == "__main__":
    sys.exit(main())
