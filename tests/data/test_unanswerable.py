"""Questions that are made unanswerable: the story no longer has what they ask about, and nothing else changes."""

import random

import pytest
import torch

from regard.data.collate import collate_stories
from regard.data.stories import encode_stories, made_batches
from regard.data.unanswerable import Unanswerable
from regard.text.samples import induction
from regard.text.stories import Story
from regard.text.vocabulary import learn_words

PLACES, PEOPLE = ["kitchen", "garden", "hallway", "office"], ["Mary", "John", "Lily", "Oskar"]


def rooms(count=400):
    """Where people are, and whether they are in a place that need not be in the story."""
    draw, found = random.Random(3), []
    for _ in range(count):
        told = [(person, draw.choice(PLACES)) for person in draw.sample(PEOPLE, 3)]
        person, place = told[0]
        sentences = tuple(f"{who} went to the {where}." for who, where in told)
        asked = draw.choice(PLACES)
        yes = Story(sentences, f"Is {person} in the {asked}?", "yes" if asked == place else "no")
        found += [Story(sentences, f"Where is {person}?", place), yes]
    return found


def prepared(stories):
    texts = [text for story in stories for text in (*story.sentences, story.question)]
    tokenizer = learn_words(texts, [*(story.answer for story in stories), "unknown"])
    encoded = encode_stories(stories, tokenizer)
    return tokenizer, encoded, Unanswerable.learn(encoded, tokenizer.id_of("unknown"), tokenizer.vocab_size)


def test_what_is_asked_about_is_what_the_story_always_has():
    tokenizer, _, make = prepared(rooms())
    asked = {word for words in make.words.values() for word in tokenizer.tokens(sorted(words))}
    assert asked == {person.lower() for person in PEOPLE}, "a place need not be in the story"
    (told,) = make.has_answer
    assert tokenizer.tokens([word for word in told if word > 0]) == ["where", "is"], "yes is in no story"


def words_of(tokenizer, batch, row):
    sentences = [set(tokenizer.tokens(ids[ids > 0].tolist())) for ids in batch.sentences[row]]
    question = tokenizer.tokens(batch.questions[row][batch.questions[row] > 0].tolist())
    return [words for words in sentences if words], question


@pytest.mark.parametrize("stories", [rooms(), induction(300)], ids=["rooms", "induction"])
def test_no_story_has_the_answer_to_a_question_that_was_made(stories):
    tokenizer, encoded, make = prepared(stories)
    names = {name.lower() for story in stories for name in story.question.strip("?").split() if name[0].isupper()}
    names -= {"what", "where", "is"}
    rows = 0
    for batch in made_batches(encoded, tokenizer.pad_id, make):
        assert (batch.answers == make.answer).all()
        for row in range(len(batch.answers)):
            sentences, question = words_of(tokenizer, batch, row)
            asked = names & set(question)
            about = [words for words in sentences if words & asked]
            kinds = {word for words in about for word in words} - {"is", "a"} - asked
            linked = [words for words in sentences if words & kinds and not words & asked]
            assert not about or not linked, (sentences, question)
            rows += 1
    assert rows == len(stories)


def test_the_share_that_is_made_is_the_share_asked_for_and_a_function_of_the_seed():
    stories = induction(300)
    tokenizer, encoded, make = prepared(stories)
    every = torch.arange(300)
    plain = collate_stories(encoded, every, tokenizer.pad_id)
    none = collate_stories(encoded, every, tokenizer.pad_id, unanswerable=(make, 0.0))
    assert torch.equal(plain.sentences, none.sentences) and torch.equal(plain.answers, none.answers)
    some = [collate_stories(encoded, every, tokenizer.pad_id, seed=s, unanswerable=(make, 0.3)) for s in (1, 1, 2)]
    is_made = some[0].answers == make.answer
    assert is_made.float().mean().item() == pytest.approx(0.3, abs=0.1)
    assert torch.equal(some[0].sentences, some[1].sentences) and not torch.equal(some[0].answers, some[2].answers)
    assert torch.equal(some[0].sentences[~is_made], plain.sentences[~is_made])
    assert torch.equal(encoded.answers, plain.answers), "the stories themselves are as before"


def test_sentences_that_are_left_out_leave_no_gap_in_the_ages():
    tokenizer, encoded, make = prepared(induction(300))
    for batch in made_batches(encoded, tokenizer.pad_id, make):
        is_real = (batch.sentences != tokenizer.pad_id).any(dim=-1)
        for ages, real in zip(batch.ages, is_real, strict=True):
            assert ages[real].tolist() == list(range(int(real.sum())))[::-1]
