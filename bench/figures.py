"""Writes the tables of figures in README.md and docs/ from bench/results/*.json; --check only says whether they agree.

A table is between `<!-- figures: NAME -->` and `<!-- end -->`. README shows results of one machine, the others are
on the page of benchmarks; figures that were measured again elsewhere leave README by themselves.
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import read

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "bench" / "results"
PAGES = ("README.md", "docs/benchmarks.md", "docs/guides/machines.md")
README_MACHINE = "Intel(R) Xeon(R) Processor"
README_ROWS = 6
SHORT = {"Intel(R) Xeon(R) Processor": "Xeon", "Intel(R) Xeon(R) Processor @ 2.50GHz": "Xeon", "AMD EPYC": "EPYC"}

Measurement = dict[str, Any]


@dataclass(frozen=True)
class Row:
    """One line of a table: a measurement of a file, and how its result reads."""

    what: str
    file: str
    name: str  # "" where the file is one measurement
    result: str | Callable[[Measurement], str]  # a format string over the measurement, or a function of it
    goal: str = ""
    is_fair: Callable[[Measurement], bool] = lambda found: True  # whether README may show it

    @property
    def measurement(self) -> Measurement:
        found = read(RESULTS / f"{self.file}.json")
        return found[self.name] if self.name else found

    def cell(self) -> str:
        found = self.measurement
        return self.result.format(**found) if isinstance(self.result, str) else self.result(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a page differs from the results")
    is_check = parser.parse_args().check
    stale = []
    for page in PAGES:
        path = ROOT / page
        before = path.read_text(encoding="utf-8")
        after = re.sub(r"(<!-- figures: ([\w ]+) -->\n).*?(<!-- end -->)", fill, before, flags=re.S)
        if before != after:
            stale.append(page)
            if not is_check:
                path.write_text(after, encoding="utf-8")
    if stale:
        print(("differs from bench/results: " if is_check else "written: ") + ", ".join(stale))
        sys.exit(is_check)


def fill(found: re.Match[str]) -> str:
    return found[1] + "\n".join(TABLES[found[2]]()) + "\n" + found[3]


def sizes(key: str, *millions: str, unit: str) -> Callable[[Measurement], str]:
    """A figure of several sizes of corpora, one after another."""

    def cell(_: Measurement) -> str:
        found = read(RESULTS / "data.json")
        return f"{' / '.join(str(found[f'{count} million pairs'][key]) for count in millions)} {unit}"

    return cell


def short_table() -> list[str]:
    """The first rows that were measured on README's machine."""
    rows = [row for row in README if machine(row) == README_MACHINE and row.is_fair(row.measurement)]
    lines = [f"| {row.what} | {row.cell()} | `bench/{row.file}.py` |" for row in rows[:README_ROWS]]
    return ["| what | result | script |", "|---|---|---|", *lines]


def long_table(rows: Iterable[Row]) -> list[str]:
    lines = [f"| {row.what} | {row.cell()} | {row.goal} | {origin(row)} |" for row in rows]
    return ["| what | result | goal | measured |", "|---|---|---|---|", *lines]


def origin(row: Row) -> str:
    found = row.measurement
    sign = "*" if "stamp" in found else ""
    return f"`{row.file}.py`, {SHORT[machine(row)]}, {found['date']}, {found['commit']}{sign}"


def machine(row: Row) -> str:
    return str(row.measurement["machine"]["cpu"])


def babi_table() -> list[str]:
    found = read(RESULTS / "babi.json")
    tasks = [name.removeprefix("single ") for name in found if name.startswith("single ")]
    lines = {
        "1,000 questions of one task": [found[f"single {task}"]["error"] for task in tasks],
        "memory network, its authors' code, run again": [found[f"single {task}"]["memn2n"] for task in tasks],
        "one model for all ten": [found["joint"][task] for task in tasks],
        "story Transformer, 10,000 questions of one task": [
            found.get(f"transformer_10k {task}", {}).get("error", "") for task in tasks
        ],
    }
    head = ["| error in % | " + " | ".join(tasks) + " |", "|---|" + "---|" * len(tasks)]
    return [*head, *(f"| {name} | " + " | ".join(map(str, cells)) + " |" for name, cells in lines.items())]


def classify_table() -> list[str]:
    """Of each set whose three seeds are done: accuracy and calibration error, ours and the peers'."""
    found = read(RESULTS / "classify.json")
    columns = "accuracy % (calibration error) | regard, three seeds | logistic regression | fastText | goal | measured"
    lines = [f"| {columns} |", "|---|---|---|---|---|---|"]
    for name, goal in {"trec": "91.0", "sst2": "84.0", "subj": "93.5"}.items():
        seeds = [found[part] for seed in (1, 2, 3) if (part := f"{name}, regard, {seed}") in found]
        if len(seeds) == 3:
            ours = [sum(one[key] for one in seeds) / 3 for key in ("accuracy", "calibration_error")]
            peers = [found[f"{name}, {peer}, 1"] for peer in ("logistic regression", "fastText")]
            cells = [f"{one['accuracy']:.1f} ({one['calibration_error']:.1f})" for one in peers]
            last = seeds[-1]
            measured = f"`classify.py`, {SHORT[last['machine']['cpu']]}, {last['date']}, {last['commit']}"
            lines.append(f"| {name} | {ours[0]:.1f} ({ours[1]:.1f}) | {' | '.join(cells)} | {goal} | {measured} |")
    return lines


def curve_table() -> list[str]:
    curve = read(RESULTS / "quality.json")["ten minutes en-de"]["curve_minutes_step_valid_bleu"]
    rows = {"minutes": "{0:.1f}", "updates": "{1:,}", "validation BLEU": "{2:.1f}"}
    lines = [f"| {name} | {' | '.join(cell.format(*point) for point in curve)} |" for name, cell in rows.items()]
    return [lines[0], "|---|" + "---|" * len(curve), *lines[1:]]


def sides_table() -> list[str]:
    """Every side of bulk translation: lines a second, BLEU, lines that are the same as ours, memory."""
    found = read(RESULTS / "generate.json")["bulk"]
    head = "| | greedy: lines/s | BLEU | same lines | MB | beam 4: lines/s | BLEU | same lines | MB |"
    lines = []
    for side in found["beam 1"]["sides"]:
        cells = [f"{one['lines_per_second']:,.0f} | {one['bleu']:.2f} | {one['same_as_regard']} | {one['memory_mb']}"
                 for one in (found[beam]["sides"][side] for beam in ("beam 1", "beam 4"))]  # fmt: skip
        lines.append(f"| {side.replace('ct2', 'CTranslate2').replace('hf', '`generate`')} | {' | '.join(cells)} |")
    return [head, "|---|" + "---|" * 8, *lines]


def billion_table() -> list[str]:
    """What a billion lines take at the measured speeds, which are of machines with two cores."""
    found = read(RESULTS / "generate.json")
    models = {"small (default for Multi30k)": "bulk", "the paper's base shape": "bulk, base"}
    sides = {"": "regard", "`--precision int8`": "regard int8", "`--precision int8 --fast`": "regard int8 fast"}
    lines = []
    for model, name in models.items():
        for beam in ("beam 4", "beam 1"):
            for options, side in sides.items():
                if side in (measured := found[name][beam]["sides"]):
                    speed = measured[side]["lines_per_second"]
                    hours = 1e9 / speed / 3600
                    chosen = " ".join(filter(None, ["`--beam 1`" if beam == "beam 1" else "", options])) or "defaults"
                    lines.append(f"| {model} | {chosen} | {speed:,.0f} | {hours:,.0f} | {hours / 100:,.1f} |")
    head = "| model | options | lines/s, two cores | hours of such a machine | hours of a hundred |"
    return [head, "|---|---|---|---|---|", *lines]


def tenths(found: Measurement) -> str:
    speeds, memory = ([one[key] for one in found["tenths"]] for key in ("lines_per_second", "memory_mb"))
    return f"{min(speeds):,.0f} to {max(speeds):,.0f} lines/s in every tenth, {min(memory)} to {max(memory)} MB"


def share(value: float) -> str:
    return f"{100 * value:.1f} %"


def aer(first: str, second: str) -> Callable[[Measurement], str]:
    def cell(found: Measurement) -> str:
        ours = f"{first} {share(found[first]['aer'])}, {second} {share(found[second]['aer'])}"
        both = ", ".join(share(found[f"{one}, both directions"]["aer"]) for one in (first, second))
        peer = [found[name]["aer"] for one in (first, second) if (name := f"{one}, eflomal") in found]
        return f"{ours}; both directions {both}" + (f"; eflomal {', '.join(map(share, peer))}" if peer else "")

    return cell


def faults(found: Measurement) -> str:
    trials = sum(sum(kind.values()) for kind in found["trials"].values())
    return f"{trials} trials, {found['lost']} with other weights than an undisturbed run"


QUALITY = "BLEU {test_bleu_beam_5:.1f} (greedy {test_bleu_greedy:.1f}), chrF {test_chrf_beam_5:.1f}; {minutes:.0f} min"
ATTACK = "{p99_ms:.0f} ms, {p99_over_quiet:.1f} times the quiet value; {wrong_or_refused} of {asked} wrong or refused"
OVERLOAD = (
    "{accepted} answered, {refused} refused (p50 {refusal_ms_p50} ms, p99 {refusal_ms_p99} ms), {lost} lost; "
    "memory {memory_growth_percent:+} %, {memory_growth_percent_while_loaded:+} % under load"
)
EXACT = "{exact_percent:.1f} % of {sentences} held-out sentences exact, BLEU {bleu:.1f}; {seconds_in_all:.0f} s in all"
SHAPE = "{weights_m} M weights, largest difference {worst_difference[logits]}; forward {forward_over_transformers}x"

README = [
    Row("Multi30k English to German, ten minutes of training", "quality", "ten minutes en-de",
        "BLEU {test_bleu_beam_5:.1f}, chrF {test_chrf_beam_5:.1f}"),
    Row("the same with default settings, to the end", "quality", "default en-de",
        "BLEU {test_bleu_beam_5:.1f}, chrF {test_chrf_beam_5:.1f}; {minutes:.0f} minutes on one core"),
    Row("training speed against Hugging Face `MarianMTModel` / `nn.Transformer`", "train", "",
        "{ratio_hf:.2f}x / {ratio_nn:.2f}x its tokens a second", is_fair=lambda found: "peers" in found),
    Row("translating 1,000 lines, greedy", "generate", "bulk",
        "{beam 1[sides][regard][lines_per_second]:,.0f} lines/s, "
        "{beam 1[ratios][over_hf]:.1f}x Hugging Face `generate`"),
    Row("one sentence, median, greedy / beam 4", "generate", "single",
        "{beam 1[p50_ms][regard]:.1f} ms / {beam 4[p50_ms][regard]:.1f} ms"),
    Row("a million lines through `regard translate`", "generate", "endless", tenths),
    Row("word alignment error rate, English to French (eflomal)", "look", "aligned",
        lambda found: f"{share(found['en-fr']['aer'])} ({share(found['en-fr, eflomal']['aer'])})"),
    Row("two worker processes against one, 50,000 pairs", "scaling", "",
        lambda f: f"{f['two_workers_over_one']['50000']:.2f}x"),
]  # fmt: skip

LEARNING = [
    Row("`regard demo`, English to French", "demo", "en-fr", EXACT, "98 % in 3 min"),
    Row("`regard demo`, German to English", "demo", "de-en", EXACT, "98 % in 3 min"),
    Row("Multi30k English to German, raw text, ten minutes of two cores", "quality", "ten minutes en-de", QUALITY),
    Row("Multi30k English to German, defaults to the end, one core", "quality", "default en-de", QUALITY),
    Row("Multi30k German to English, likewise", "quality", "default de-en", QUALITY),
    Row("50,000 pairs of Tatoeba, English to German, likewise", "quality", "default tatoeba en-de", QUALITY),
    Row("165,000 pairs of Tatoeba, one core", "quality", "all tatoeba en-de", QUALITY),
    Row("Multi30k lowercased and tokenised, 2.6 M weights, one core", "quality",
        "lowercased en-de paper, until minute 55", QUALITY, "38 in 30 min of two cores"),
    Row("the same, fine-tuned with R-Drop and a decaying rate", "quality", "lowercased en-de r-drop", QUALITY,
        "41.0 in 2 h"),
    Row("tinyshakespeare, characters, defaults, 15 minutes of one core", "shakespeare", "default",
        "{loss:.2f} nats a character in windows of {window} ({loss_half_stride:.2f} at half stride); "
        "{peak_memory_mb} MB"),
    Row("the same in nanoGPT's CPU setting (its own figure: 1.88)", "shakespeare", "nanogpt",
        "{loss:.2f} nats a character; {seconds} s"),
    Row("masked language model against `BertForMaskedLM`, same batches", "fill", "",
        "{ratio_hf:.2f}x its tokens/s; after {steps} steps {accuracy[ours]} % of masked tokens right, "
        "theirs {accuracy[hf]} %"),
    Row("500 held-out induction stories", "babi", "induction",
        lambda f: f"{share(f['right'])} right, hops in the order of the proof {share(f['hops_in_order'])}"),
]  # fmt: skip

TRAINING = [
    Row("against `MarianMTModel` in a plain loop, each in its best layout", "train", "",
        "{ratio_hf:.2f}x ({ratio_hf_two_processes:.2f}x when it runs as two processes)", "2x"),
    Row("against `torch.nn.Transformer`", "train", "",
        "{ratio_nn:.2f}x; {share_of_sgemm_peak:.0%} of the sgemm peak", "2.2x"),
    Row("memory: two workers / `MarianMTModel` / `nn.Transformer`", "train", "",
        "{memory_mb[regard 2x1]} / {memory_mb[hf 1x2]} / {memory_mb[nn 1x2 in halves]} MB"),
    Row("the same, an earlier run", "train", "before workers were forked", "{ratio_hf:.2f}x, {ratio_nn:.2f}x"),
    Row("the same on an EPYC", "train", "earlier, on an AMD EPYC", "{ratio_hf:.2f}x, {ratio_nn:.2f}x"),
    Row("on an EPYC with AVX-512, all optimizers fused", "train", "AMD EPYC with AVX-512",
        "{ratio_hf:.2f}x and {ratio_nn:.2f}x ({ratio_hf_two_processes:.2f}x two processes of `MarianMTModel`, "
        "{ratio_hf_by_onednn:.2f}x the same multiplied by oneDNN as ours); {share_of_sgemm_peak:.0%} of the peak",
        "2.5x and 2.7x"),
    Row("its memory: two workers / one with two threads / `MarianMTModel`, also in two processes", "train",
        "AMD EPYC with AVX-512", "{memory_mb[regard 2x1]} / {memory_mb[regard 1x2]} / {memory_mb[hf 1x2]}, "
        "{memory_mb[hf 2x1]} MB"),
    Row("two workers over one: 10,000 / 50,000 / 170,000 pairs", "scaling", "",
        lambda f: " / ".join(f"{ratio:.2f}x" for ratio in f["two_workers_over_one"].values())),
]  # fmt: skip

SIZES = [
    Row("1 / 4 / 16 million pairs: memory while preparing, of all processes", "data", "16 million pairs",
        sizes("peak_mb", "1", "4", "16", unit="MB"), "700 MB"),
    Row("the same with the steps by which the plan measures", "data", "16 million pairs",
        sizes("with_plan_mb", "1", "4", "16", unit="MB")),
    Row("0.1 / 1 / 4 / 16 million pairs: memory while training", "data", "16 million pairs",
        sizes("training_mb", "0.1", "1", "4", "16", unit="MB"), "within 10 %"),
    Row("1 / 4 million pairs: time to prepare them, over that of `tokenizers` alone", "data", "4 million pairs",
        sizes("ratio_tokenizers", "1", "4", unit="times"), "1.5 times"),
    Row("1 million pairs, `datasets` doing the same: its time over ours, memory, disk", "data", "1 million pairs",
        "{datasets[ratio_seconds]:.2f}x, {datasets[peak_mb]} MB, {datasets[bytes_per_token]:.1f} bytes a token"),
    Row("16 million pairs: encoded text on disk", "data", "16 million pairs",
        "{bytes_per_token:.2f} bytes a token", "2.2 bytes"),
    Row("1 / 4 / 16 million pairs: resumed, from the command to the first step", "data", "16 million pairs",
        sizes("resume_seconds", "1", "4", "16", unit="s"), "20 s"),
]  # fmt: skip

RUNNING = [
    Row("1,000 lines, greedy / beam 4, against CTranslate2's best layout", "generate", "bulk",
        "{beam 1[ratios][over_ct2_best]:.2f}x / {beam 4[ratios][over_ct2_best]:.2f}x", "1x"),
    Row("the same against CTranslate2's default", "generate", "bulk",
        "{beam 1[ratios][over_ct2_default]:.2f}x / {beam 4[ratios][over_ct2_default]:.2f}x", "3x"),
    Row("the same against Hugging Face `generate` in its best layout", "generate", "bulk",
        "{beam 1[ratios][over_hf]:.2f}x / {beam 4[ratios][over_hf]:.2f}x", "5x"),
    Row("with `--fast`, against CTranslate2's best layout", "generate", "bulk",
        "{beam 1[ratios][fast_over_ct2_best]:.2f}x / {beam 4[ratios][fast_over_ct2_best]:.2f}x"),
    Row("our torch engine against `generate`", "generate", "bulk",
        "{beam 1[ratios][torch_over_hf]:.2f}x / {beam 4[ratios][torch_over_hf]:.2f}x", "2x"),
    Row("one sentence, median, greedy / beam 4", "generate", "single",
        "{beam 1[p50_ms][regard]:.1f} / {beam 4[p50_ms][regard]:.1f} ms; "
        "int8 with `--fast` {beam 1[p50_ms][regard int8 fast]:.1f} / {beam 4[p50_ms][regard int8 fast]:.1f} ms"),
    Row("one sentence against `generate`", "generate", "single",
        "{beam 1[ratios][over_hf]:.1f}x / {beam 4[ratios][over_hf]:.1f}x", "18x"),
    Row("the same on an EPYC", "generate", "single, on an AMD EPYC (vocabulary 6,000)",
        "{beam 1[ratios][over_hf]:.1f}x / {beam 4[ratios][over_hf]:.1f}x", "18x"),
    Row("64 lines, the paper's base shape, against CTranslate2's best / `generate`", "generate", "bulk, base",
        "greedy {beam 1[ratios][over_ct2_best]:.2f}x / {beam 1[ratios][over_hf]:.2f}x, "
        "beam {beam 4[ratios][over_ct2_best]:.2f}x / {beam 4[ratios][over_hf]:.2f}x"),
    Row("a million lines through `regard translate`, greedy", "generate", "endless", tenths),
    Row("terminology: terms honoured without / with constraints", "generate", "terms",
        lambda f: f"{share(f['honoured_free'])} / {share(f['honoured_bound'])}; "
        f"BLEU {f['bleu_free']:.1f} / {f['bleu_bound']:.1f}"),
    Row("`regard --help`", "startup", "", "{help_seconds:.2f} s", "0.5 s"),
    Row("`regard translate` of one line from a cold start", "startup", "", "{translate_seconds:.2f} s", "0.6 s"),
]  # fmt: skip


def pages(_: Measurement) -> str:
    """All models that were compared in a page."""
    found = {name: one for name, one in read(RESULTS / "page.json").items() if "attention apart" in one}
    texts, differ, ties = (sum(one[key] for one in found.values()) for key in ("texts", "differ", "of them ties"))
    apart = max(one["attention apart"] for one in found.values())
    return f"{differ - ties} of {texts:,} differ ({ties} ties), {apart:.0e} apart at most: {'; '.join(found)}"


LOOKING = [
    Row("word alignment, AER on held-out phrasebook sentences", "look", "aligned", aer("en-fr", "de-en"), "5 %"),
    Row("the same with pre-norm models", "look", "aligned, with the norm before the residual", aer("en-fr", "de-en"),
        "5 %"),
    Row("a page of 512 x 512 tokens in Chromium", "look", "page",
        "first paint {first_paint_ms} ms, pointing at a word {hover_word_ms} ms", "1 s, 16 ms"),
    Row("a model in a page: ids of 10,000 nasty strings, by each tokenizer that is trained", "page", "tokenizers",
        lambda f: f"{sum(f['differ'].values())} differ, {len(f['differ'])} tokenizers", "0"),
    Row("the same: answers and attention against torch", "page", "classifier, float32", pages, "0, 1e-4"),
    Row("the same, tiny shape: 15 tokens translated, all heads drawn; a head off; first paint", "page", "fast",
        "{translate_and_look_ms} ms; {head_off_ms} ms; {first_paint_ms} ms", "150, 100 ms, 1 s"),
    Row("100,000 lines searched with MiniLM, the query's vector included", "search", "search",
        "{search_ms:.0f} ms, of which {of_which_encoding_ms:.0f} encoding", "50 ms"),
    Row("looking, with attribution, against translating", "look", "price",
        "{look_times_a_translation}x, {look and why_times_a_translation}x"),
]  # fmt: skip

SERVING = [
    Row("32 clients, a sentence each, against one text at a time (best threads)", "serve", "throughput",
        "{over_one_text_at_a_time:.2f}x, {sentences_per_second} sentences/s", "3x"),
    Row("the same with the threads LibreTranslate leaves CTranslate2", "serve", "throughput",
        "{over_one_text_at_a_time_as_libretranslate_opens_it:.2f}x", "3x"),
    Row("the same, base shape", "serve", "throughput, base",
        "{over_one_text_at_a_time:.2f}x; {over_one_text_at_a_time_as_libretranslate_opens_it:.2f}x", "3x"),
    Row("one sentence while documents are translated", "serve", "waiting",
        "{p50_over_unloaded:.2f} times the unloaded median; p95 {p95_ms_loaded:.0f} ms", "3x"),
    Row("ten times the capacity offered for a minute", "serve", "overload", OVERLOAD, "50 ms, 5 %"),
    Row("the same for two minutes, base shape", "serve", "overload, base", OVERLOAD, "50 ms, 5 %"),
    Row("a short request beside slow clients, 99th percentile", "serve", "slow", ATTACK, "1x"),
    Row("beside the costliest requests", "serve", "costly", ATTACK, "1x"),
    Row("beside hostile markup", "serve", "markup", ATTACK, "1x"),
    Row("each parser on hostile input of the largest size", "serve", "parsers", "{most_ms:.0f} ms at most ({worst})",
        "50 ms"),
    Row("20,000 malformed requests", "serve", "fuzz", "{5xx_but_503} server errors, {canary_wrong} wrong answers", "0"),
    Row("2,000 clients that disconnect", "serve", "gone", "{tokens_left_waiting:.0f} tokens left waiting", "0"),
    Row("SIGTERM with 16 requests waiting", "serve", "stop", "{answered} of {clients} answered, exit {exit}", "16"),
]  # fmt: skip

CRAFTED = "{trials} trials: {works} work, {bad} crash, hang or grow, {wrote outside} wrote outside"


def languages(found: Measurement) -> str:
    """What the check finds of planted lines, and its false alarms, of three texts."""
    texts = found["languages"].values()
    third, exchanged = (
        " / ".join(f"{100 * one[name]:.0f}" for one in texts)
        for name in ("recall_third_language", "recall_swapped_pairs")
    )
    alarms = sum(one["false_alarms_source"] + one["false_alarms_target"] for one in texts)
    lines = 2 * sum(one["lines"] for one in texts)
    return f"found: {third} %; exchanged pairs {exchanged} %; {alarms} false alarm of {lines} lines"


def planted(found: Measurement) -> str:
    """Of shifted and shuffled lines."""
    several = [one for one in found["shifts"].values() if "recall" in one]
    whole = [one for name, one in found["shifts"].items() if name.endswith((", none", ", noise"))]
    precision, recall = (sum(one[name] for one in several) / len(several) for name in ("precision", "recall"))
    missed = sum(one["corpora"] - one["with_alarm"] for one in several)
    return (
        f"{100 * recall:.0f} % of the lines found, {100 * precision:.0f} % of those found are right; {missed} of "
        f"{sum(one['corpora'] for one in several)} corpora missed; {sum(one['with_alarm'] for one in whole)} alarms on "
        f"{sum(one['corpora'] for one in whole)} aligned ones"
    )


ROBUSTNESS = [
    Row("trainings killed, stopped, out of disk, read-only, resumed", "faults", "", faults, "0"),
    Row("mutated files of a model and its run", "hostile", "mutations",
        "{trials} trials: {refused} refused by name, {works} work, {bad} crash, hang or grow", "0"),
    Row("folders crafted to hurt, of our own families", "hostile", "crafted", CRAFTED, "0"),
    Row("the same of ten architectures of `transformers`", "hostile", "foreign", CRAFTED, "0"),
    Row("malformed corpora", "hostile", "corpora",
        "{trials} trials: {refused} refused, {works} work, {bad} crash", "0"),
    Row("`regard check` on Multi30k", "check", "", "{pairs_per_cpu_second} pairs a CPU second", "20,000"),
    Row("its lines of a third language, in Multi30k / Tatoeba / the phrasebook", "check", "", languages, "1 % alarms"),
    Row("its shifted lines, planted into the same in 13 ways", "check", "", planted, ""),
    Row("random folders of `transformers` opened here", "interop", "in",
        lambda f: f"{f['equal']} equal, {f['refused']} refused by name, {len(f['bad'])} wrong", "0 wrong"),
    Row("random models of ours opened by `transformers`", "interop", "out",
        lambda f: f"{f['equal']} equal, {f['our own layout']} in our own layout, {f['refused']} refused, "
        f"{len(f['bad'])} wrong", "0 wrong"),
    Row("BERT base / large as encoder and decoder, against `transformers`", "shapes", "bert base", SHAPE, "1e-5"),
    Row("Transformer big, likewise", "shapes", "transformer big", SHAPE, "1e-5"),
]  # fmt: skip

TABLES: dict[str, Callable[[], list[str]]] = {
    "readme": short_table,
    "babi": babi_table,
    "classify": classify_table,
    "curve": curve_table,
    "sides": sides_table,
    "billion": billion_table,
    **{
        name: lambda rows=rows: long_table(rows)
        for name, rows in {
            "learning": LEARNING,
            "training": TRAINING,
            "sizes": SIZES,
            "running": RUNNING,
            "looking": LOOKING,
            "serving": SERVING,
            "robustness": ROBUSTNESS,
        }.items()
    },
}

if __name__ == "__main__":
    main()
