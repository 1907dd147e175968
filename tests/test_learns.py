"""Systems that must learn really learn."""

import random
from dataclasses import replace

import regard
from regard.text.stories import write_stories
from regard.training.loop import Progress


def test_a_translator_learns_to_reverse_what_it_never_saw(tmp_path):
    """Reversing needs attention: each output digit is at another place of the input."""
    choose = random.Random(0)
    lines = [" ".join(choose.choice("123456789") for _ in range(choose.randint(2, 6))) for _ in range(1500)]
    turned = [line[::-1] for line in lines]
    held = set(lines[:60])
    kept = [(line, back) for line, back in zip(lines, turned, strict=True) if line not in held]
    (tmp_path / "a.src").write_text("".join(line + "\n" for line, _ in kept))
    (tmp_path / "a.tgt").write_text("".join(line + "\n" for _, line in kept))
    settings = {
        "model": {"layers": 1, "width": 64, "heads": 4, "ffn_width": 128, "dropout": 0.0},
        "train": {"tokens_per_batch": 1024, "warmup_steps": 60, "learning_rate": 0.006, "valid_every": 100_000},
        "stop": {"steps": 450},
        "text": {"vocab_size": 300},
        "threads": 1,
    }
    events = list(
        regard.training(
            "translate", to=tmp_path / "m", source=tmp_path / "a.src", target=tmp_path / "a.tgt", settings=settings
        )
    )
    losses = [event.loss for event in events if isinstance(event, Progress)]
    assert losses[-1] < losses[0] / 2
    unseen = sorted(held)
    said = regard.load(tmp_path / "m")(unseen, beam=1)
    right = sum(text == line[::-1] for text, line in zip(said, unseen, strict=True))
    assert right >= 0.9 * len(unseen), f"{right} of {len(unseen)}"


def test_a_filler_learns_what_stands_between_its_neighbours(tmp_path):
    """Counting from any number: a gap is known from its neighbours on either side."""
    numbers = "zero one two three four five six seven eight nine ten eleven twelve".split()  # noqa: SIM905
    choose = random.Random(0)
    starts = [choose.randrange(8) for _ in range(900)]
    lines = [" ".join(numbers[start : start + choose.randint(4, 6)]) for start in starts]
    (tmp_path / "count.txt").write_text("".join(line + "\n" for line in lines))
    settings = {
        "model": {"layers": 2, "width": 32, "heads": 4, "ffn_width": 64, "dropout": 0.0, "max_positions": 16},
        "train": {
            "tokens_per_batch": 512,
            "warmup_steps": 50,
            "learning_rate": 0.008,
            "valid_every": 100_000,
            "held_out": 2,
        },
        "stop": {"steps": 300},
        "text": {"vocab_size": 300},
        "threads": 1,
    }
    regard.train("fill", to=tmp_path / "m", text=tmp_path / "count.txt", settings=settings)
    filler = regard.load(tmp_path / "m")
    assert filler("three [MASK] five six") == "three four five six"
    assert filler("[MASK] eight nine [MASK]") == "seven eight nine ten"


def test_an_answerer_induces_the_color_and_reads_the_story_in_order(tmp_path):
    """Brian is a frog and yellow, Greg is a frog: three sentences, each of which says where to look next."""
    (tmp_path / "train.txt").write_text(write_stories(regard.induction(1000)))
    settings = {"model": {"kind": "memory", "restarts": 4}, "stop": {"steps": 2000}, "threads": 1}
    regard.train("answer", to=tmp_path / "m", stories=tmp_path / "train.txt", settings=settings)
    answerer = regard.load(tmp_path / "m")
    story = "Brian is a frog. Lily is gray. Brian is yellow. Julius is green. Greg is a frog."
    answer = answerer.answer(story, "What color is Greg?")
    assert answer.text == "yellow" and answer.probability > 0.5
    looked = [answer.sentences[max(range(5), key=weights.__getitem__)] for weights in answer.hops]
    assert looked == ["Greg is a frog.", "Brian is a frog.", "Brian is yellow."]
    held_out = regard.induction(300, held_out=True)
    right = sum(a.text == s.answer for a, s in zip(answerer.answer_all(held_out), held_out, strict=True))
    assert right >= 0.98 * len(held_out)
    for question in ("What color is Nora?", "What color is Zorro?"):  # one who is not in it, a word never seen
        found = answerer.answer(story, question)
        assert found.abstained and found.text == "unknown" and found.probability > 0.5
    for place in range(3):  # without any one of the facts that the answer follows from
        lost = [replace(s, sentences=_without(s.sentences, s.support[place])) for s in held_out]
        assert sum(a.abstained for a in answerer.answer_all(lost)) >= 0.9 * len(lost)


def _without(sentences, gone):
    return tuple(sentence for place, sentence in enumerate(sentences) if place != gone)


def test_a_memory_that_all_hops_share_learns_to_induce_too(tmp_path):
    """tying=layer-wise: one memory, and a matrix that rotates the state between hops."""
    (tmp_path / "train.txt").write_text(write_stories(regard.induction(1000)))
    settings = {
        "model": {"kind": "memory", "tying": "layer-wise", "restarts": 2},
        "stop": {"steps": 2000},
        "threads": 1,
    }
    regard.train("answer", to=tmp_path / "m", stories=tmp_path / "train.txt", settings=settings)
    held_out = regard.induction(300, held_out=True)
    found = regard.load(tmp_path / "m").answer_all(held_out)
    assert sum(a.text == s.answer for a, s in zip(found, held_out, strict=True)) >= 0.95 * len(held_out)
