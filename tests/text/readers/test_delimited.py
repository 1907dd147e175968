"""CSV, TSV and JSON Lines: what real programs write is read right, and a header is never taken for text in silence."""

import csv
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from regard.cli.commands import app
from regard.config import RunConfig
from regard.errors import ConfigError, CorpusError
from regard.families.texts import gather_texts
from regard.families.translate.recipe import gather
from regard.families.write.recipe import WRITE
from regard.text.corpus import PairFiles, guess_languages, read_pairs
from regard.text.labels import LabelFiles

PAIRS = [("Ein Haus am See.", "A house by the lake."), ("Ein Hund, der bellt.", "A dog that barks.")]
CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0\r\n\ufeff"))


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def read(path, **options):
    return [(pair.source, pair.target) for pair in read_pairs(PairFiles.of(path, **options))[0]]


def as_csv(rows, **options):
    out = io.StringIO(newline="")
    csv.writer(out, **options).writerows(rows)
    return out.getvalue()


@pytest.mark.parametrize(("name", "content", "words"), [
    ("a.csv", "German,English\nJa,Yes\nHallo, Welt,Hello, world\n", r"line 3 has 4 columns, and the header has 2"),
    ("a.csv", "Ja,Yes\nHallo, Welt,Hello, world\n", r"line 2 has 4 columns, and the first row has 2"),
    ("a.tsv", "Ja\tYes\nHallo\tWelt\tHello world\n", r"line 2 has 3 columns, and the first row has 2.*remove the tab"),
    ("a.tsv", "Ja\tYes\n" + "\t" * 20_000, r"line 2 has more than 10000 columns"),
])  # fmt: skip
def test_a_row_with_more_columns_than_there_are_is_refused_as_text_would_be_lost(tmp_path, name, content, words):
    with pytest.raises(CorpusError, match=words):
        read(write(tmp_path / name, content))
    write(tmp_path / "b.tsv", "Ja\tYes\nNein\tNo\t\t\n")  # empty ones lose nothing
    assert read(tmp_path / "b.tsv") == [("Ja", "Yes"), ("Nein", "No")]


@pytest.mark.parametrize("end", ["\r", "\r\n", "\n"])
@pytest.mark.parametrize("has_header", [False, True])
def test_rows_end_where_a_line_ends_also_in_files_of_old_macs(tmp_path, end, has_header):
    rows = [("German", "English")] * has_header + PAIRS
    path = write(tmp_path / "a.tsv", end.join("\t".join(row) for row in rows) + "\n")
    assert read(path, **({"columns": ("German", "English")} if has_header else {})) == PAIRS


def test_a_comma_within_a_text_is_not_the_delimiter(tmp_path):
    rows = [("Hallo, Welt", "Hello, world"), ("Ja, gut", "Yes, fine"), ("Nein, danke", "No, thanks")]
    assert read(write(tmp_path / "a.csv", "".join(f"{de};{en}\n" for de, en in rows))) == rows


def test_files_of_a_folder_whose_columns_are_in_another_order_need_names(tmp_path):
    write(tmp_path / "1.tsv", "German\tEnglish\nHallo Welt\tHello world\nJa, gerne.\tYes, gladly.\n")
    write(tmp_path / "2.tsv", "English\tGerman\nThe dog\tDer Hund\nNo, thanks.\tNein, danke.\n")
    for columns in (None, (1, 2)):
        with pytest.raises(CorpusError, match=r"2\.tsv has the columns English, German, and .*by name with --columns"):
            read(tmp_path, glob=["*.tsv"], columns=columns)
    found = read(tmp_path, glob=["*.tsv"], columns=("German", "English"))
    assert ("Der Hund", "The dog") in found and ("Hallo Welt", "Hello world") in found


@given(st.lists(st.tuples(CELLS, CELLS).filter(lambda row: all(map(str.strip, row))), min_size=3))
@pytest.mark.parametrize("options", [{}, {"delimiter": ";"}, {"lineterminator": "\n", "quoting": csv.QUOTE_ALL}])
def test_what_python_writes_as_csv_is_read(tmp_path_factory, options, rows):
    path = write(tmp_path_factory.mktemp("csv") / "a.csv", as_csv([("source", "target"), *rows], **options))
    try:
        assert read(path, columns=("source", "target")) == rows
    except CorpusError as problem:
        assert "binary" in str(problem) or "UTF-16" in str(problem)


def test_quotes_newlines_marks_and_mixed_line_ends_are_read_as_meant(tmp_path):
    content = b'\xef\xbb\xbfde,en\r\n"Er sagte: ""Ja, gut.""","He said: ""Yes."""\n'
    content += b'"Zwei\r\nZeilen","Two\nlines"\rOhne,Without\r\n'
    path = write(tmp_path / "a.csv", content)
    pairs, left_out = read_pairs(PairFiles.of(path))
    assert [(pair.source, pair.target) for pair in pairs] == [
        ('Er sagte: "Ja, gut."', 'He said: "Yes."'), ("Zwei Zeilen", "Two lines"), ("Ohne", "Without"),
    ]  # fmt: skip
    assert [pair.line for pair in pairs][:2] == [2, 3]
    assert left_out[0].reason == "a header" and "de, en" in left_out[0].example


@pytest.mark.parametrize("first", ["sep=;\r\n", ""])
def test_excel_in_german_separates_by_semicolons(tmp_path, first):
    rows = [("Quelle, genau", "Source, precisely"), ("Ja, ja", "Yes"), ("Nein", "No, no")]
    assert read(write(tmp_path / "a.csv", first + as_csv(rows, delimiter=";"))) == rows


def test_columns_are_chosen_by_number_or_by_the_names_of_the_header(tmp_path):
    rows = [("id", "German", "English", "license"), *((n, *pair, "CC-BY") for n, pair in enumerate(PAIRS))]
    for path in (write(tmp_path / "a.csv", as_csv(rows)), write(tmp_path / "a.tsv", as_csv(rows, delimiter="\t"))):
        for chosen in ((2, 3), ("German", "English"), ("german", "english"), ("German", 3)):
            assert read(path, columns=chosen) == PAIRS
        assert read(path, columns=("English", "German")) == [pair[::-1] for pair in PAIRS]
        with pytest.raises(CorpusError, match="has the columns id, German, English, license; say which two"):
            read(path)
        with pytest.raises(CorpusError, match=r"has no column 'french'; it has id, German"):
            read(path, columns=("french", "English"))
        with pytest.raises(CorpusError, match=r"has 4 columns .*, and column 7 is wanted"):
            read(path, columns=(1, 7))


@pytest.mark.parametrize(
    "header", ["de\ten", "source\ttarget", "English\tDeutsch", "source_text\ttarget_text", "en-US\tde-DE"]
)
def test_a_header_of_a_tsv_is_left_out_and_reported(tmp_path, header):
    path = write(tmp_path / "a.tsv", f"{header}\n" + "".join("\t".join(pair) + "\n" for pair in PAIRS))
    pairs, left_out = read_pairs(PairFiles.of(path))
    assert [(pair.source, pair.target) for pair in pairs] == PAIRS
    assert [(one.reason, one.count) for one in left_out] == [("a header", 1)]
    found = CliRunner().invoke(app, ["check", str(path), "--strict"])
    assert found.exit_code == 0 and "1 header in the first line" in found.output


def test_what_may_be_a_header_is_read_and_reported_with_the_way_to_leave_it_out(tmp_path):
    path = write(tmp_path / "a.tsv", "frage\tantwort\n" + "".join("\t".join(pair) + "\n" for pair in PAIRS))
    assert read(path) == [("frage", "antwort"), *PAIRS]
    assert "may be a header" in CliRunner().invoke(app, ["check", str(path)]).output
    assert read(path, columns=("frage", "antwort")) == PAIRS


@pytest.mark.parametrize("rows", [
    [("es", "it"), ("sie", "she"), ("Haus", "house")],  # words, though they are codes of languages
    [("German", "Deutsch"), ("English", "Englisch"), ("French", "Französisch")],  # a glossary of languages
    [("A house.", "Ein Haus."), ("A dog.", "Ein Hund.")],
])  # fmt: skip
def test_a_first_row_of_text_is_no_header(tmp_path, rows):
    assert read(write(tmp_path / "a.tsv", "".join("\t".join(row) + "\n" for row in rows))) == rows
    assert read(write(tmp_path / "a.csv", as_csv(rows))) == rows


def test_a_header_above_numbers_is_one_whatever_its_names(tmp_path):
    path = write(
        tmp_path / "a.csv", as_csv([("", "frage", "antwort", "nr"), *((n, *p, n) for n, p in enumerate(PAIRS))])
    )
    assert read(path, columns=(2, 3)) == PAIRS


@pytest.mark.parametrize(("content", "message"), [
    ('a,b\n"open,c\nd,e\n', "a.csv line 2 is not a row of CSV"),
    ('"a"x,b\n', "a.csv line 1 is not a row of CSV.* a quote within a text in quotes is doubled"),
    ("a,b\nc\n", "a.csv line 2 has 1 column, and column 2 is wanted; columns are separated by ','"),
    ("a,b\nsch\udcf6n,c\n", "a.csv line 2 is not UTF-8"),
    ("", "is empty"),
])  # fmt: skip
def test_rows_that_are_none_are_named(tmp_path, content, message):
    path = write(tmp_path / "a.csv", content.encode(errors="surrogateescape"))
    with pytest.raises(CorpusError, match=message):
        read(path)


def test_a_quote_that_is_never_closed_does_not_take_in_the_whole_file(tmp_path):
    path = write(tmp_path / "a.csv", 'a,b\n"open,b\n' + "text,text\n" * 2_000_000)
    with pytest.raises(CorpusError, match=r"a\.csv line 2 has a row of more than 16 MB; close the quote"):
        read(path)


def test_objects_within_objects_have_their_keys(tmp_path):
    entries = [{"id": n, "translation": {"de": de, "en": en}} for n, (de, en) in enumerate(PAIRS)]
    path = write(tmp_path / "a.jsonl", "".join(json.dumps(entry) + "\n" for entry in entries))
    for keys in (("de", "en"), ("translation.de", "translation.en")):
        files = PairFiles.of(path, keys=keys)
        assert read(path, keys=keys) == PAIRS and guess_languages(files) == ("de", "en")
    with pytest.raises(CorpusError, match=r"has the keys id, translation\.de, translation\.en; say which two"):
        read(path)


def test_a_missing_side_is_left_out_and_counted(tmp_path):
    path = write(tmp_path / "a.jsonl", '{"de": "Ja.", "en": "Yes."}\n{"de": null, "en": "No."}\n')
    pairs, left_out = read_pairs(PairFiles.of(path))
    assert len(pairs) == 1 and left_out[0].count == 1 and left_out[0].example.endswith("line 2")


@pytest.mark.parametrize("row", [
    '{"de": "Nein.", "en": "No.", "en": "Nope."}', '{"de": "Nein.", "en": "No.", "\\u0064e": ""}',
    '{"t": {"de": "Nein.", "en": "No.", "en": "Nope."}}', '{"t": {"de": "a", "en": "b"}, "t": {"de": "c", "en": "d"}}',
])  # fmt: skip
def test_a_key_that_is_there_twice_is_refused_where_it_is_read(tmp_path, row):
    path, keys = tmp_path / "a.jsonl", ("t.de", "t.en") if '"t"' in row else ("de", "en")
    for number, first in ((1, row), (2, '{"de": "Ja.", "en": "Yes.", "id": 1, "id": 2, "t": {"de": "x", "en": "y"}}')):
        write(path, f"{first}\n{row}\n")
        with pytest.raises(CorpusError, match=rf"a\.jsonl line {number} has the key '.*' twice, .*; make two lines"):
            read(path, keys=keys)
        assert "has the key" in CliRunner().invoke(app, ["check", str(path), "--keys", ",".join(keys)]).stdout
        if keys[0] == "de":
            with pytest.raises(CorpusError, match=rf"line {number} has the key '.*' twice"):
                list(LabelFiles.of(path, keys))
    write(path, f"{first}\n" * 2)
    assert len(read(path, keys=keys)) == 2  # of what is not read, nothing is lost


def test_a_list_in_json_is_refused_with_the_command_that_makes_lines_of_it(tmp_path):
    with pytest.raises(CorpusError, match=r"jq -c '\.\[\]' a\.json > a\.jsonl"):
        read(write(tmp_path / "a.json", '[\n{"de": "Ja.", "en": "Yes."}]\n'))


def test_columns_and_keys_are_refused_where_they_choose_nothing(tmp_path):
    for options in ({"columns": (1, 2)}, {"keys": ("a", "b")}):
        with pytest.raises(ConfigError, match="is for a file that ends in"):
            gather("a.de", "a.en", **options)
    with pytest.raises(ConfigError, match="cannot go together"):
        gather("a.csv", columns=("a", "b"), keys=("a", "b"))
    with pytest.raises(CorpusError, match="two are wanted"):
        gather("a.csv", columns=("a",))


def test_a_header_of_running_text_is_reported_when_training_begins(tmp_path):
    write(tmp_path / "a.csv", "id,text\n" + "".join(f"{n},a line of text number {n}\n" for n in range(50)))
    files, _ = gather_texts(tmp_path / "a.csv", columns="text")
    corpus = WRITE.read(files, None, RunConfig())
    assert [(one.reason, one.count, one.unit) for one in corpus.left_out] == [("a header", 1, "lines")]


def test_what_is_left_out_of_a_folder_is_named_by_its_file(tmp_path):
    (tmp_path / "d").mkdir()
    write(tmp_path / "d" / "a.tsv", "a\tb\nc\td\n")
    write(tmp_path / "d" / "b.tsv", "e\tf\n\tg\n")
    _, left_out = read_pairs(PairFiles.of(tmp_path / "d", glob=["*.tsv"]))
    assert left_out[0].example == f"{tmp_path / 'd' / 'b.tsv'} line 2"


def test_a_table_of_a_header_alone_has_no_rows(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("english\tgerman\n")
    with pytest.raises(CorpusError, match=r"pairs\.tsv"):
        read_pairs(PairFiles.of(path))
    path.write_text("Hello\tHallo\n")
    assert len(read_pairs(PairFiles.of(path))[0]) == 1
