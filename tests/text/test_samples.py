"""The phrasebook: one meaning, three languages, one translation each way, and the true alignment."""

import hashlib
import json
import re
from collections.abc import Iterable
from itertools import combinations, permutations
from random import Random

import pytest
from lessons import ADJECTIVE_BY_NAME, HAND_CHECKED, THAT, clause, nominal, past, text

from regard.errors import ConfigError
from regard.text.phrasebook.frames import FRAMES
from regard.text.phrasebook.meaning import Clause, Nominal, Sentence
from regard.text.phrasebook.think import determiners, think
from regard.text.phrasebook.vocabulary import ADJECTIVES, NOUNS, VERBS, Noun
from regard.text.samples import LANGUAGES, Phrase, everyday, is_held_out, phrasebook, translate, triples

DIRECTIONS = list(permutations(LANGUAGES, 2))


def bare_words(sentence: str) -> list[str]:
    """Without capitals, punctuation and elision."""
    return re.findall(r"\w+", sentence.lower())


@pytest.mark.parametrize(
    ("sentence", "english", "german", "french"), HAND_CHECKED, ids=[row[1] for row in HAND_CHECKED]
)
def test_a_meaning_is_said_as_a_teacher_would_say_it(
    sentence: Sentence, english: str, german: str, french: str
) -> None:
    assert [text(sentence, language) for language in LANGUAGES] == [english, german, french]


@pytest.fixture(scope="module")
def thoughts() -> list[Sentence]:
    random = Random(1)
    return [think(random) for _ in range(20_000)]


@pytest.fixture(scope="module")
def said(thoughts: list[Sentence]) -> dict[str, list[str]]:
    """Every thought, by language."""
    return {language: [text(thought, language) for thought in thoughts] for language in LANGUAGES}


def test_among_100_000_meanings_no_sentence_has_two_translations_in_any_direction() -> None:
    """The meanings are drawn from ten seeds."""
    different: dict[str, set[str]] = {language: set() for language in (*LANGUAGES, "all")}
    for seed in range(10):
        random = Random(f"unique {seed}")
        for _ in range(10_000):
            thought = think(random)
            texts = [text(thought, language) for language in LANGUAGES]
            for language, known in zip(different, (*texts, "|".join(texts)), strict=True):
                different[language].add(known)
    # as many sentences in each language as there are triples of them: none has two partners
    assert len({len(sentences) for sentences in different.values()}) == 1


def test_held_out_triples_never_occur_in_training(thoughts: list[Sentence]) -> None:
    held_out: list[Sentence] = []
    trained: set[tuple[str, str, str]] = set()
    for thought in thoughts:
        if is_held_out(thought):
            held_out.append(thought)
        else:
            trained.update(triples(thought))
    assert 0.04 < len(held_out) / len(thoughts) < 0.08
    assert all(any(triple not in trained for triple in triples(thought)) for thought in held_out)


def test_a_triple_is_held_out_by_its_hash_and_about_one_in_twenty_is(thoughts: list[Sentence]) -> None:
    known = {triple for thought in thoughts for triple in triples(thought)}
    rare = {triple for triple in known if hashlib.sha256(" ".join(triple).encode()).digest()[0] < 13}
    assert 0.045 < len(rare) / len(known) < 0.055
    for thought in thoughts[:5_000]:
        assert is_held_out(thought) == any(triple in rare for triple in triples(thought))


def test_no_held_out_sentence_is_a_training_sentence_and_every_word_of_it_is_trained() -> None:
    train = phrasebook("de", "fr", 12_000)
    test = phrasebook("de", "fr", 500, held_out=True)
    assert not {phrase.source for phrase in train} & {phrase.source for phrase in test}
    assert not {phrase.target for phrase in train} & {phrase.target for phrase in test}
    trained = {word for phrase in train for word in bare_words(f"{phrase.source} {phrase.target}")}
    assert {word for phrase in test for word in bare_words(f"{phrase.source} {phrase.target}")} <= trained


def test_sentences_are_as_many_as_asked_for_and_all_different() -> None:
    phrases = phrasebook("en", "fr", 3_000)
    assert len({phrase.source for phrase in phrases}) == 3_000
    assert phrasebook("en", "fr", 0) == []


def test_a_longer_phrasebook_begins_with_the_shorter_one_and_another_seed_is_another_book() -> None:
    assert phrasebook("fr", "de", 500)[:100] == phrasebook("fr", "de", 100)
    assert phrasebook("fr", "de", 100, seed=1) != phrasebook("fr", "de", 100, seed=2)


def test_the_same_arguments_give_the_same_book_on_every_machine() -> None:
    pairs = [[phrase.source, phrase.target, phrase.alignment] for phrase in phrasebook("en", "de", 500, seed=3)]
    digest = hashlib.sha256(json.dumps(pairs).encode()).hexdigest()
    assert digest.startswith("3d426b76a5482e90")


@pytest.mark.parametrize(("source", "target"), combinations(LANGUAGES, 2))
def test_alignment_indexes_are_words_in_order_and_both_ways_the_same(
    thoughts: list[Sentence], source: str, target: str
) -> None:
    for thought in thoughts[:2_000]:
        phrase, back = translate(thought, source, target), translate(thought, target, source)
        assert list(phrase.alignment) == sorted(set(phrase.alignment))
        assert all(0 <= i < len(phrase.source.split(" ")) for i, _ in phrase.alignment)
        assert all(0 <= j < len(phrase.target.split(" ")) for _, j in phrase.alignment)
        assert sorted((j, i) for i, j in phrase.alignment) == list(back.alignment)


@pytest.mark.parametrize(("source", "target"), DIRECTIONS)
def test_every_word_is_aligned_or_in_the_short_list_of_function_words(
    thoughts: list[Sentence], source: str, target: str
) -> None:
    alone = set()
    for thought in thoughts[:4_000]:
        phrase = translate(thought, source, target)
        aligned = {i for i, _ in phrase.alignment}
        alone |= {word for i, word in enumerate(phrase.source.split(" ")) if i not in aligned}
    assert alone == ({"à", "de", "des", "du", "la"} if source == "fr" else set())


def aligned(phrase: Phrase) -> set[tuple[str, str]]:
    source, target = phrase.source.split(" "), phrase.target.split(" ")
    return {(source[i], target[j]) for i, j in phrase.alignment}


def test_both_parts_of_a_separable_verb_are_aligned_with_the_verb() -> None:
    sentence = Sentence(clause("the woman", "call", "the young doctor"))
    links = aligned(translate(sentence, "en", "de"))
    assert links == {("The", "Die"), ("woman", "Frau"), ("calls", "ruft"), ("calls", "an."), ("the", "den")} | {
        ("young", "jungen"),
        ("doctor.", "Arzt"),
    }


def test_what_french_writes_together_is_aligned_with_every_word_it_holds() -> None:
    sentence = Sentence(clause("the nurse", "buy", "a egg", is_negated=True))
    links = aligned(translate(sentence, "fr", "en"))
    assert {("L'infirmière", "The"), ("L'infirmière", "nurse"), ("d'œuf.", "an"), ("d'œuf.", "egg.")} <= links
    assert {("n'achète", "does"), ("n'achète", "not"), ("n'achète", "buy"), ("pas", "not"), ("pas", "does")} <= links
    assert ("pas", "buy") not in links


def test_the_question_is_aligned_with_what_asks_it_and_the_mark_with_the_mark() -> None:
    sentence = Sentence(past("Anna", "see", "the dog", asks="yes"))
    assert {("Did", "Est-ce"), ("Did", "qu'Anna"), ("Did", "a"), ("dog?", "?"), ("dog?", "chien")} <= aligned(
        translate(sentence, "en", "fr")
    )
    assert aligned(translate(sentence, "en", "de")) == {("Did", "Hat"), ("Anna", "Anna"), ("the", "den")} | {
        ("see", "gesehen?"),
        ("dog?", "Hund"),
    }


def test_french_adjectives_stand_after_their_noun_but_for_a_few_short_ones() -> None:
    before = {"young", "old", "big", "small", "new", "beautiful", "good", "long"}
    for noun in NOUNS:
        for name, adjective in ADJECTIVE_BY_NAME.items():
            if adjective.kinds & noun.kinds:
                thing = Nominal(noun, "our", False, *((adjective, None) if adjective.is_before else (None, adjective)))
                words = text(Sentence(Clause(VERBS["see"], nominal("she"), thing)), "fr").strip(".").split()
                assert words[:3] == ["Elle", "voit", "notre"]
                assert words.index(noun.french[0]) == (4 if name in before else 3)


def test_the_german_verb_is_second_in_a_statement_first_in_a_question_and_last_in_a_second_clause() -> None:
    main = past("the man", "see", "the dog", time="yesterday")
    assert text(Sentence(main), "de") == "Der Mann hat den Hund gestern gesehen."
    assert text(Sentence(main._replace(is_time_first=True)), "de") == "Gestern hat der Mann den Hund gesehen."
    assert text(Sentence(main._replace(asks="yes")), "de") == "Hat der Mann den Hund gestern gesehen?"
    assert (
        text(Sentence(clause("I", "know"), THAT, main), "de") == "Ich weiß, dass der Mann den Hund gestern gesehen hat."
    )


def test_french_elides_and_contracts_wherever_it_must(said: dict[str, list[str]]) -> None:
    vowel = "(?=[aeiouhéèêôœ])"
    wrong = re.compile(
        rf"\b(le|la|de|je|ne|que) {vowel}|\bsi il\b|\b(à|de) les?\b|\b(ma|ce|beau|nouveau) {vowel}"
        rf"|\bvieux {vowel}\w*[^\Wsx]\b|\b(l|d|j|n|qu)'[^aeiouhéèêôœ]",
        re.IGNORECASE,
    )
    assert [french for french in said["fr"] if wrong.search(french)] == []


def test_english_says_an_before_a_vowel_and_only_there(said: dict[str, list[str]]) -> None:
    wrong = re.compile(r"\ba [aeiou]|\ban [^aeiou]", re.IGNORECASE)
    assert [english for english in said["en"] if wrong.search(english)] == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_sentence_begins_with_a_capital_and_ends_with_one_mark(
    thoughts: list[Sentence], said: dict[str, list[str]], language: str
) -> None:
    whole = re.compile(rf"[A-ZÀÖÜ][^.?]*[^ .?,]({' ' if language == 'fr' else ''}\?|\.)")
    for thought, sentence in zip(thoughts, said[language], strict=True):
        assert whole.fullmatch(sentence), sentence
        assert "  " not in sentence
        assert sentence.endswith("?") == bool(thought.main.asks)


def test_sentences_are_of_moderate_length(said: dict[str, list[str]]) -> None:
    lengths = sorted(len(english.split()) for english in said["en"][:10_000])
    assert lengths[500] >= 3 and lengths[-100] <= 15 and 6 <= lengths[5_000] <= 8


def ways(nouns: Iterable[Noun], role: str) -> int:
    """How many nominals there are, each noun with every determiner and none, one or two adjectives."""
    total = 0
    for noun in nouns:
        fitting = [adjective for adjective in ADJECTIVES if adjective.kinds & noun.kinds]
        pairs = sum(a.is_before for a in fitting) * sum("colour" in a.kinds for a in fitting)
        total += len(set(determiners(noun, role))) * (1 + len(fitting) + pairs)
    return total


def test_more_than_six_billion_sentences_say_who_did_what() -> None:
    total = sum(
        ways(frame.subjects, "subject")
        * (ways(frame.objects, "any") if frame.objects else 1)
        * (ways(frame.recipients, "unsure") if frame.recipients else 1)
        for frame in FRAMES
    )
    assert total > 6_000_000_000


def test_one_word_has_one_meaning_in_each_language() -> None:
    for language in ("english", "german", "french"):
        for table in (NOUNS, ADJECTIVES):
            words = [getattr(entry, language) for entry in table]
            assert len(set(words)) == len(words)


def test_an_unknown_language_is_refused_with_the_known_ones() -> None:
    with pytest.raises(ConfigError, match=r"no language 'it'; choose from en, de, fr"):
        phrasebook("en", "it", 1)


def test_a_translation_into_the_same_language_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"source and target are both 'de'; choose two different ones"):
        phrasebook("de", "de", 1)


def test_everyday_sentences_have_one_translation_each_way_and_are_none_of_the_grammar(
    said: dict[str, list[str]],
) -> None:
    assert {phrase.source: phrase.target for phrase in everyday("en", "fr")}[
        "Hello, I love you."
    ] == "Bonjour, je t'aime."
    assert {phrase.source: phrase.target for phrase in everyday("de", "fr")}["Ich liebe dich."] == "Je t'aime."
    for source, target in DIRECTIONS:
        phrases = everyday(source, target)
        assert len({phrase.source for phrase in phrases}) == len(phrases) > 48
        assert not {phrase.source for phrase in phrases} & set(said[source])
    for french in (phrase.target for phrase in everyday("en", "fr")):
        assert french.endswith((" ?", ".")) and not re.search(r"\b(je|me|te|de|que|la|le) [aeiouhéêà]", french)
    with pytest.raises(ConfigError, match=r"no language 'it'"):
        everyday("en", "it")
