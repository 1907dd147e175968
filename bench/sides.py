"""The sides of bench/generate.py: our engines, CTranslate2 by hand, and Hugging Face, each a process of its own.

As a program: sides.py SIDE MODEL answers tasks (see turns.py).
"""

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from turns import Side, memory_mb, serve

LIMIT = 60  # tokens of a translation, for all sides
PEER_ROWS, PEER_TOKENS = 64, 1024
# side -> (what, how, environment)
SIDES: dict[str, tuple[str, dict[str, Any], dict[str, str]]] = {
    "regard": ("regard", {}, {}),
    "regard int8": ("regard", {"precision": "int8"}, {}),
    "regard fast": ("regard", {"fast": True}, {}),
    "regard int8 fast": ("regard", {"precision": "int8", "fast": True}, {}),
    "regard alignments": ("regard", {"alignments": True}, {}),
    "regard torch": ("regard", {"engine": "torch"}, {}),
    "ct2 2x1": ("ct2", {"workers": 2, "threads": 1}, {}),
    "ct2 2x1 mkl": ("ct2", {"workers": 2, "threads": 1}, {"CT2_USE_MKL": "1"}),
    "ct2 1x2": ("ct2", {"workers": 1, "threads": 2}, {}),
    "ct2 default": ("ct2", {}, {}),
    "ct2 int8 2x1": ("ct2", {"workers": 2, "threads": 1, "precision": "int8"}, {}),
    "hf 1 thread": ("hf", {"threads": 1}, {}),
    "hf 2 threads": ("hf", {"threads": 2}, {}),
}


def open_side(name: str, model: Path) -> Side:
    return Side([__file__, name, str(model)], **SIDES[name][2])


def work(name: str, model: Path) -> None:
    what, how, _ = SIDES[name]
    translate = {"regard": open_regard, "ct2": open_ct2, "hf": open_hf}[what](model, **how)

    def answer(lines: list[str], beam: int, alone: bool = False) -> dict[str, Any]:
        began = time.perf_counter()
        each: list[float] = []
        if alone:
            texts = []
            for line in lines:
                start = time.perf_counter()
                texts += translate([line], beam)
                each.append(time.perf_counter() - start)
        else:
            texts = translate(lines, beam)
        return {"seconds": time.perf_counter() - began, "texts": texts, "each": each, "memory": memory_mb()}

    serve(answer)


def open_regard(
    model: Path, fast: bool = False, alignments: bool = False, **how: Any
) -> Callable[[list[str], int], list[str]]:
    import regard

    translator = regard.load(model, **how)
    return lambda lines, beam: translator(lines, beam=beam, max_length=LIMIT, fast=fast, alignments=alignments)


def open_ct2(
    model: Path, workers: int | None = None, threads: int | None = None, precision: str = "float32"
) -> Callable[[list[str], int], list[str]]:
    """CTranslate2 as one would call it by hand: tokenize, translate, put together again."""
    import ctranslate2
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    layout = {} if workers is None else {"inter_threads": workers, "intra_threads": threads}
    engine = ctranslate2.Translator(str(model / "ctranslate2"), compute_type=precision, **layout)
    sizes = {} if workers is None else {"max_batch_size": PEER_ROWS}

    def translate(lines: list[str], beam: int) -> list[str]:
        pieces = [encoding.tokens for encoding in tokenizer.encode_batch(lines)]
        results = engine.translate_batch(pieces, beam_size=beam, max_decoding_length=LIMIT, max_input_length=0, **sizes)
        return tokenizer.decode_batch(
            [[tokenizer.token_to_id(piece) for piece in result.hypotheses[0]] for result in results]
        )

    return translate


def open_hf(model: Path, threads: int) -> Callable[[list[str], int], list[str]]:
    """generate() of transformers, longest first in batches, as their guide says."""
    import torch
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    torch.set_num_threads(threads)
    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModelForSeq2SeqLM.from_pretrained(model).eval()

    @torch.inference_mode()
    def translate(lines: list[str], beam: int) -> list[str]:
        order = sorted(range(len(lines)), key=lambda i: -len(lines[i]))
        texts = [""] * len(lines)
        for start in range(0, len(order), PEER_ROWS):
            rows = order[start : start + PEER_ROWS]
            batch = tokenizer([lines[i] for i in rows], return_tensors="pt", padding=True)
            batch.pop("token_type_ids", None)
            found = network.generate(**batch, num_beams=beam, do_sample=False, max_new_tokens=LIMIT, max_length=None)
            for row, text in zip(rows, tokenizer.batch_decode(found, skip_special_tokens=True), strict=True):
                texts[row] = text.strip()
        return texts

    return translate


if __name__ == "__main__":
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "true")
    work(sys.argv[1], Path(sys.argv[2]))
