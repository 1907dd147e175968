"""Runs a model in another program and here, on ids over its whole table, and refuses it where the numbers differ.

What is compared is not likely text: the logits of every token are compared, and the inputs are ids from all over the
vocabulary, the special ones and the last ones among them.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load as parse
from torch import Tensor

from regard.errors import FolderError, RegardError
from regard.load import load
from regard.text.tokenizer import Tokenizer
from regard.training.claims import LENGTH, draw_rows

TEXTS = (
    "A man is here.", " two  spaces ", "naïve Cafe\u0301, ÀÉ", "漢字 and 😀", "tab\tand\nline", "isn't, won't! 3.14",
    "A</s>B <s> <|endoftext|>", "\u200bzero\u00a0nbsp", "def f(x):\n    return x", "",
)  # fmt: skip
TOLERANCE = 1e-4  # of the largest number there: engines add up in another order, and GELU's two forms differ by more
MOST_LABELS = 2**16  # of a config.json
SUPPRESSED = -1e8  # a logit below this is that of a suppressed token


def compare_with_transformers(folder: Path, ours: Any) -> str | None:
    """The largest difference to transformers' logits, in words; None if it is not installed or has no such class."""
    if find_spec("transformers") is None or ours.auto_class is None or ours.info.part:
        return None
    import transformers

    _refuse_many_labels(ours._folder.config)
    try:
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")
            kind = getattr(transformers, str(ours.info.foreign), None) or getattr(transformers, ours.auto_class)
            theirs = _open_there(kind, folder)
            _compare_texts(folder, ours, transformers)
            rows = draw_rows(ours.model, ours.tokenizer)
            worst = _difference(ours.model.outputs(rows), _run_there(theirs, rows))
    except RegardError:
        raise
    except Exception as problem:  # whatever it raises for what it does not understand
        raise FolderError(f"transformers cannot run this model ({type(problem).__name__}: {_line(problem)}), so it "
                          f"could not be compared, and nothing was written") from None  # fmt: skip
    return _refuse_difference(worst, "transformers", _tolerance(ours))


def _open_there(kind: Any, folder: Path) -> Any:
    """The model as a class of transformers opens it. No code but its own is run, whatever config.json names as code for
    a model or for its attention, and nothing is fetched.
    """
    model = kind.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", trust_remote_code=False, local_files_only=True
    ).eval()
    for module in model.modules():
        if hasattr(module, "config"):
            module.config.return_dict = True  # a config may ask for bare tuples
    return model


def _refuse_many_labels(config: dict[str, Any]) -> None:
    """It gives each label a name, and labels are nothing here."""
    for part in (config, config.get("encoder"), config.get("decoder")):
        count = part.get("num_labels") if isinstance(part, dict) else None
        if count is not None and (type(count) is not int or not 0 <= count <= MOST_LABELS):
            raise FolderError(f"config.json has num_labels={count!r:.40}, and transformers would make a name for each; "
                              f"take it out")  # fmt: skip


def _run_there(model: Any, rows: Tensor) -> Tensor:
    if model.config.is_encoder_decoder:
        found: Tensor = model(input_ids=rows, decoder_input_ids=rows.flip(0)).logits
        return found
    output = model(input_ids=rows)
    return next(one for one in (output.get("logits"), output.get("prediction_logits"), output[0]) if one is not None)


def compare_engines(fast: Any, slow: Any) -> str | None:
    """The largest difference between the logits of the fast engine and of torch, in words; None if torch runs both."""
    if fast.engine == slow.engine:
        return None
    rows = draw_rows(slow.model, slow.tokenizer).tolist()
    engine, pieces = fast._fast.opened(), fast._fast.pieces
    named = [[pieces[number] for number in row] for row in rows]
    with torch.inference_mode():
        if not fast.reads_source:
            other = torch.from_numpy(_array(engine.forward_batch(named)))  # (B, T, V)
            mine = slow.model.logits(slow.model(torch.tensor(rows)))
            return _refuse_difference(_difference(mine, other), "ctranslate2", TOLERANCE)
        found = engine.translate_batch(named, beam_size=1, max_decoding_length=1, min_decoding_length=0,
                                       return_logits_vocab=True, end_token=list(slow.generation.ends))  # fmt: skip
        other = torch.stack([torch.from_numpy(_array(one.logits[0][0])) for one in found])  # (B, V or V - 1)
        start = torch.full((len(rows), 1), slow.model.start_id)  # (B, 1)
        mine = slow.model.logits(slow.model(torch.tensor(rows), start))[:, 0, : other.shape[-1]]
        worst = _difference(mine, other)
        scored = engine.score_batch(named, named[::-1])
        target = torch.tensor([[slow.model.start_id, *row] for row in rows[::-1]])  # (B, 1 + T)
        log_probs = slow.model.logits(slow.model(torch.tensor(rows), target[:, :-1])).log_softmax(-1)  # (B, T, V)
        mine = log_probs.gather(-1, target[:, 1:, None])[..., 0]  # (B, T)
        other = torch.tensor([one.log_probs[:LENGTH] for one in scored])
        return _refuse_difference(max(worst, _difference(mine, other)), "ctranslate2", TOLERANCE)


def _compare_texts(folder: Path, ours: Any, transformers: Any) -> None:
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    except Exception:
        return  # a vocabulary that this class does not read
    # In opus-mt's texts "</s>" is text here (it is a tag of HTML too), and an end there.
    for text in TEXTS if isinstance(ours.tokenizer, Tokenizer) else [text for text in TEXTS if "</s>" not in text]:
        try:
            mine = ours.encode_text(text)
        except RegardError:
            continue
        if mine != (tokenizer(text)["input_ids"] or mine):
            raise FolderError(f"{text!r} has other tokens in transformers, so the model would not be the same there; "
                              f"save its tokenizer again with transformers")  # fmt: skip


def _difference(mine: Tensor, other: Tensor) -> float:
    """The largest difference, as a share of the largest value; suppressed tokens are left out."""
    difference = (mine - other).abs().masked_fill((mine < SUPPRESSED) | (other < SUPPRESSED), 0.0)
    return float(difference.max() / other.masked_fill(other < SUPPRESSED, 0.0).abs().max().clamp(min=1.0))


def _tolerance(ours: Any) -> float:
    """Positions that were stored in half precision are rounded there, and whole here."""
    config = ours._folder.config
    is_half = str(config.get("dtype", config.get("torch_dtype", "float32"))) in ("float16", "bfloat16")
    return 0.1 if is_half and config.get("model_type") == "pegasus" else TOLERANCE


def _array(found: Any) -> Any:
    import numpy

    return numpy.asarray(numpy.array(found))


def _refuse_difference(worst: float, where: str, most: float) -> str:
    if not worst <= most:
        raise FolderError(f"numbers in {where} differ by {worst:.2g} of the largest; the model is not the same there "
                          f"and here, and nothing was written")  # fmt: skip
    return f"numbers in {where} differ by at most {worst:.1g} of the largest"


def main(folder: Path, tensors: bytes) -> dict[str, Any]:
    """How far the logits of a trained model are from what transformers makes of its folder.

    tensors: rows of ids and the model's logits for them, as safetensors.
    """
    try:
        import transformers
    except Exception as problem:
        return {"not_compared": f"transformers cannot be imported: {_line(problem)}"}
    given = parse(tensors)
    try:
        ours = load(folder, engine="torch")
        with warnings.catch_warnings(), torch.inference_mode():
            warnings.simplefilter("ignore")
            theirs = _open_there(getattr(transformers, ours.auto_class), folder)
            _compare_texts(folder, ours, transformers)
            return {"difference": _difference(given["logits"], _run_there(theirs, given["rows"]))}
    except (MemoryError, ImportError, OSError) as problem:  # a failure of this machine, not of the model
        return {"not_compared": f"the comparison with transformers failed: {_line(problem)}"}
    except Exception as problem:
        if "allocate" in str(problem):  # torch has no class for it
            return {"not_compared": f"the comparison with transformers failed: {_line(problem)}"}
        return {"differs": _line(problem)}


def _line(problem: Exception) -> str:
    return " ".join(f"{problem or type(problem).__name__}".split())[:200]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]), sys.stdin.buffer.read())) + "\n")
