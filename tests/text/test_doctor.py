"""The doctor finds what was put into a corpus, names the line, and finds nothing in a clean one."""

import gzip
import json
import os
import random
import resource
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import regard
from regard.cli.commands import app
from regard.errors import CorpusError
from regard.text.ailments import AILMENTS
from regard.text.corpus import PairFiles, read_lines, read_pairs
from regard.text.doctor import check_pairs, check_text, hashes_of
from regard.text.running import TextFiles, read_documents
from regard.text.shifts import UNRELATED, find_shifts

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


@pytest.mark.parametrize("place", [300, 2500, 5000])
def test_the_place_where_lines_shift_is_named(tmp_path, place):
    report = check_pairs(pair(tmp_path, [*ENGLISH[:place], "An extra line here.", *ENGLISH[place:]]))
    found = report.findings["unequal"].examples[0]
    assert found["file"] == "a.en" and abs(found["line"] - place) <= 40 and "6001 lines against 6000" in found["text"]


@given(st.lists(st.binary(max_size=30).filter(lambda raw: b"\n" not in raw), min_size=1, max_size=20))
def test_no_bytes_make_the_doctor_stumble(tmp_path_factory, raws):
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
    for kind, ailment in AILMENTS.items():
        fix = ailment.fixes.get(shape, ailment.fix)
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
    assert AILMENTS["repeated"].fix.startswith("paste -d")


def test_removing_duplicate_pairs_as_advised_keeps_both_files_parallel(tmp_path):
    chance = random.Random(3)
    pairs = [(f"tab\t{chance.randrange(5)}", f"ü{chance.randrange(3)}\r") for _ in range(200)]
    write(tmp_path, [pair[0] for pair in pairs], [pair[1] for pair in pairs])
    command = AILMENTS["repeated"].fix.replace("SOURCE", "a.en").replace("TARGET", "a.de")
    subprocess.run(["sh", "-c", command], cwd=tmp_path, check=True)
    sides = [(tmp_path / f"unique.{side}").read_bytes().decode().split("\n")[:-1] for side in ("source", "target")]
    assert list(zip(*sides, strict=True)) == list(dict.fromkeys(pairs))


def test_a_file_in_utf8_with_one_broken_line_is_not_to_be_converted(tmp_path):
    report = check_pairs(pair(tmp_path, None, changed(GERMAN, {9: "Straße".encode("latin1")})))
    assert report.findings["not utf-8"].count == 1 and "must not be converted" in AILMENTS["not utf-8"].fix
    report = check_pairs(pair(tmp_path, None, [line.encode("latin1") for line in GERMAN]))
    assert report.findings["encoding"].count == sum(not line.isascii() for line in GERMAN)


@pytest.mark.parametrize("moved", [1, -1, 3, -20, 20])
def test_a_shift_in_the_middle_of_files_of_equal_length_is_found(tmp_path, moved):
    extra = ["Das ist eine Zeile mehr."] * abs(moved)
    target = (
        [*GERMAN[:1000], *extra, *GERMAN[1000:2500]]
        if moved > 0
        else [*GERMAN[:1000], *GERMAN[1000 - moved : 2500], *extra]
    )
    report = check_pairs(pair(tmp_path, ENGLISH[:2500], target[:2500]))
    found = report.findings["shift"]
    assert abs(found.examples[0]["line"] - 1001) <= 20 and abs(found.count - 1500) <= 40
    assert (
        f"translations are {abs(moved)} lines further {'down' if moved > 0 else 'up'} in a.de"
        in found.examples[0]["text"]
    )


def test_a_side_that_was_sorted_or_shuffled_is_found_and_shuffled_pairs_are_not():
    order = random.Random(1).sample(range(3000), 3000)
    assert (find_shifts(ENGLISH[:3000], sorted(GERMAN[:3000])) == UNRELATED).mean() > 0.9
    assert not find_shifts([ENGLISH[n] for n in order], [GERMAN[n] for n in order]).any()
    assert not find_shifts(["1 2 3"] * 500, ["3 2 1"] * 500).any()
    assert not find_shifts([""] * 500, [""] * 500).any() and not len(find_shifts([], []))


def test_files_whose_names_are_swapped_and_sides_unlike_those_to_validate_on_are_found(tmp_path):
    source, target = write(tmp_path, GERMAN[:500], ENGLISH[:500])
    assert "by its name or key it is en, by its words de" in run(source, target).output
    (tmp_path / "valid").mkdir()
    valid = write(tmp_path / "valid", ENGLISH[500:700], GERMAN[500:700])
    for name, words in (("good", (valid[0], valid[1])), ("bad", (valid[1], valid[0]))):
        source, target = write(tmp_path, ENGLISH[:500], GERMAN[:500])
        page = run(source, target, "--against", words[0], "--against", words[1]).output
        assert ("the other way round" in page) == (name == "bad")


def test_lines_in_another_language_are_found_and_rare_words_are_not_taken_for_one(tmp_path):
    rare = "Hopefully when I mix these I 'll still have eyebrows."
    report = check_pairs(
        pair(tmp_path, changed(ENGLISH[:2000], {70: rare, 90: "Он видит собаку в саду."}), GERMAN[:2000])
    )
    assert [one["line"] for one in report.findings["language"].examples] == [90]


MEMORY = 1_200_000_000  # of addresses, for a check that imports numpy


@pytest.mark.parametrize("name", ["bomb.gz", "line.gz", "line.txt"])
def test_a_line_without_end_takes_bounded_memory(tmp_path, name):
    path = tmp_path / name
    if name.endswith("gz"):
        with gzip.open(path, "wb", compresslevel=9) as file:
            for _ in range(30):
                file.write((b"a" * 1023 + (b"\n" if name == "bomb.gz" else b"a")) * 1024)
    else:
        with path.open("wb") as file:
            file.truncate(3 * 2**30)  # holes: NUL bytes without end
    other = tmp_path / "other.txt"
    other.write_text("a\n")
    for words in ([path], [path, other]):
        done = subprocess.run(
            [sys.executable, "-m", "regard", "check", *map(str, words)], capture_output=True, text=True, timeout=120,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY)), check=False,
        )  # fmt: skip
        assert done.returncode == 1 and "Training would stop" in done.stdout and "Traceback" not in done.stderr, done
        assert name in done.stdout.split("Training would stop")[1]


def test_pipes_and_devices_are_refused_with_the_remedy(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero"):
        found = run(path)
        assert found.exit_code == 1 and "write it to a file first" in found.output
        with pytest.raises(CorpusError, match="read more than once"):
            list(read_lines(tmp_path / "pipe"))


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


@pytest.mark.parametrize(("raw", "kind", "said"), [
    (b"a\0b\n", "nul", "bad.txt line 51 has a NUL byte"),
    ("Straße\n".encode("latin1"), "encoding", "bad.txt line 51 is not UTF-8"),
    ("naïve ".encode("latin1") * 3 + b"\0\n", "nul", "bad.txt line 51 is not UTF-8"),
])  # fmt: skip
@pytest.mark.parametrize("before", [50, 0])
def test_damaged_text_in_a_folder_is_named_by_its_line_as_if_it_were_given(tmp_path, raw, kind, said, before):
    (tmp_path / "good.txt").write_text("Good text.\n" * 20)
    (tmp_path / "bad.txt").write_bytes(b"A line of text.\n" * before + raw + b"And another one.\n" * 9)
    said = said.replace("51", str(before + 1))
    found = run(tmp_path)
    assert found.exit_code == 1 and said in found.output and f"bad.txt line {before + 1}: " in found.output
    assert kind in {one["kind"] for one in json.loads(run(tmp_path, "--json").output)["findings"]}
    with pytest.raises(CorpusError, match=said):
        read_documents(TextFiles.of(tmp_path))


def test_every_file_of_a_folder_that_is_not_read_is_named_with_the_reason(tmp_path):
    texts = tmp_path / "t"
    texts.mkdir()
    (texts / "good.txt").write_text("Good text.\n" * 20)
    (texts / "thai.txt").write_text("ภาษาไทย" * 1000)
    (texts / ".hidden").write_text("hidden\n")
    assert run(texts, "--strict").exit_code == 0 and "1 hidden files" in run(texts).output
    (tmp_path / "elsewhere").mkdir()
    (texts / "folder").symlink_to(tmp_path / "elsewhere")
    (texts / "noise.bin").write_bytes(random.Random(1).randbytes(3000))
    (texts / "paper.pdf").write_bytes(b"%PDF-1.4\n" + b"1 0 obj\n" * 900)
    (texts / "wide.txt").write_bytes("Text.\n".encode("utf-16-le") * 20)
    (texts / "packed.gz").write_bytes(gzip.compress(b"Text.\n" * 20)[:-20])
    (texts / "empty.txt").write_text("")
    found = run(texts)
    assert found.exit_code == 0 and run(texts, "--strict").exit_code == 1
    assert "6 files of the folder that are not read" in found.output
    for name, why in (("folder", "a link"), ("noise.bin", "binary"), ("paper.pdf", "binary"), ("wide.txt", "binary"),
                      ("packed.gz", "cannot be read"), ("empty.txt", "empty")):  # fmt: skip
        assert f"{texts / name}: {why}" in found.output
    (texts / "marked.txt").write_text("Text.\n" * 20, encoding="utf-16")
    found = run(texts)
    assert found.exit_code == 1 and "marked.txt is UTF-16" in found.output and "noise.bin: binary" in found.output


def test_a_tab_is_shown_as_an_arrow_and_options_of_other_shapes_are_refused(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("one\teins\n" * 3)
    page = run(path, "--columns", "3,1").output
    assert "a.tsv line 1: one→eins" in page and "\ufffd" not in page
    (tmp_path / "a.txt").write_text("Some text.\n")
    for words in (["a.txt", "--columns", "1,2"], ["a.txt", "--keys", "de,en"], ["a.tsv", "--keys", "de,en"]):
        refused = run(tmp_path / words[0], *words[1:])
        assert refused.exit_code == 1 and f"{words[1]} {words[2]} is for pairs in a" in refused.output


@pytest.mark.parametrize("kind", ["files", "tsv"])
def test_what_a_shift_brings_about_is_not_reported_within_it(tmp_path, kind):
    long = "A very long line that says much about many things, one after the other, " * 4
    odd = {n: (long + str(n), long.replace("A very", "Eine sehr") + str(n)) for n in range(20, 2500, 40)}
    rows = [odd.get(n, row) for n, row in enumerate(zip(ENGLISH[:2500], GERMAN[:2500], strict=True))]
    rows[10] = ("Yes.", "Ja, " + "das ist wirklich ganz genau so " * 8)
    target = [row[1] for row in rows]
    target = [*target[:1000], "Das ist eine Zeile mehr.", *target[1000:-1]]
    files = pair(tmp_path, [row[0] for row in rows], target)
    if kind == "tsv":
        (tmp_path / "a.tsv").write_text("".join(f"{row[0]}\t{mine}\n" for row, mine in zip(rows, target, strict=True)))
        files = PairFiles(tmp_path / "a.tsv")
    report = check_pairs(files)
    assert abs(report.findings["shift"].count - 1500) <= 20
    assert [one["line"] for one in report.findings["ratio"].examples] == [11] and report.findings["ratio"].count == 1
    fix = report.findings["shift"].words(report.shape)["fix"]
    assert ("both files" in fix) == (kind == "files")


def test_a_training_begins_with_what_hurts(tmp_path):
    source, target = write(tmp_path, changed(ENGLISH[:200], {7: "a <i>tag</i>"}), GERMAN[:200])
    words = ["train", "translate", source, target, "--to", tmp_path / "m", "--steps", 2, "--workers", 1,
             "--set", "model.layers=1", "--set", "model.width=32", "--set", "text.vocab_size=300"]  # fmt: skip
    told = CliRunner().invoke(app, [str(word) for word in words])
    assert told.exit_code == 0 and "1 lines with HTML tags or entities (a.en line 7)" in told.output
