"""One text or several; and a line that was translated in parts, whose links are between words that are there."""

import pytest

from regard.errors import ConfigError
from regard.families.translate.parts import Part
from regard.families.translate.translation import Translation, join

PARTS = [("eins zwei", [" one", " two"]), ("drei", [" three"]), ("vier fünf", [" four", " five"])]


@pytest.mark.parametrize(("language", "last"), [("de", 4), ("zh", 2), (None, 4)])
def test_links_of_joined_parts_are_between_words_of_the_whole(language, last):
    made = [
        Translation(text, -1.0, text.split(), tokens, [(n, n) for n in range(len(tokens))]) for text, tokens in PARTS
    ]
    whole = join(made, [Part("", [])] * 3, language)
    assert whole.source_words == ["one", "two", "three", "four", "five"]
    assert whole.alignment[0] == (0, 0) and whole.alignment[-1] == (4, last)
    for part, (source, target) in zip(["one", "two", "three", "four", "five"], whole.alignment, strict=True):
        said = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}[part]
        assert whole.source_words[source] == part and said in whole.words[target]


@pytest.mark.parametrize("ask", [
    lambda translator: list(translator.translate_all("The dog sleeps.")),  # a text alone would be taken for its letters
    lambda translator: translator.translate(["The dog sleeps."]),
    lambda translator: translator(["The dog sleeps.", None]),
])  # fmt: skip
def test_what_is_not_a_text_or_not_several_is_refused_with_the_way_to_ask(translator, ask):
    with pytest.raises(ConfigError, match=r"translate_all .*several"):
        ask(translator)
