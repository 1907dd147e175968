"""Systems that must learn really learn."""

import random

import regard
from regard.trainer.loop import Progress


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
        "model": {"layers": 1, "width": 64, "heads": 4, "inner": 128, "dropout": 0.0},
        "train": {"tokens_per_batch": 1024, "warmup": 60, "rate": 0.006, "valid_every": 100_000},
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
