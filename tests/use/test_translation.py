"""A line that was translated in parts is one translation, whose links are between words that are there."""

import pytest

from regard.use.translation import Translation, join

PARTS = [("eins zwei", [" one", " two"]), ("drei", [" three"]), ("vier fünf", [" four", " five"])]


@pytest.mark.parametrize(("language", "last"), [("de", 4), ("zh", 2), (None, 4)])
def test_links_of_joined_parts_are_between_words_of_the_whole(language, last):
    parts = [
        Translation(text, -1.0, text.split(), tokens, [(n, n) for n in range(len(tokens))]) for text, tokens in PARTS
    ]
    whole = join(parts, language)
    assert whole.source_words == ["one", "two", "three", "four", "five"]
    assert whole.alignment[0] == (0, 0) and whole.alignment[-1] == (4, last)
    for part, (source, target) in zip(["one", "two", "three", "four", "five"], whole.alignment, strict=True):
        said = {"one": "eins", "two": "zwei", "three": "drei", "four": "vier", "five": "fünf"}[part]
        assert whole.source_words[source] == part and said in whole.words[target]
