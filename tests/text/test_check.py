"""The check finds what was put into a corpus, names the line, and finds nothing in a clean one."""

import csv
import gzip
import json
import random
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import regard
from regard.cli.check import describe
from regard.cli.commands import app
from regard.errors import CorpusError
from regard.text.check import check_pairs, check_text, hashes_of
from regard.text.corpus import PairFiles, read_pairs
from regard.text.duplicates import Duplicates
from regard.text.problems import LONGEST_LETTERS, LONGEST_WORDS, PROBLEMS
from regard.text.running import TextFiles, read_documents

ENGLISH = [phrase.source for phrase in regard.phrasebook("en", "de", 6000)]
GERMAN = [phrase.target for phrase in regard.phrasebook("en", "de", 6000)]


def write(folder, source=None, target=None):
    for name, lines in (("a.en", source or ENGLISH), ("a.de", target or GERMAN)):
        raw = [line if isinstance(line, bytes) else line.encode("utf-8", "surrogatepass") for line in lines]
        (folder / name).write_bytes(b"".join(line + b"\n" for line in raw))
    return folder / "a.en", folder / "a.de"


def pair(*given):
    return PairFiles(*write(*given))


def changed(lines, places):
    return [places.get(number, line) for number, line in enumerate(lines, start=1)]


def test_a_clean_corpus_has_nothing_wrong(tmp_path):
    report = check_pairs(pair(tmp_path))
    assert report.lines == 6000 and report.findings == {}


@pytest.mark.parametrize(("kind", "line"), [
    ("nul", "a\0b"), ("control", "a\x07b"), ("line separator", "a\u2028b"), ("carriage return", "a\rb"),
    ("inner mark", "a\ufeffb"), ("replaced", "a\ufffdb"), ("encoding", b"Stra\xdfe"),
    ("markup", "a <b>word</b>"), ("markup", "this &amp; that"),
    ("scripts", "the wоrd with a Cyrillic o"), ("windows", b"The dog sleeps.\r"), ("long", "word " * 300),
    ("empty", "  "),
    ("ratio", "The dog sleeps. " * 12), ("swapped", "Der alte Mann sieht die Frau und der Hund schläft."),
    ("language", "Il gatto nero dorme sopra il tavolo vicino alla finestra aperta"),
])  # fmt: skip
def test_what_is_wrong_with_a_line_is_found_and_named(tmp_path, kind, line):
    report = check_pairs(pair(tmp_path, changed(ENGLISH, {5500: line})))
    assert report.findings[kind].count == 1
    assert report.findings[kind].examples[0]["line"] == 5500
    assert all(report.findings[kind].words(report.shape).values())


def test_copies_repetitions_and_overlap_are_counted(tmp_path):
    source = changed(ENGLISH, {100: GERMAN[99], 200: ENGLISH[0]})
    target = changed(GERMAN, {200: GERMAN[0]})
    (tmp_path / "test.en").write_text("\n".join(ENGLISH[10:15]) + "\n")
    files = pair(tmp_path, source, target)
    report = check_pairs(files, hashes_of([tmp_path / "test.en"], files))
    assert (report.findings["copy"].count, report.findings["copy"].examples[0]["line"]) == (1, 100)
    assert (report.findings["repeated"].count, report.findings["repeated"].examples[0]["line"]) == (1, 200)
    assert report.findings["overlap"].count == 5


@given(st.lists(st.binary(max_size=30).filter(lambda raw: b"\n" not in raw), min_size=1, max_size=20))
def test_no_bytes_make_the_check_fail(tmp_path_factory, raws):
    folder = tmp_path_factory.mktemp("bytes")
    (folder / "a").write_bytes(b"x" + b"\n".join(raws) + b"\n")
    (folder / "b").write_bytes(b"y" + b"\n".join(raws[1:]) + b"\n")
    files = PairFiles(folder / "a", folder / "b")
    assert why_training_stops(lambda: check_pairs(files)) == why_training_stops(lambda: read_pairs(files))
    why = why_training_stops(lambda: check_text([files.source]))
    assert why == why_training_stops(lambda: read_documents(TextFiles((files.source,))))
    assert why or check_text([files.source]).lines == len(raws)


def why_training_stops(work):
    try:
        return getattr(work(), "stops", None)
    except CorpusError as problem:
        return str(problem)


def run(*words):
    return CliRunner().invoke(app, ["check", *map(str, words)])


def test_the_command_prints_a_page_and_json(tmp_path):
    source, target = write(tmp_path, changed(ENGLISH, {7: "a <i>tag</i>", 9: "a\x07b"}))
    page = run(source, target)
    assert page.exit_code == 0 and "a.en and a.de: 6000 pairs" in page.output
    assert page.output.index("HTML tags") < page.output.index("control characters")  # what hurts most comes first
    assert "a.en line 7: a <i>tag</i>" in page.output and "fix:" in page.output
    found = json.loads(run(source, target, "--json").output)
    assert {finding["kind"] for finding in found["findings"]} == {"markup", "control"} and found["stops"] is None
    with gzip.open(tmp_path / "a.gz", "wb") as file:
        file.write(source.read_bytes())
    assert run(tmp_path / "a.gz").exit_code == 0
    assert "No problems found" in run(target).output


def test_the_exit_code_is_1_if_training_would_stop_and_strict_for_any_problem(tmp_path):
    source, target = write(tmp_path, changed(ENGLISH[:300], {7: "a <i>tag</i>"}), GERMAN[:300])
    assert [run(source, target).exit_code, run(source, target, "--strict").exit_code] == [0, 1]
    assert run(target, "--strict").exit_code == 0
    for content in (b"", b"a\0b\n", b"Stra\xdfe\n", b" \n", "a".encode("utf-16"), gzip.compress(b"text\n" * 99)[:-9]):
        (tmp_path / "bad.txt").write_bytes(content)
        for words in ((tmp_path / "bad.txt",), (tmp_path / "bad.txt", target)):
            found = run(*words, "--json")
            assert found.exit_code == 1 and json.loads(found.output)["stops"], content
            assert "Training would stop: " in run(*words).output
    assert "does not exist" in run(tmp_path / "none").output and run(tmp_path / "none").exit_code == 1
    (tmp_path / "blank.tsv").write_text("a\tb\n\nc\td\n")
    assert run(tmp_path / "blank.tsv").exit_code == 1  # as training


def test_a_file_to_compare_with_that_is_missing_is_no_problem_of_the_corpus(tmp_path):
    found = CliRunner().invoke(app, ["check", *map(str, write(tmp_path)), "--against", str(tmp_path / "no.en")])
    assert found.exit_code == 1 and found.stdout == ""
    assert "--against" in found.stderr and "no.en does not exist" in found.stderr


def test_lines_that_repeat_in_running_text_code_and_stories_are_no_problem(tmp_path):
    (tmp_path / "play.txt").write_text("First Citizen:\nSpeak!\n\n" * 500)
    (tmp_path / "code.py").write_text("    return <b>\n" * 500)
    told = "".join("1 Mary went to the hall.\n2 Where is Mary?\thall\t1\n" for _ in range(60))
    for name in ("qa.txt", "qb.txt"):
        (tmp_path / name).write_text(told + f"1 {name} is here.\n2 Where?\there\t1\n")
    for names in (["play.txt"], ["code.py"], ["qa.txt"], ["qa.txt", "qb.txt"], ["play.txt", "code.py", "qa.txt"]):
        found = run(*(tmp_path / name for name in names), "--strict", "--against", tmp_path / "play.txt")
        assert "No problems found" in found.output and found.exit_code == 0, names
    (tmp_path / "again.txt").write_text((tmp_path / "play.txt").read_text())
    assert "same as another" in run(tmp_path / "play.txt", tmp_path / "code.py", tmp_path / "again.txt").output


def test_counts_have_the_names_of_what_they_count(tmp_path):
    for name in "abcde":
        (tmp_path / name).write_text(f"{name}\n" * 3)
    files = [tmp_path / name for name in "abcde"]
    assert "5 files: a, b, c, ...: 15 lines in 5 files" in run(*files).output
    assert "a and b: 6 lines in 2 files" in run("--plain", *files[:2]).output
    assert "a and b: 3 pairs" in run(*files[:2]).output
    for columns in ("1,2", "2,1"):
        (tmp_path / "a.tsv").write_bytes(b"one\teins\tx\r\ntwo\tzwei\tx\r\n")
        page = run(tmp_path / "a.tsv", "--columns", columns).output
        assert "a.tsv: 2 pairs" in page and "2 Windows line ends" in page
    (tmp_path / "b.tsv").write_text("one\teins\none\teins\n")
    assert "one ||| eins" in run(tmp_path / "b.tsv").output


@pytest.mark.parametrize("shape", ["files", "tsv", "jsonl", "text", "stories"])
def test_no_advice_that_is_followed_breaks_pairs_or_running_text(tmp_path, shape):
    """Every command is run on lines with everything that it is for; no line is lost but duplicate pairs as a whole."""
    odd = ["plain", "a\0b", "c\x07d", "e\u2028f\x85g", "h\ri", "j\r\rk", "l\ufeffm", "tab\tin", "", "ü 漢字", "plain"]
    assert f"more than {LONGEST_WORDS} words or {LONGEST_LETTERS} characters" in PROBLEMS["long"].what
    for kind, problem in PROBLEMS.items():
        fix = problem.fixes.get(shape, problem.fix)
        assert "sort" not in fix and ("iconv" not in fix or kind == "encoding")
        if " < old > new" in fix and kind != "encoding":
            rows = [f"{text}\t{number % 10}" for number, text in enumerate(odd)]
            (tmp_path / "old").write_bytes("".join(row + "\n" for row in rows).encode())
            command = (
                "LC_ALL=C awk" + fix.split("awk")[1]
                if "awk" in fix
                else fix[fix.index("tr -d" if "tr -d" in fix else "LC_ALL") :]
            )
            subprocess.run(["sh", "-c", command.split(" < old > new")[0] + " < old > new"], cwd=tmp_path, check=True)
            after = (tmp_path / "new").read_bytes().decode().split("\n")[:-1]
            kept = rows[:-1] if kind == "repeated" else rows
            assert [row.split("\t")[-1] for row in after] == [row.split("\t")[-1] for row in kept], kind
            assert after[0] == rows[0] and after[9] == rows[9]
    assert PROBLEMS["repeated"].fix.startswith("paste -d")


def test_removing_duplicate_pairs_as_advised_keeps_both_files_parallel(tmp_path):
    chance = random.Random(3)
    pairs = [(f"tab\t{chance.randrange(5)}", f"ü{chance.randrange(3)}\r") for _ in range(200)]
    write(tmp_path, [pair[0] for pair in pairs], [pair[1] for pair in pairs])
    command = PROBLEMS["repeated"].fix.replace("SOURCE", "a.en").replace("TARGET", "a.de")
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    sides = [(tmp_path / f"unique.{side}").read_bytes().decode().split("\n")[:-1] for side in ("source", "target")]
    assert list(zip(*sides, strict=True)) == list(dict.fromkeys(pairs))


def test_a_file_in_utf8_with_one_broken_line_is_not_to_be_converted(tmp_path):
    report = check_pairs(pair(tmp_path, None, changed(GERMAN, {9: "Straße".encode("latin1")})))
    assert report.findings["not utf-8"].count == 1 and "must not be converted" in PROBLEMS["not utf-8"].fix
    report = check_pairs(pair(tmp_path, None, [line.encode("latin1") for line in GERMAN]))
    assert report.findings["encoding"].count == sum(not line.isascii() for line in GERMAN)


def test_lines_in_another_language_are_found_and_rare_words_are_not_taken_for_one(tmp_path):
    rare = "Hopefully when I mix these I 'll still have eyebrows."
    report = check_pairs(
        pair(tmp_path, changed(ENGLISH[:2000], {70: rare, 90: "Он видит собаку в саду."}), GERMAN[:2000])
    )
    assert [one["line"] for one in report.findings["language"].examples] == [90]


def test_planted_lines_of_a_third_language_are_found_though_there_are_many_of_them(tmp_path):
    french = [phrase.target for phrase in regard.phrasebook("en", "fr", 500)]
    chance = random.Random(1)
    places = {place: chance.choice(french) for place in chance.sample(range(1, 6001), 120)}
    found = check_pairs(pair(tmp_path, changed(ENGLISH, places))).findings["language"]
    assert found.count >= 0.8 * len(places)
    assert all(one["line"] in places for one in found.examples)


def test_a_line_in_a_script_without_spaces_is_found(tmp_path):
    report = check_pairs(pair(tmp_path, changed(ENGLISH[:500], {90: "他在花园里看到一只狗。"}), GERMAN[:500]))
    assert [one["line"] for one in report.findings["language"].examples] == [90]


@pytest.mark.parametrize("kind", ["tsv", "jsonl"])
def test_pairs_in_one_file_are_looked_over_too(tmp_path, kind):
    rows = list(zip(changed(ENGLISH, {5: "a <i>tag</i>", 9: ""}), GERMAN, strict=True))
    lines = [f"{a}\t{b}" if kind == "tsv" else json.dumps({"en": a, "de": b}) for a, b in rows]
    path = tmp_path / f"a.{kind}"
    path.write_text("\n".join([*lines, "only one text"]) + "\n")
    told = json.loads(CliRunner().invoke(app, ["check", str(path), "--json"]).output)
    found = {finding["kind"]: finding["examples"][0]["line"] for finding in told["findings"]}
    assert found == {"markup": 5, "empty": 9, "columns": 6001}
    swapped = ["--columns", "2,1"] if kind == "tsv" else ["--keys", "de,en"]
    again = json.loads(CliRunner().invoke(app, ["check", str(path), "--json", *swapped]).output)
    assert again["lines"] == told["lines"] == 6000


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_of_a_folder_of_tables_the_file_and_its_line_are_named(tmp_path, kind):
    rows = list(zip(changed(ENGLISH, {2005: "a <i>tag</i>"}), GERMAN, strict=True))[:4000]
    rows[2600:3300] = zip(ENGLISH[2600:3300], GERMAN[2601:3301], strict=True)  # some of them in the next file
    rows[3500] = ("word " * 300, rows[3500][1])
    for number in range(4):
        path = tmp_path / "ab"[number // 2] / f"part-{number % 2}.{kind}"
        path.parent.mkdir(exist_ok=True)
        part = [("en", "de")] * (kind == "csv") + rows[1000 * number : 1000 * number + 1000]
        with path.open("w", newline="") as file:
            if kind == "csv":
                csv.writer(file).writerows(part)
            else:
                file.writelines(json.dumps({"en": en, "de": de}) + "\n" for en, de in part)
    with (tmp_path / "b" / f"part-1.{kind}").open("a") as file:
        file.write('{"en": "x"}\n')
    told = json.loads(run(tmp_path, "--glob", f"*.{kind}", "--json").output)
    found = {finding["kind"]: finding["examples"][0] for finding in told["findings"]}
    later = kind == "csv"  # the header is line 1
    places = {name: (one["file"], one["line"] - later) for name, one in found.items()}
    assert places["markup"] == (f"b/part-0.{kind}", 5) and places["long"] == (f"b/part-1.{kind}", 501)
    assert found["header"]["file"] == f"a/part-0.{kind}" if later else places["columns"][0] == f"b/part-1.{kind}"
    assert places["shift"][0] == f"b/part-0.{kind}" and abs(places["shift"][1] - 601) < 20
    assert f" of b/part-1.{kind}, " in found["shift"]["text"] and told["lines"] == 4000


def test_quotes_of_csv_in_a_file_with_tabs_are_found_and_read_when_the_advice_is_followed(tmp_path):
    rows = list(zip(ENGLISH, GERMAN, strict=True))[:200]
    rows[100] = ('He said "come" to me.', 'Er sagte "komm" zu mir.')
    rows[150] = ('"Come."', '"Komm." "Ja."')  # a quotation is no quoting
    with (tmp_path / "a.tsv").open("w", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n", quoting=csv.QUOTE_NONE, quotechar=None).writerows(rows)
    assert check_pairs(PairFiles.of(tmp_path / "a.tsv")).findings == {}
    with (tmp_path / "b.tsv").open("w", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(rows)
    found = check_pairs(PairFiles.of(tmp_path / "b.tsv")).findings["quoted"]
    assert found.count == 2 and found.examples[0]["line"] == 101 and "ends in .csv" in found.words("tsv")["fix"]
    read = read_pairs(PairFiles.of((tmp_path / "b.tsv").rename(tmp_path / "b.csv")))[0]
    assert [(one.source, one.target) for one in read] == rows


def test_a_tab_is_shown_as_an_arrow_and_options_of_other_shapes_are_refused(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("one\teins\n" * 3)
    page = run(path, "--columns", "3,1").output
    assert "a.tsv line 1: one→eins" in page and "\ufffd" not in page
    (tmp_path / "a.txt").write_text("Some text.\n")
    (tmp_path / "a.jsonl").write_text('{"de": "Ja.", "en": "Yes."}\n')
    for words in (["a.txt", "--columns", "1,2"], ["a.txt", "--keys", "de,en"], ["a.jsonl", "--columns", "1,2"]):
        refused = run(tmp_path / words[0], *words[1:])
        assert refused.exit_code == 1 and f"{words[1]} {words[2]} is for a file that ends in" in refused.output


def test_pairs_in_a_json_file_are_read_as_training_reads_them(tmp_path):
    path = tmp_path / "a.json"
    path.write_text(
        "".join(json.dumps({"en": e, "de": d}) + "\n" for e, d in zip(ENGLISH[:9], GERMAN[:9], strict=True))
    )
    assert "a.json: 9 pairs" in run(path, "--keys", "en,de").output
    assert "a.json: 9 lines" in run(path, "--plain").output


@pytest.mark.parametrize(("name", "words"), [
    ("a.tsv", ("--columns", "0,1")), ("a.tsv", ("--columns", "1,1")), ("a.jsonl", ("--keys", "de,de")),
])  # fmt: skip
def test_columns_and_keys_that_cannot_be_meant_are_refused_by_check_and_training(tmp_path, name, words):
    (tmp_path / name).write_text("one\teins\n" if name == "a.tsv" else '{"de": "eins", "en": "one"}\n')
    train = CliRunner().invoke(app, ["train", "translate", str(tmp_path / name), "--to", str(tmp_path / "m"), *words])
    for refused in (run(tmp_path / name, *words), train):
        assert (
            refused.exit_code == 1 and f"{words[0]} {words[1]}:" in refused.output and "must differ" in refused.output
        )


def test_one_is_not_counted_as_many(tmp_path):
    page = run(*write(tmp_path, ["a <b>tag</b>"], ["ein <b>Tag</b>"])).output
    assert "a.en and a.de: 1 pair\n" in page and "2 lines with HTML" in page
    (tmp_path / "a.txt").write_text("A line.\n")
    assert "a.txt: 1 line\n" in run(tmp_path / "a.txt").output


def test_a_training_begins_with_what_hurts(tmp_path):
    source, target = write(tmp_path, changed(ENGLISH[:200], {7: "a <i>tag</i>"}), GERMAN[:200])
    words = ["train", "translate", source, target, "--to", tmp_path / "m", "--steps", 2, "--workers", 1,
             "--set", "model.layers=1", "--set", "model.width=32", "--set", "text.vocab_size=300"]  # fmt: skip
    told = CliRunner().invoke(app, [str(word) for word in words])
    assert told.exit_code == 0 and "1 line with HTML tags or entities (a.en line 7)" in told.output


def test_duplicates_beyond_what_is_held_are_estimated_and_called_so(tmp_path, monkeypatch):
    """4,000 of 12,000 pairs are there twice, and 1,000 hashes are held."""
    monkeypatch.setattr("regard.text.check.Duplicates", lambda: Duplicates(most=1000))
    pairs = [f"a{n} b\tc{n} d" for n in range(8000)]
    (tmp_path / "p.tsv").write_text("\n".join([*pairs, *pairs[:4000]]))
    report = check_pairs(PairFiles.of(tmp_path / "p.tsv"))
    found = report.findings["repeated"]
    assert found.is_estimate and 3000 < found.count < 5000
    assert f"About {found.count} (estimated) duplicate pairs" in describe(report)
