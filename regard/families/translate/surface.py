"""translate from outside: `regard translate`, `regard train translate`, POST /api/translate."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from pydantic import Field, Strict

from regard.decoding.settings import BEAM
from regard.errors import ConfigError
from regard.families.bulk import Work, run_bulk, run_here
from regard.families.on_ray import run_on_ray
from regard.families.options import Columns, Engine, Glob, Json, Keys, Model, Precision, choose_columns, refuse_together
from regard.families.surface import LookBody, Served, Surface, Terminal, Text, TextBody, Whole
from regard.families.translate.asked import TranslateOptions
from regard.families.translate.lines import translate_lines, translate_plainly
from regard.families.translate.parts import join_windows
from regard.families.translate.translation import Translation, join
from regard.text.segments import find_windows
from regard.text.terms import read_terms

PART_IN_LETTERS = 20  # what it takes to join a part to others, in letters that are split
# Priorities: requests are read and answered first, then computed, quick ones before documents.
PATIENCE_QUICK, PATIENCE_SLOW = 5, 15


File = Annotated[
    Path | None,
    typer.Argument(help="File to translate, or with --to a folder; default: standard input.", show_default=False),
]
To = Annotated[
    Path | None,
    typer.Option(help="Folder for files of the same names; what is there already is not done again."),
]
On = Annotated[
    Literal["local", "ray"],
    typer.Option(help="Where --to computes: here, or on the Ray cluster at RAY_ADDRESS, else one started here."),
]
Beam = Annotated[
    int | None, typer.Option(min=1, help=f"Beam width; 1 is greedy decoding; default: {BEAM}, or N of --n-best.")
]
LengthPenalty = Annotated[
    float | None, typer.Option(min=0, help="Length normalization of beam scores; 0 is none; default: 1.")
]
Terms = Annotated[
    Path | None, typer.Option(help="Terminology constraints: a file of term, tab, translation.", show_default=False)
]
MaxLength = Annotated[int | None, typer.Option(min=1, help="Most tokens of a translation; default: by the source.")]
SplitSentences = Annotated[
    bool | None,
    typer.Option(help="Translate each sentence of a line for itself; default: where the training lines were so."),
]
Consensus = Annotated[
    int | None,
    typer.Option(min=2, help="Sample N translations, by torch, and take the one closest to all by chrF."),
]


def command(
    out: Terminal,
    model: Model,
    file: File = None,
    text: Annotated[str | None, typer.Option(help="Translate this text instead.", show_default=False)] = None,
    to: To = None,
    on: On = "local",
    columns: Annotated[str | None, typer.Option(help="Column of a Parquet file, by name; with --to.")] = None,
    glob: Glob = [],  # noqa: B006
    beam: Beam = None,
    length_penalty: LengthPenalty = None,
    max_length: MaxLength = None,
    n_best: Annotated[int, typer.Option(min=1, help="Print the N best hypotheses: line ||| text ||| score.")] = 1,
    prefix: Annotated[str, typer.Option(help="Force every translation to begin with this.")] = "",
    terms: Terms = None,
    alignments: Annotated[
        bool, typer.Option("--alignments", help="Append the word alignment, such as 0-0 1-2.")
    ] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Decode over a vocabulary shortlist of each source.")] = False,
    split_sentences: SplitSentences = None,
    consensus: Consensus = None,
    seed: Annotated[int | None, typer.Option(help="Of --consensus; default: 0.", show_default=False)] = None,
    engine: Engine = None,
    precision: Precision = None,
    as_json: Json = False,
) -> None:
    """Translate a file or standard input, line by line: line N of the output translates line N of the input.

    With --to, the files of a folder are translated into another, in parts; the same command resumes what was
    interrupted. Text may be packed (.gz, .bz2, .xz, .zst); a Parquet file gets one column more, `translation`.

    Example:
      regard translate models/en-de test.en --beam 4 > test.de
      echo "The dog sleeps." | regard translate models/en-de --alignments
      regard translate models/en-de letters/ --to translated/ --on ray
    """
    refuse_together(text=text, file=file)
    refuse_together(prefix=prefix or None, terms=terms)
    search = choose_search(beam, n_best, length_penalty, max_length, fast, engine)
    search |= {"prefix": prefix, "terms": read_terms(terms) if terms else None}
    search |= {} if split_sentences is None else {"split_sentences": split_sentences}
    others = {"beam": beam, "n_best": n_best > 1, "length_penalty": length_penalty, "terms": terms, "fast": fast}
    search |= choose_consensus(consensus, seed, engine, others | {"precision": precision == "int8"})
    engine = "torch" if consensus else engine
    bulk = {"--on ray": on == "ray", "--columns": columns, "--glob": glob}
    if to is None and any(bulk.values()):
        name = next(name for name, value in bulk.items() if value)
        raise ConfigError(f"{name} is for files that are translated into a folder; add --to FOLDER")
    if to is None:
        search |= {"n_best": n_best, "scores": as_json or n_best > 1, "alignments": alignments}
        translate_lines(out.open(model, engine, precision), file, text, out=out, as_json=as_json, **search)
        return
    for other in ({"text": text}, {"n_best": n_best > 1}, {"alignments": alignments}, {"json": as_json}):
        refuse_together(to=to, **other)
    if file is None:
        raise ConfigError("--to is for a file or a folder of files; name it after the model")
    work = Work(out.open(model, engine, precision), translate_plainly, search | {"scores": False})
    wanted = choose_columns(columns, None)["columns"]
    run_bulk(work, run_on_ray if on == "ray" else run_here, file, to, "translation", wanted, glob, out)


def choose_search(
    beam: int | None, n_best: int, length_penalty: float | None, max_length: int | None, fast: bool, engine: str | None
) -> dict[str, Any]:
    """How to search, as options of `translate_windows`; what cannot be asked for together is refused."""
    if beam is not None and n_best > beam:
        raise ConfigError(f"--n-best {n_best} is more than --beam {beam} keeps; raise --beam, or leave it out")
    if length_penalty is not None and beam == 1:
        raise ConfigError("--length-penalty ranks what a beam search finds; with --beam 1 there is nothing to rank")
    if fast and engine == "torch":
        raise ConfigError("--fast is for --engine ctranslate2; torch has no shortlist")
    search: dict[str, Any] = {"beam": beam or max(BEAM, n_best), "max_length": max_length, "fast": fast}
    return search | ({} if length_penalty is None else {"length_penalty": length_penalty})


def choose_consensus(
    samples: int | None, seed: int | None, engine: str | None, others: dict[str, Any]
) -> dict[str, Any]:
    """How to sample, as options of `translate_windows`; what cannot be asked for together is refused."""
    if samples is None and seed is not None:
        raise ConfigError("--seed is for translations that are sampled; add --consensus N")
    for name, value in others.items():
        refuse_together(consensus=samples, **{name: value})
    if samples and engine == "ctranslate2":
        raise ConfigError("--consensus samples with torch, where a line is drawn the same in any company; leave "
                          "--engine out")  # fmt: skip
    return {"consensus": samples, "seed": seed or 0} if samples else {}


def train(
    source: Annotated[
        Path, typer.Argument(help="Source text, or one file of pairs: TSV, CSV, JSONL, TMX, …", show_default=False)
    ],
    target: Annotated[
        Path | None, typer.Argument(help="Target text; line N translates line N of the source.", show_default=False)
    ] = None,
    valid_source: Annotated[
        Path | None, typer.Option("--valid-source", "--valid", help="Validation source, or pairs.")
    ] = None,
    valid_target: Annotated[Path | None, typer.Option(help="Validation target.")] = None,
    columns: Columns = None,
    keys: Keys = None,
    glob: Glob = [],  # noqa: B006
    also: Annotated[
        list[str],
        typer.Option(
            help="A further corpus, SOURCE,TARGET:WEIGHT or PAIRS:WEIGHT; an epoch takes WEIGHT of its pairs; "
            "repeatable.",
            show_default=False,
        ),
    ] = [],  # noqa: B006
    monolingual: Annotated[
        list[Path],
        typer.Option(
            help="Text in the target language, learned from by back-translation; repeatable.", show_default=False
        ),
    ] = [],  # noqa: B006
    reverse: Annotated[
        Path | None, typer.Option(help="The translator for --monolingual; default: one is trained first.")
    ] = None,
    rounds: Annotated[
        int | None, typer.Option(min=1, help="Of --monolingual, each with a better reverse model; default: 1.")
    ] = None,
    source_language: Annotated[str | None, typer.Option(help="Language code; default: the file's suffix.")] = None,
    target_language: Annotated[str | None, typer.Option(help="Language code; default: the file's suffix.")] = None,
    encoder: Annotated[
        Path | None, typer.Option(help="Initialize the encoder from this BERT; needs --decoder.")
    ] = None,
    decoder: Annotated[Path | None, typer.Option(help="Initialize the decoder from this BERT.")] = None,
) -> dict[str, Any]:
    """Train a translation model (encoder-decoder) on two parallel files, or one file of pairs.

    Example:
      regard train translate train.en train.de --to models/en-de --minutes 30
      regard train translate pairs.tsv --columns 2,1 --to models/de-en --size small
      regard train translate own.de own.en --also web.de,web.en:0.3 --to models/de-en
      regard train translate own.de own.en --monolingual text.en --to models/de-en
    """
    languages = {"source_language": source_language, "target_language": target_language}
    return {
        "settings": {name: code for name, code in languages.items() if code},
        "encoder": encoder, "decoder": decoder, "source": source, "target": target,
        "valid_source": valid_source, "valid_target": valid_target, "glob": glob, "also": also,
        "monolingual": monolingual, "reverse": reverse, "rounds": rounds,
        **choose_columns(columns, keys),
    }  # fmt: skip


class TranslateBody(TextBody):
    """Texts and how to search for their translations."""

    beam: Whole = Field(BEAM, ge=1, le=16)
    n_best: Whole = Field(1, ge=1, le=16)
    prefix: Text = ""  # what every translation begins with
    split_sentences: Annotated[bool, Strict()] | None = None  # None: as the training lines were
    consensus: Whole | None = Field(None, ge=2, le=16)  # so many are sampled, and the one closest to all is taken


class TranslateLook(LookBody):
    """Fields of a look into a translator."""

    target: Text | None = None  # what it is made to say


async def translate(
    served: Served, texts: Sequence[str], *, beam: int = BEAM, n_best: int = 1, prefix: str = "",
    alignments: bool = False, split_sentences: bool | None = None, consensus: int | None = None,
) -> list[Translation]:  # fmt: skip
    """A Translation of each text, which is a line. What waits and is computed are the parts of lines."""
    limits, texts = served.limits, [text.strip() for text in texts]
    limits.check_texts(texts, limits.lines)
    cost = max(beam, n_best, consensus or 1)
    limits.check_number("beam", cost, 1, limits.beams)
    limits.check_count("the prefix", len(prefix), limits.letters, "characters")
    served.check_room(len(texts), sum(text.count(" ") + 1 for text in texts), cost)  # a word is a token or more
    how: dict[str, Any] = {"beam": beam, "n_best": n_best, "alignments": alignments}
    how |= {"split_sentences": split_sentences} | ({"consensus": consensus} if consensus else {})
    TranslateOptions(**how)  # what cannot be asked for together is refused before it waits
    forced = (await served.sizes([prefix]))[0] if prefix else 0
    limits.check_count("the prefix", forced, limits.prefix_tokens)
    split = partial(served.opened.split, split_sentences=split_sentences)
    windows = [find_windows(text) for text in texts]
    pieces = [text[start:end] for text, found in zip(texts, windows, strict=True) for start, end in found]
    split_pieces = chain.from_iterable(await served.aside_in_pieces(split, pieces))
    lines = [
        join_windows(text, found, list(islice(split_pieces, len(found))))
        for text, found in zip(texts, windows, strict=True)
    ]
    sizes = [[len(part.ids) for part in line] for line in lines]
    tokens = sum(map(sum, sizes)) + forced * len(lines)
    limits.check_count("the text, times n_best", tokens * n_best, limits.translated_tokens)
    if prefix:  # what of it belongs to which part is known where they are translated
        totals = [sum(line) + forced for line in sizes]
        return await served.ask(compute, list(texts), totals, how | {"prefix": prefix}, cost)
    flat = [part.text for line in lines for part in line]
    how["split_sentences"] = False
    found = await served.ask(compute, flat, [size for line in sizes for size in line], how, cost)
    ends = accumulate(map(len, lines))

    def put_together() -> list[Translation]:
        target = served.opened.target_language
        return [join(found[end - len(line) : end], line, target) for end, line in zip(ends, lines, strict=True)]

    return await served.aside(put_together, len(flat) * n_best * PART_IN_LETTERS)


def compute(opened: Any, texts: list[str], is_wanted: Callable[[int], bool], **options: Any) -> list[Any]:
    """A batch of parts."""
    return list(opened.translate_all(texts, **options))


async def answer(served: Served, asked: TranslateBody) -> dict[str, Any]:
    """Translations with scores, alternatives and alignments."""
    served.limits.check_texts(asked.texts)
    options = asked.model_dump(include={"beam", "n_best", "prefix", "split_sentences", "consensus"})
    found = await translate(served, asked.texts, alignments=True, **options)
    return {"model": served.name, "translations": [_as_json(one) for one in found]}


def _as_json(one: Translation) -> dict[str, Any]:
    """A translation as JSON has it, which cannot say "not a number"; nothing is copied, as a document is long."""
    score = None if math.isnan(one.score) else one.score
    return vars(one) | {"score": score, "alternatives": [_as_json(other) for other in one.alternatives]}


def workers(opened: Any, is_bulk: bool) -> int:
    """As many as the engine has workers; those of documents step back."""
    if opened.engine == "torch":
        return 1  # it uses all threads for one, and several would change how many there are
    opened.aligner.reads([0])  # from now on, what others do to the folder changes no translation
    return int(opened.share(patience=PATIENCE_SLOW if is_bulk else PATIENCE_QUICK))


def facts(opened: Any) -> dict[str, Any]:
    """What it reads and what it writes."""
    return {"source": opened.source_language or "auto", "target": opened.target_language or "und"}


def live(opened: Any) -> dict[str, Any]:
    """How it begins, ends and aligns."""
    if opened.model.config.encoder is not None:
        raise ConfigError("a translator made of two models does not run in a page; `regard serve` it, or record a text")
    generation = asdict(opened.generation) | {"start": opened.model.start_id}
    return {"generation": generation, "alignment": opened.alignment_heads, **opened.most_tokens}


TRANSLATE = Surface(
    command, train, TranslateBody, answer, offers={"translation": translate}, look=TranslateLook, facts=facts,
    workers=workers, shares_batches=True, page="regard.families.translate:translate.js",
    engine="regard.families.translate:translator.js", live=live,
)  # fmt: skip
