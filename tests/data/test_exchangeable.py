"""Words are exchanged only where every story stays right: names and places, not what has a meaning of its own."""

import random

import pytest
import torch

from regard.data.collate import collate_stories
from regard.data.exchangeable import Exchangeable
from regard.data.stories import encode_stories
from regard.text.stories import Story
from regard.text.vocabulary import learn_words

PEOPLE, PLACES, THINGS = ["ann", "ben", "carla"], ["attic", "barn", "cellar"], ["key", "lamp", "pen"]
WAYS = {"hungry": "kitchen", "tired": "bedroom", "dirty": "bathroom"}
PARTS = ["yesterday", "today", "tomorrow"]


def rooms(draw):
    where = {person: draw.choice(PLACES) for person in draw.sample(PEOPLE, 2)}
    asked = draw.choice([*where])
    return Story(tuple(f"{p} went to the {w}." for p, w in where.items()), f"Where is {asked}?", where[asked])


def moods(draw):
    told = dict(zip(draw.sample(PEOPLE, 2), draw.sample([*WAYS], 2), strict=True))
    asked = draw.choice([*told])
    return Story(tuple(f"{p} is {mood}." for p, mood in told.items()), f"Where will {asked} go?", WAYS[told[asked]])


def order(draw):
    places, parts = draw.sample(PLACES, 3), draw.sample(range(3), 3)
    later = draw.choice([1, 2])
    sentences = tuple(f"{PARTS[part]} ann was in the {places[part]}." for part in parts)
    return Story(sentences, f"Where was ann before the {places[later]}?", places[later - 1])


def belongings(draw):
    things = sorted(draw.sample(THINGS, 2))  # one of both orders is no answer that was ever given
    return Story(tuple(f"ann took the {thing}." for thing in things), "What does ann have?", ",".join(things))


def prepared(make, count=600):
    draw = random.Random(7)
    stories = [make(draw) for _ in range(count)]
    texts = sorted({text for story in stories for text in (*story.sentences, story.question)})
    tokenizer = learn_words(texts, sorted({story.answer for story in stories}))
    encoded = encode_stories(stories, tokenizer)
    answers = encoded.answers.unique().tolist()
    lists = {
        answer: tuple(tokenizer.id_of(part) for part in text.split(","))
        for answer, text in zip(answers, tokenizer.tokens(answers), strict=True)
        if "," in text
    }
    return tokenizer, encoded, Exchangeable.learn(encoded, lists, tokenizer.vocab_size)


@pytest.mark.parametrize(
    ("make", "classes"),
    [(rooms, [PEOPLE, PLACES]), (moods, [PEOPLE]), (order, [PLACES])],
    ids=["rooms", "moods", "order of days"],
)
def test_words_are_exchangeable_if_every_story_stays_right(make, classes):
    tokenizer, _, words = prepared(make)
    assert sorted(sorted(tokenizer.tokens(one.tolist())) for one in words.classes) == classes


def told(tokenizer, batch, row):
    sentences = [tokenizer.tokens(ids[ids > 0].tolist()) for ids in batch.sentences[row]]
    question = tokenizer.tokens(batch.questions[row][batch.questions[row] > 0].tolist())
    return [one for one in sentences if one], question, tokenizer.tokens([int(batch.answers[row])])[0]


def test_an_exchanged_story_is_another_story_with_its_right_answer():
    tokenizer, encoded, words = prepared(rooms)
    indexes = torch.arange(100)
    as_it_is = collate_stories(encoded, indexes, tokenizer.pad_id, seed=3)
    exchanged = collate_stories(encoded, indexes, tokenizer.pad_id, seed=3, exchange=(words, 1.0))
    assert torch.equal(exchanged.sentences > 0, as_it_is.sentences > 0)
    different = 0
    for row in range(100):
        sentences, question, answer = told(tokenizer, exchanged, row)
        places = {words[0]: words[-1] for words in ([w for w in one if w not in "?."] for one in sentences)}
        (asked,) = {*question} & {*places}
        assert places[asked] == answer
        different += told(tokenizer, as_it_is, row) != (sentences, question, answer)
    assert different > 80


def test_a_list_of_words_is_exchanged_with_them_or_the_story_stays_as_it_is():
    tokenizer, encoded, _ = prepared(belongings)
    things = torch.tensor([tokenizer.id_of(thing) for thing in THINGS])
    answers = {tuple(sorted(a.split(","))): tokenizer.id_of(a) for a in ("key,lamp", "key,pen", "lamp,pen")}
    lists = {number: tuple(tokenizer.id_of(part) for part in parts) for parts, number in answers.items()}
    words = Exchangeable([things], lists, tokenizer.vocab_size)
    batch = collate_stories(encoded, torch.arange(200), tokenizer.pad_id, exchange=(words, 1.0))
    as_it_is = collate_stories(encoded, torch.arange(200), tokenizer.pad_id)
    changed = 0
    for row in range(200):
        sentences, _, answer = told(tokenizer, batch, row)
        assert [one for sentence in sentences for one in sentence if one in THINGS] == answer.split(",")
        changed += told(tokenizer, as_it_is, row)[2] != answer
    assert changed > 20


def test_which_words_are_exchanged_is_a_function_of_the_seed_and_the_share():
    tokenizer, encoded, words = prepared(rooms)

    def made(seed, share):
        return collate_stories(encoded, torch.arange(200), tokenizer.pad_id, seed=seed, exchange=(words, share))

    assert torch.equal(made(1, 0.5).sentences, made(1, 0.5).sentences)
    assert not torch.equal(made(1, 0.5).sentences, made(2, 0.5).sentences)
    plain = collate_stories(encoded, torch.arange(200), tokenizer.pad_id, seed=1)
    assert torch.equal(made(1, 0.0).sentences, plain.sentences)
    same = (made(1, 0.5).sentences == plain.sentences).flatten(1).all(dim=1).float().mean()
    assert 0.45 < same < 0.65
