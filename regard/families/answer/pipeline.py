"""A trained answerer: a story and a question in, the answer and the attention of each hop out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.errors import ConfigError
from regard.families.pipeline import Pipeline
from regard.text.classes import calibration_error
from regard.text.given import a_text, given_texts, several_texts
from regard.text.stories import NO_ANSWER, Story, answer_text, most_sentences, read_stories, split_sentences

if TYPE_CHECKING:
    from torch import Tensor

    from regard.look.inspection import Inspection


@dataclass(frozen=True)
class Answer:
    """An answer, its probability, and the attention of each hop; it is `unknown` where the story has none."""

    text: str
    probability: float
    sentences: list[str]
    hops: list[list[float]]  # of each hop, the weight of each sentence
    unknown: list[str]  # words never seen in training; they were left out
    left_out: int = 0  # sentences at the beginning of the story that are more than the model can hold

    @property
    def abstained(self) -> bool:
        """Whether the story has no answer to the question, in the judgement of the model."""
        return self.text == NO_ANSWER

    @property
    def notes(self) -> list[str]:
        """What of the story and the question did not count."""
        notes = [f"never seen in training, and left out: {', '.join(self.unknown)}"] if self.unknown else []
        if self.left_out:
            notes.append(f"the story has {self.left_out + len(self.sentences)} sentences, and the model holds "
                         f"{len(self.sentences)}; the oldest were left out")  # fmt: skip
        return notes


class Answerer(Pipeline):
    """A trained model that answers questions about a story."""

    network = "regard.families.answer.network:read"

    def __call__(self, story: str | Sequence[str], question: str) -> str:
        """The answer to a question about a story, given as a text or as sentences."""
        return self.answer(story, question).text

    def answer(self, story: str | Sequence[str], question: str) -> Answer:
        """The answer with its probability, and the attention of each hop to the sentences."""
        return self.answer_all([_as_story(story, question)])[0]

    def answer_all(self, stories: Sequence[Story]) -> list[Answer]:
        """The answers to many questions; of each story only what the model can hold, its newest sentences."""
        kept = [self._newest(story) for story in stories]
        found: list[Answer] = []
        for probabilities, hops in self._run(kept):
            best = probabilities.max(dim=-1)
            ranked = zip(best.values.tolist(), best.indices.tolist(), hops.tolist(), strict=True)
            for probability, token, weights in ranked:
                story = kept[len(found)]
                sentences = list(story.sentences)
                hops_here = [row[: len(sentences)] for row in weights]
                text = self.tokenizer.tokens([token])[0]
                cut = len(stories[len(found)].sentences) - len(sentences)
                found.append(Answer(text, probability, sentences, hops_here, self._unknown(story), cut))
        return found

    def evaluate(self, *files: str | Path) -> dict[str, float | str | int]:
        """Share of questions answered right, and of those with known support, how often the hops attend to it most.

        Abstaining is wrong, unless the answer given is that there is none. Probabilities are compared with accuracy.
        """
        stories = read_stories(given_texts(files).paths)
        answers = self.answer_all(stories)
        right = [answer.text == answer_text(story) for answer, story in zip(answers, stories, strict=True)]
        report: dict[str, float | str | int] = {"accuracy": sum(right) / len(right), "questions": len(right)}
        report["abstained"] = sum(answer.abstained for answer in answers) / len(answers)
        report["calibration_error"] = calibration_error([answer.probability for answer in answers], right)
        supported = [pair for pair in zip(answers, stories, strict=True) if pair[1].support]
        if supported:
            report["support_found"] = sum(map(_finds_support, *zip(*supported, strict=True))) / len(supported)
        unknown = Counter(word for answer in answers for word in answer.unknown)
        report["unknown_words"] = len(unknown)
        return report

    def look(self, text: str, story: str | Sequence[str] = (), *, why: bool = False) -> Inspection:
        """The attention of each hop when the question `text` is asked about a story.

        why: also how much less likely the answer is without each sentence.
        """
        from regard.families.answer.look import look_at_answer

        if not story:
            raise ConfigError("there is no story to look at; give it with --story FILE, one sentence a line")
        return look_at_answer(self, text, story, why)

    def probabilities(self, story: str | Sequence[str], question: str) -> list[tuple[str, float]]:
        """Every answer there is, likeliest first."""
        probabilities, _ = next(self._run([self._newest(_as_story(story, question))]))
        found = probabilities[0].sort(descending=True)
        return list(zip(self.tokenizer.tokens(found.indices.tolist()), found.values.tolist(), strict=True))

    def _run(self, stories: Sequence[Story]) -> Iterator[tuple[Tensor, Tensor]]:
        """Of each batch: the probability of every answer (B, V), each hop's weight of each sentence (B, hops, M)."""
        from regard.families.answer.network import run

        return run(self, stories)

    def _newest(self, story: Story) -> Story:
        cut = max(0, len(story.sentences) - most_sentences(self.model.config.max_positions))
        support = tuple(place - cut for place in story.support if place >= cut)
        return Story(story.sentences[cut:], story.question, story.answer, support)

    def _unknown(self, story: Story) -> list[str]:
        words = [word for text in (*story.sentences, story.question) for word in self.tokenizer.words(text)]
        return sorted({word for word in words if self.tokenizer.id_of(word) is None})


def _as_story(story: str | Sequence[str], question: str) -> Story:
    sentences = split_sentences(story) if isinstance(story, str) else several_texts(story, "sentences")
    if not a_text(question, "a question").strip():
        raise ConfigError("the question is empty; ask something about the story")
    return Story(tuple(sentences), question, "")


def _finds_support(answer: Answer, story: Story) -> bool:
    """Whether every supporting sentence has the most attention of some hop."""
    cut = len(story.sentences) - len(answer.sentences)
    attended = {max(range(len(weights)), key=weights.__getitem__) + cut for weights in answer.hops if weights}
    return set(story.support) <= attended
