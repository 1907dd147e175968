"""Folders from Hugging Face opened here, and folders of ours opened there, drawn at random over all options.

- in: a random model saved by `transformers` (bench/strangers.py) is opened by regard: token ids, hidden states or
  logits over the whole vocabulary and greedy texts must be those of `transformers`, in both engines; or it is refused
  with the name of the reason.
- out: a model of ours with random settings and weights, packed as training packs it, is opened by `transformers`:
  equal, or marked as our own layout, or refused when it is asked for.

A draw that `transformers` itself does not open is drawn again and not counted. Claim: 0 wrong, 0 crashed.
"""

import json
import re
import shutil
import tempfile
import time
import traceback
import warnings
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import Any

import torch
import transformers
from measure import arguments, record
from ours import draw_ours
from splitters import SEQ2SEQ
from strangers import draw_folder

import regard
from regard.convert import import_model
from regard.decoding.settings import Sampling, Search
from regard.errors import RegardError

NASTY = [
    "The old dog sees a cat.",
    " two  spaces ",
    "",
    "naïve Café\u0301",
    "漢字 and 😀",
    "tab\tand\nline",
    "isn't, won't!",
    "A</s>B",
    "x <s> y",
    "[MASK] me [SEP] [PAD]x",
    "<|endoftext|> <|eot_id|> <unk>",
    "1234567 3.14",
    "\u200bzero\u00a0nbsp",
    "ALLCAPS lower",
    "def f(x):\n    return x",
    "Ünïcödé ÀÉ",
    "a" * 150,
    "▁ marks ▁▁",
    "\x00\x07 control",
    "  ",
]
TOKENS = 8  # of a greedy text


def compare_in(folder: Path, place: Path) -> str:
    """What came of opening a folder of theirs: equal, refused: …, wrong: …"""
    architecture = json.loads((folder / "config.json").read_text())["architectures"][0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = getattr(transformers, architecture).from_pretrained(folder, dtype=torch.float32).eval()
        try:
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        except Exception:
            tokenizer = None  # a kind without a class of its own, as vocab.txt of a BertGeneration
        try_there(theirs, architecture)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            ours = regard.load(folder)
    except RegardError as problem:
        assert "\n" not in str(problem), f"an error of several lines: {problem}"
        return f"refused: {reason(str(problem))}"
    if wrong := differences(ours, theirs, tokenizer, architecture):
        return f"wrong: {wrong}"
    if architecture in (*SEQ2SEQ, "GPT2LMHeadModel", "LlamaForCausalLM"):
        return compare_imported(folder, place, ours)
    return "equal"


def try_there(theirs: Any, architecture: str) -> None:
    """Raises where `transformers` cannot run what it has opened, so that the draw does not count."""
    ids = torch.arange(6)[None]
    with torch.inference_mode():
        if architecture in (*SEQ2SEQ, "EncoderDecoderModel"):
            theirs(input_ids=ids, decoder_input_ids=ids)
            theirs.generate(input_ids=ids, max_new_tokens=2, do_sample=False, num_beams=1)
        elif architecture == "BertGenerationDecoder":
            theirs(input_ids=ids, encoder_hidden_states=torch.zeros(1, 2, theirs.config.hidden_size))
        else:
            theirs(input_ids=ids)
            if hasattr(theirs, "generate") and architecture[:4] != "Bert":
                theirs.generate(input_ids=ids, max_new_tokens=2, do_sample=False, num_beams=1)


def differences(ours: Any, theirs: Any, tokenizer: Any, architecture: str) -> str:
    """What differs between a model opened here and there, or nothing."""
    if tokenizer is not None:
        for text in NASTY:
            if ids_here(ours, text) not in (None, tokenizer(text)["input_ids"]):
                return f"ids of {text!r}: {ids_here(ours, text)} here, {tokenizer(text)['input_ids']} there"
    if apart := logits_apart(ours, theirs, architecture):
        return apart
    if tokenizer is not None and ours.generation.ends and not has_rounded_waves(ours):
        for text in NASTY[:5]:
            mine, other = greedy_here(ours, text), greedy_there(ours, theirs, tokenizer, text)
            if mine != other:
                return f"greedy text of {text!r}: {mine!r} here, {other!r} there"
    return ""


def ids_here(ours: Any, text: str) -> list[int] | None:
    try:
        return ours.encode_text(text) if isinstance(ours, regard.Filler) else ours.tokenizer.encode(text)
    except RegardError:
        return None  # refused in words


@torch.inference_mode()
def logits_apart(ours: Any, theirs: Any, architecture: str) -> str:
    """How far hidden states and logits are apart on ids over the whole table, if they are."""
    size = (theirs.config.decoder if architecture == "EncoderDecoderModel" else theirs.config).vocab_size
    pad = ours.tokenizer.pad_id if architecture not in ("GPT2LMHeadModel", "LlamaForCausalLM") else -1
    rows = [number for number in torch.randperm(size).tolist() if number != pad]
    rows = torch.tensor(rows[: len(rows) // 12 * 12]).view(-1, 12)
    source, target = rows, rows.flip(0)
    if architecture in (*SEQ2SEQ, "EncoderDecoderModel"):
        mine = ours.model.logits(ours.model(source, target))
        other = theirs(input_ids=source, decoder_input_ids=target).logits
        mine[..., list(ours.generation.suppressed)] = other[..., list(ours.generation.suppressed)]
    elif architecture == "BertGenerationDecoder":
        memory = torch.randn(len(rows), 5, theirs.config.hidden_size)
        mine = ours.model.logits(ours.model(target, memory))
        other = theirs(input_ids=target, encoder_hidden_states=memory).logits
    elif architecture in ("BertModel", "BertGenerationEncoder"):
        mine, other = ours.model(source), theirs(input_ids=source).last_hidden_state
    else:
        mine, found = ours.model.logits(ours.model(source)), theirs(input_ids=source)
        other = found.prediction_logits if architecture == "BertForPreTraining" else found.logits
    apart = float((mine - other).abs().max())
    most = max(2e-4, 1e-4 * float(other.abs().max())) if not has_rounded_waves(ours) else 0.2 * float(other.std())
    return "" if apart <= most else f"numbers differ by {apart:.2g}"


def has_rounded_waves(ours: Any) -> bool:
    """Pegasus keeps its positions among the weights, in half precision rounded; here they are worked out."""
    config = ours._folder.config
    return config.get("model_type") == "pegasus" and config.get("dtype", config.get("torch_dtype")) != "float32"


def greedy_here(ours: Any, text: str) -> str:
    if isinstance(ours, regard.Writer):  # ids: a text shows bytes that are no character as soon as they are there
        return str(list(islice(ours._ids(text, Sampling(temperature=0), 0), TOKENS)))
    source = ours.tokenizer.encode(text)
    if not source or not text.strip():  # a blank line is not translated
        return ""
    limit = TOKENS - ours.generation.is_end_forced
    first = [] if ours.generation.first is None else [ours.generation.first]
    engine = ours._fast or ours.native
    (best,) = dict(engine.begin([source], [limit], Search(), [first] if first else ())())[0]
    return ours.tokenizer.decode(best.ids)


def greedy_there(ours: Any, theirs: Any, tokenizer: Any, text: str) -> str:
    ids = tokenizer(text)["input_ids"] or ([] if not isinstance(ours, regard.Writer) else ours.encode_text(text))
    if not ids or not (text.strip() or isinstance(ours, regard.Writer)):
        return ""
    row = torch.tensor([ids])
    found = (
        theirs.generate(
            input_ids=row,
            attention_mask=torch.ones_like(row),
            max_new_tokens=TOKENS,
            do_sample=False,
            num_beams=1,
            return_dict_in_generate=True,
        )
        .sequences[0]
        .tolist()
    )
    generated = found[len(ids) :] if isinstance(ours, regard.Writer) else found[1:]
    place = next((number for number, one in enumerate(generated) if one in ours.generation.ends), len(generated))
    return str(generated[:place] if isinstance(ours, regard.Writer) else ours.tokenizer.decode(generated[:place]))


def compare_imported(folder: Path, place: Path, ours: Any) -> str:
    """The same folder imported: its fast engine must say what torch does."""
    to = place / "imported"
    shutil.rmtree(to, ignore_errors=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            import_model(str(folder), to)
            fast = regard.load(to)
        except RegardError as problem:
            return f"refused: import: {reason(str(problem))}"
    for text in NASTY[:5]:
        if greedy_here(fast, text) != greedy_here(ours, text):
            return f"wrong: imported, {fast.engine} says {greedy_here(fast, text)!r}, torch {greedy_here(ours, text)!r}"
    return "equal"


def reason(message: str) -> str:
    """The name of a refusal's reason: its key, or its beginning."""
    found = re.search(r"has (\w+)=|has as ([\w' ]+) |(vocab_size|eos_token_id|bos_token_id|decoder_start)", message)
    return next((one for one in found.groups() if one), "")[:40] if found else re.sub(r"/\S+|\d+", "…", message)[:80]


def run_in(count: int, seed: int, place: Path) -> dict[str, Any]:
    tally, bad, number = Counter[str](), [], 0
    reasons: Counter[str] = Counter()
    while sum(tally.values()) < count:
        number += 1
        folder = place / "theirs"
        shutil.rmtree(folder, ignore_errors=True)
        what = "?"
        try:
            what = draw_folder(folder, seed * 1_000_003 + number)
        except Exception:
            continue  # no such model there
        outcome = outcome_of(folder, place)
        if outcome is None:
            continue
        kind = outcome.split(":")[0]
        tally[kind] += 1
        if kind == "refused":
            reasons[outcome.removeprefix("refused: ")] += 1
        elif kind != "equal":
            bad.append(f"seed {seed * 1_000_003 + number}: {what}: {outcome}")
            print(bad[-1][:1500], flush=True)
    return {**tally, "reasons": dict(reasons.most_common()), "bad": bad[:20], "draws": number}


def outcome_of(folder: Path, place: Path) -> str | None:
    """None where transformers does not open or run it."""
    try:
        return compare_in(folder, place)
    except Exception as problem:
        trace = traceback.extract_tb(problem.__traceback__)
        if any("/regard/" in frame.filename for frame in trace) or isinstance(problem, AssertionError):
            last = next((f for f in reversed(trace) if "/regard/" in f.filename), trace[-1])
            return f"crashed: {type(problem).__name__} {str(problem)[:150]} at {Path(last.filename).name}:{last.lineno}"
        return None


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--parts", default="in,out")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    torch.set_num_threads(1)
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as temporary:
        for part in given.parts.split(","):
            began = time.perf_counter()
            run = {"in": run_in, "out": draw_ours}[part]
            found = run(given.count, given.seed, Path(temporary))
            found |= {"seconds": round(time.perf_counter() - began), "transformers": transformers.__version__}
            record(part, found, given.json)


if __name__ == "__main__":
    main()
