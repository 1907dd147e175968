"""The field's own words: the package's first, private dialect is refused wherever people read."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]

# What is refused, and what to write instead.
DIALECT = {
    r"told|tells?|telling": "given, configured, reported, shows",
    r"said": "generated, written, named",
    r"nobody|no one|somebody|someone|whoever|whom": "name the user, the process or the caller; or use the passive",
    r"sittings?": "session, run",
    r"crews?": "workers",
    r"judges?|judged|judging": "validator, validation model, evaluate",
    r"standing|stands(?! for)": "training state, checkpoint, is",
    r"(?<!by )(?<!than )chances?": "probability",
    r"films?": "snapshots",
    r"reined": "r_drop",
    r"mends?|mended|mending": "fix",
    r"(?:go|goes|gone|going|went) on|gone home": "resume, continue, generate, exit",
    r"by heart": "overfit, memorize",
    r"believes?|believed": "combine, trust, weight",
    r"ailments?|doctors?": "problem, check",
    r"(?:give|gives|given|giving|gave) out|(?:bring|brings|brought|bringing) in": "export, import",
    r"hidden (?:words?|tokens?|pieces?)|(?:words?|tokens?|pieces?) hidden": "masked",
    r"horizons?": "decay_steps, number of steps",
    r"agreement": "r_drop",
    r"empty sentences?": "time noise",
    r"keep telling|runaways?": "select_heads, repetition",
    r"the rate|its rate|rate of learning": "learning rate",
    r"looked at|looks(?! like)": "attention, attended to",
    r"watch|watches|watched|watching": "trace, observe",
}
PATTERN = re.compile("|".join(rf"(?P<w{i}>\b(?:{words})\b)" for i, words in enumerate(DIALECT)), re.IGNORECASE)

# Where a word is the field's own, a language's, or part of a file format.
ALLOWED: dict[str, set[str]] = {
    "regard/alignment/lexical_table.py": {"chances"},  # a name in a saved file
}

PHRASES = "regard/text/phrasebook/"  # grammar and vocabulary of three languages

# Words that no name of a function, class, argument, variable or attribute may have among its parts.
REFUSED = re.compile(
    "(?:^|_)(told|said|lanes?|journal|chances|crew|judged?|sitting|standing|gallery|doctor|ailments|mend|film|nobody|somebody|whoever|"
    "horizon|reined|watch(?:ed)?|believe|looked|looks|lens)(?:_|$)"
)
NAMES_ALLOWED = {"logit_lens", "apply_logit_lens", "IN_LENS"}


def _texts(path: Path) -> Iterator[tuple[int, str]]:
    """What people read in a file, by line: comments and strings of Python, visible strings of scripts, all prose."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                yield token.start[0], token.string
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for offset, line in enumerate(node.value.split("\n")):
                    yield node.lineno + offset, line
    elif path.suffix == ".js":
        for number, line in enumerate(text.split("\n"), 1):
            for found in re.finditer(r"//.*|\"[^\"]*\"|'[^']*'|`[^`]*`", line):
                yield number, found[0]
    else:
        yield from enumerate(text.split("\n"), 1)


def _names(path: Path) -> Iterator[tuple[int, str]]:
    """Every name that a Python file gives to something, by line."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield node.lineno, name
            case ast.arg(arg=name) | ast.Attribute(attr=name) | ast.Name(id=name, ctx=ast.Store()):
                yield node.lineno, name


def _files() -> list[str]:
    inside = [
        *ROOT.glob("regard/**/*.py"),
        *ROOT.glob("regard/**/*.toml"),
        *ROOT.glob("regard/**/*.js"),
        *ROOT.glob("regard/**/*.html"),
        *ROOT.glob("regard/**/*.md"),
    ]
    others = [*ROOT.glob("bench/*.py"), *ROOT.glob("examples/*.py"), *ROOT.glob("docs/**/*.md"), ROOT / "README.md"]
    names = (path.relative_to(ROOT).as_posix() for path in [*inside, *others])
    return sorted(name for name in names if not name.startswith(PHRASES))


def dialect(name: str) -> list[str]:
    """Every place of a file that speaks the old dialect: `line: word -> what to write instead`."""
    hints = list(DIALECT.values())
    return [
        f"{name}:{line}: {found[0]!r} -> {hints[int(str(found.lastgroup)[1:])]}"
        for line, text in sorted(set(_texts(ROOT / name)))
        for found in PATTERN.finditer(text)
        if found[0].lower() not in ALLOWED.get(name, ())
    ]


def test_what_people_read_is_in_the_words_of_the_field() -> None:
    found = [place for name in _files() for place in dialect(name)]
    assert not found, "\n".join(found)


def test_names_are_in_the_words_of_the_field() -> None:
    found = [
        f"{name}:{line}: {called}"
        for name in _files()
        if name.endswith(".py")
        for line, called in sorted(set(_names(ROOT / name)))
        if called not in NAMES_ALLOWED and REFUSED.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", called).lower())
    ]
    assert not found, "\n".join(found)
