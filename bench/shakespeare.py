"""How well a writer predicts Shakespeare, character by character: nats per character over the whole last tenth.

First in nanoGPT's setting for a CPU (its own figure: 1.88) with GPT-2's shape; then with our defaults for 15 minutes.
Parts can be run one by one; each is added to the same JSON.
"""

import json
import sys
import tempfile
from pathlib import Path

from measure import arguments, peak_memory_mb, record

import regard
from regard.model.size import count_parameters

NANOGPT = {
    "model": {
        "kind": "gpt2",
        "layers": 4,
        "width": 128,
        "heads": 4,
        "ffn_width": 512,
        "max_positions": 64,
        "dropout": 0.0,
    },
    "train": {"tokens_per_batch": 12 * 64, "warmup_steps": 100, "learning_rate": 0.002, "valid_every": 100_000},
    "text": {"tokenizer": "char"},
    "stop": {"steps": 2000},
}


def main() -> None:
    parser = arguments(__doc__, data=True)
    parser.add_argument("--parts", default="nanogpt,default")
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument("--to", type=Path, help="keep the model of the defaults here; an interrupted bench resumes")
    given = parser.parse_args()
    text = next(given.data.glob("*.txt")).read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        cut = int(0.9 * len(text))
        files = {"text": folder / "train.txt", "valid": folder / "valid.txt"}
        files["text"].write_text(text[:cut])
        files["valid"].write_text(text[cut:])
        if "nanogpt" in given.parts:
            record("nanogpt", like_nanogpt(files, folder / "nanogpt"), given.json)
        if "default" in given.parts:
            record("default", by_default(given.minutes, files, given.to or folder / "default"), given.json)


def like_nanogpt(files: dict, to: Path) -> dict[str, object]:
    finished = regard.train("write", to=to, settings=NANOGPT, **files)
    writer = regard.load(to)
    loss = writer.evaluate(files["valid"], stride=64)["loss"]
    weights = count_parameters(writer.model)
    print(f"{loss:.4f} after {finished.seconds:.0f} s", flush=True)
    return {
        "loss": round(loss, 4),
        "weights": weights,
        "seconds": round(finished.seconds),
    }


def by_default(minutes: float, files: dict, to: Path) -> dict[str, object]:
    finished = regard.train("write", to=to, settings={"stop": {"minutes": minutes}}, **files)
    memory = peak_memory_mb()
    writer = regard.load(to)
    window = writer.model.config.max_positions
    apart, half = (writer.evaluate(files["valid"], stride=stride) for stride in (window, window // 2))
    log = [json.loads(line) for line in (to / "run" / "metrics.jsonl").read_text().splitlines()]
    curve = [
        {"minutes": round(e["seconds"] / 60, 2), "step": e["step"], "loss": round(e["loss"], 4)}
        for e in log
        if "bits_per_byte" in e
    ]
    return {
        "loss": round(apart["loss"], 4),
        "loss_half_stride": round(half["loss"], 4),
        "bits_per_byte": round(apart["bits_per_byte"], 4),
        "window": window,
        "tokenizer": writer.info.settings["text"]["tokenizer"],
        "weights": count_parameters(writer.model),
        "minutes": round(finished.seconds / 60, 2),
        "steps": finished.step,
        "peak_memory_mb": round(memory),
        "sample": writer("\n", tokens=300, temperature=0.8, seed=1),
        "curve": curve,
    }


if __name__ == "__main__":
    sys.exit(main())
