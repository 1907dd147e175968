"""TMX: translation memories as real programs export them are read right; hostile XML is refused in bounded memory."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from limits import run_within
from lxml import etree

from regard.config import RunConfig
from regard.errors import CorpusError
from regard.families.translate.recipe import TRANSLATE
from regard.text.check import check_pairs
from regard.text.corpus import PairFiles, guess_languages, read_pairs
from regard.text.running import TextFiles

HEAD = '<?xml version="1.0"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"><header srclang="de"/><body>\n'
END = "</body></tmx>\n"
UNIT = '<tu><tuv xml:lang="de"><seg>Ja.</seg></tuv><tuv xml:lang="en"><seg>Yes.</seg></tuv></tu>\n'
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"), min_size=1)


def unit(**texts):
    sides = (f'<tuv xml:lang="{name.replace("_", "-")}"><seg>{text}</seg></tuv>' for name, text in texts.items())
    return f"<tu>{''.join(sides)}</tu>\n"


def write(folder, body, head=HEAD, encoding="utf-8", name="a.tmx"):
    path = folder / name
    path.write_bytes((head + body + END).encode(encoding))
    return path


def read(path, **options):
    return [(pair.source, pair.target) for pair in read_pairs(PairFiles.of(path, **options))[0]]


@pytest.mark.parametrize("encoding", ["shift_jis", "foo", "rot13", "punycode", "undefined"])
def test_an_encoding_that_the_parser_lacks_is_refused_in_words(tmp_path, encoding):
    path = write(tmp_path, UNIT, HEAD.replace("?>", f' encoding="{encoding}"?>'))
    with pytest.raises(CorpusError, match=r"a\.tmx line \d+ (names an encoding|is not XML).*"):
        read(path)


def test_defaults_of_attributes_are_not_filled_in(tmp_path):
    names = "".join(f'<!ATTLIST p a{number} CDATA "">' for number in range(9000))
    path = write(tmp_path, UNIT + "<p/>" * 20_000, f'<?xml version="1.0"?><!DOCTYPE tmx [{names}]><tmx><body>')
    with pytest.raises(CorpusError, match=r"declares attributes of <p>; .*leave the DTD out"):
        read(path)


@given(st.lists(st.tuples(TEXTS, TEXTS).filter(lambda row: all(map(str.strip, row))), min_size=1))
def test_what_another_program_writes_is_read(tmp_path_factory, rows):
    root = etree.Element("tmx", version="1.4")
    body = etree.SubElement(root, "body")
    for row in rows:
        made = etree.SubElement(body, "tu")
        for language, text in zip(("de", "en"), row, strict=True):
            side = etree.SubElement(made, "tuv")
            side.set("{http://www.w3.org/XML/1998/namespace}lang", language)
            etree.SubElement(side, "seg").text = text
    folder = tmp_path_factory.mktemp("tmx")
    for encoding in ("utf-8", "utf-16"):
        etree.ElementTree(root).write(folder / "a.tmx", encoding=encoding, xml_declaration=True)
        assert read(folder / "a.tmx") == rows


@pytest.mark.parametrize(("seg", "text"), [
    ("A &amp; B &lt; C &#228; &#x1F600;", "A & B < C ä 😀"),
    ("<![CDATA[a < b & c]]>", "a < b & c"),
    ("a&nbsp;b", "a\u00a0b"),
    ('Press <bpt i="1">&lt;b&gt;</bpt>OK<ept i="1">&lt;/b&gt;</ept>.', "Press OK."),
    ('One<ph x="1">&lt;br/&gt;</ph>two', "One two"),
    ('One <ph x="1"><sub>a note</sub></ph>two', "One two"),
    ("A <hi>marked</hi> word <it pos='begin'>&lt;i&gt;</it>here<ut>{\\b}</ut>.", "A marked word here."),
    ("\n      Two\n      lines\n    ", "Two lines"),
    ("a<!-- no text -->b", "ab"),
    ("&amp;lt;b&amp;gt;", "&lt;b&gt;"),
])  # fmt: skip
def test_entities_and_inline_tags_leave_the_text(tmp_path, seg, text):
    assert read(write(tmp_path, unit(de=seg, en="x"))) == [(text, "x")]


def test_missing_sides_are_left_out_and_counted(tmp_path):
    path = write(tmp_path, UNIT + unit(de="Nur hier.") + unit(de="Leer.", en="") + unit(en="Only here."))
    pairs, left_out = read_pairs(PairFiles.of(path))
    assert len(pairs) == 1 and left_out[0].count == 3 and left_out[0].example.endswith("line 5")
    assert guess_languages(PairFiles.of(path)) == ("de", "en")


def test_further_texts_of_a_language_in_one_unit_are_counted(tmp_path):
    side = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'
    several = "".join(side.format(*one) for one in (("de", "Nein."), ("en", "No."), ("en", "Nope."), ("en", "Nay.")))
    path = write(tmp_path, UNIT + f"<tu>{several}</tu>\n" + unit(de="Nur hier.") + unit(de="Leer.", en="") + UNIT)
    pairs, left_out = read_pairs(PairFiles.of(path))
    assert [pair.target for pair in pairs] == ["Yes.", "No.", "Yes."]
    assert [(one.reason[:6], one.count, one.unit) for one in left_out] == [("second", 2, "texts"), ("empty ", 2, None)]
    assert left_out[0].example == f"{path} line 5" and left_out[1].example == f"{path} line 6"
    examples = TRANSLATE.read(PairFiles.of(path), None, RunConfig()).examples
    assert [one.target for one in examples.listed()] + [one.target for one in examples.valid] == ["No.", "Yes.", "Yes."]
    assert examples.left_out == left_out == TRANSLATE.read(PairFiles.of(path), PairFiles.of(path), RunConfig()).left_out
    found = check_pairs(PairFiles.of(path))
    assert found.lines == 5 and found.findings["second"].count == 2 and found.findings["empty"].count == 2
    assert found.findings["second"].examples[0] == {"file": "a.tmx", "line": 5, "text": "Nope."}
    twice = write(tmp_path, UNIT + f"<tu>{side.format('de', 'Eins.') + side.format('de', 'Zwei.')}</tu>", name="b.tmx")
    assert sorted(one.count for one in read_pairs(PairFiles.of(twice))[1]) == [1, 1]  # and none without a word
    assert [*TextFiles.of(path, "en").texts()] == ["Yes.", "No.", "Nope.", "Nay.", "", "", "Yes."]  # of one language


def test_varieties_of_a_chosen_language_are_counted_too(tmp_path):
    path = write(tmp_path, unit(de="Ja.", en_US="Yes.", en_GB="Aye.", fr="Oui."))
    for keys, count in ((("de", "en"), 1), (("en-GB", "en-US"), 0), (("en", "en-GB"), 0), (("fr", "de"), 0)):
        pairs, left_out = read_pairs(PairFiles.of(path, keys=keys))
        assert len(pairs) == 1 and sum(one.count for one in left_out) == count, keys


def test_languages_are_chosen_and_varieties_belong_to_them(tmp_path):
    body = unit(de_DE="Ja.", en_US="Yes.", fr="Oui.") + unit(EN_GB="No.", de_DE="Nein.", fr="Non.")
    path = write(tmp_path, body)
    assert read(path, keys=("de", "en")) == [("Ja.", "Yes."), ("Nein.", "No.")]
    assert read(path, keys=("fr", "en-US")) == [("Oui.", "Yes.")]
    with pytest.raises(CorpusError, match=r"has the languages de-DE, en-US, fr, EN-GB; say which two .* --keys"):
        read(path)
    with pytest.raises(CorpusError, match=r"has no language 'it'; it has de-DE, en-US, fr, EN-GB"):
        read(path, keys=("it", "en"))


def test_a_language_may_come_late(tmp_path):
    path = write(tmp_path, UNIT * 1500 + unit(de="Ja.", fr="Oui."))
    assert read(path, keys=("de", "fr")) == [("Ja.", "Oui.")]
    with pytest.raises(CorpusError, match=r"line 1504 has the language 'fr', and the units before have de, en"):
        read(path)


@pytest.mark.parametrize(("content", "message"), [
    (HEAD + UNIT + "<tu><tuv>", r"line 5 is not XML that can be read \(no element found\)"),
    (HEAD + UNIT + "<tu></tuv>" + END, r"line 5 .*mismatched tag"),
    (HEAD + "<tu><tuv><seg>Ja.</seg></tuv></tu>" + END, "line 4 has a text without a language"),
    (HEAD + unit(de="&#1;", en="x") + END, "line 4 .*invalid character"),
    (HEAD + unit(de="&unknown;", en="x") + END, "line 4 has the entity &unknown;"),
    ("<map version='1.0'/>", "line 1 begins with <map>; a translation memory in TMX begins with <tmx>"),
    (HEAD + END, "has no translation unit"),
    ("Just text.", "line 1 is not XML"),
    ("", "not XML"),
])  # fmt: skip
def test_what_is_not_tmx_is_refused_with_its_line(tmp_path, content, message):
    (tmp_path / "a.tmx").write_text(content)
    with pytest.raises(CorpusError, match=message):
        read(tmp_path / "a.tmx")


BOMB = '<!DOCTYPE tmx [<!ENTITY a "ha">' + "".join(
    f'<!ENTITY {after} "{f"&{before};" * 10}">' for before, after in zip("abcdefghi", "bcdefghij", strict=True)
)
HOSTILE = {
    "laughs": BOMB + "]><tmx><body>" + unit(de="&j;", en="x"),
    "parameter": '<!DOCTYPE tmx [<!ENTITY % a "ha">]><tmx><body>',
    "external": '<!DOCTYPE tmx [<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx><body>' + unit(de="&a;", en="x"),
    "deep": "<tmx><body>" + "<a>" * 1000,
    "text": "<tmx><body><tu><tuv xml:lang='de'><seg>" + "word " * 10_000_000,
    "comment": "<tmx><body><!-- " + "word " * 10_000_000,
    "attribute": "<tmx><body><tu a='" + "word " * 10_000_000,
    "names": "<tmx><body>" + "".join(f"<n{number}/>" for number in range(2_000_000)),
    "codes": "<tmx><body><tu><tuv xml:lang='de'><seg>" + "<ph/>" * 5_000_000,
    "sides": "<tmx><body><tu>" + "".join(f"<tuv lang='l{n}'><seg>a</seg></tuv>" for n in range(1_000_000)),
    "languages": "<tmx><body>" + "".join(f"<tu><tuv lang='l{n}'><seg>a</seg></tuv></tu>" for n in range(100_000)),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_xml_is_refused_in_bounded_memory(tmp_path, kind):
    path = tmp_path / "a.tmx"
    path.write_text(HOSTILE[kind])
    found = run_within(60, "verify_pairs(PairFiles(path))", path)
    assert found.startswith("refused:") and "root:" not in found
    if kind in {"laughs", "parameter", "external"}:
        assert "declares the entity 'a'; entities are not expanded" in found
