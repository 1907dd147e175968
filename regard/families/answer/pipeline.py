"""Using a trained answerer: a story and a question in, the answer and what each hop looked at out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from regard.engines.network import choose_layout, read_network
from regard.engines.options import EngineOptions, refuse_fast
from regard.errors import ConfigError
from regard.families.pipeline import Pipeline
from regard.folder import ModelFolder
from regard.text.given import a_text, given_texts, several_texts
from regard.text.stories import Story, read_stories, split_sentences
from regard.text.tokenizer import Tokenizer

if TYPE_CHECKING:
    from torch import nn

    from regard.config import ModelConfig
    from regard.data.batch import StoryBatch
    from regard.data.tokens import EncodedStories
    from regard.look.inspection import Inspection

ROWS = 128  # questions that are answered together
CHUNK = 1000  # questions that are encoded between two checks whether to stop


@dataclass(frozen=True)
class Answer:
    """An answer, how sure the model was of it, and what it looked at."""

    text: str
    probability: float
    sentences: list[str]
    hops: list[list[float]]  # of each hop, the weight of each sentence
    unknown: list[str]  # words never seen in training; they were left out
    left_out: int = 0  # sentences at the beginning of the story that are more than the model can hold

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

    @classmethod
    def open(cls, folder: ModelFolder, running: EngineOptions) -> Answerer:
        """The answerer in a folder."""
        refuse_fast("answer", running)
        from regard.formats import own

        layout = choose_layout(folder, {"regard-answer": own})
        return cls(folder, lambda tokenizer: read_network(folder, tokenizer, layout, build_network), running).read_now()

    def __call__(self, story: str | Sequence[str], question: str) -> str:
        """The answer to a question about a story, given as a text or as sentences."""
        return self.answer(story, question).text

    def answer(self, story: str | Sequence[str], question: str) -> Answer:
        """The answer with its probability, and which sentences each hop looked at."""
        return self.answer_all([_tell(story, question)])[0]

    def answer_all(self, stories: Sequence[Story]) -> list[Answer]:
        """The answers to many questions; of each story only what the model can hold, its newest sentences."""
        import torch

        from regard.model.capture import record_attention

        kept = [self._newest(story) for story in stories]
        encoded = encode_stories(kept, self.tokenizer)
        found: list[Answer] = []
        for batch in story_batches(encoded, self.tokenizer.pad_id):
            with torch.inference_mode(), record_attention(self.model) as recorded:
                here = batch.to(self.device)
                chances = self.model(here.sentences, here.ages, here.questions)[0].softmax(dim=-1)  # (B, V)
            hops = [weights[-1].mean(dim=1) for name, weights in recorded.items() if weights and _is_hop(name)]
            looked = torch.stack(hops, dim=1).tolist()  # (B, hops, M)
            best = chances.max(dim=-1)
            for probability, token, weights in zip(best.values.tolist(), best.indices.tolist(), looked, strict=True):
                story = kept[len(found)]
                sentences = list(story.sentences)
                hops_here = [row[: len(sentences)] for row in weights]
                said = self.tokenizer.tokens([token])[0]
                cut = len(stories[len(found)].sentences) - len(sentences)
                found.append(Answer(said, probability, sentences, hops_here, self._unknown(story), cut))
        return found

    def evaluate(self, *files: str | Path) -> dict[str, float | str | int]:
        """Share of questions answered right; and of those with known support, how often the hops looked there most."""
        stories = read_stories(given_texts(files).paths)
        answers = self.answer_all(stories)
        right = [answer.text == said_answer(story) for answer, story in zip(answers, stories, strict=True)]
        report: dict[str, float | str | int] = {"accuracy": sum(right) / len(right), "questions": len(right)}
        supported = [pair for pair in zip(answers, stories, strict=True) if pair[1].support]
        if supported:
            report["support_found"] = sum(map(_finds_support, *zip(*supported, strict=True))) / len(supported)
        unknown = Counter(word for answer in answers for word in answer.unknown)
        report["unknown_words"] = len(unknown)
        return report

    def look(self, text: str, story: str | Sequence[str] = (), *, why: bool = False) -> Inspection:
        """What each hop looks at when the question `text` is asked about a story.

        why: also how much less likely the answer is without each sentence.
        """
        from regard.families.looking import look_at_answer

        if not story:
            raise ConfigError("there is no story to look at; give it with --story FILE, one sentence a line")
        return look_at_answer(self, text, story, why)

    def chances(self, story: str | Sequence[str], question: str) -> list[tuple[str, float]]:
        """Every answer there is, likeliest first."""
        import torch

        encoded = encode_stories([self._newest(_tell(story, question))], self.tokenizer)
        (batch,) = story_batches(encoded, self.tokenizer.pad_id)
        with torch.inference_mode():
            here = batch.to(self.device)
            found = self.model(here.sentences, here.ages, here.questions)[0][0].softmax(dim=-1).sort(descending=True)
        return list(zip(self.tokenizer.tokens(found.indices.tolist()), found.values.tolist(), strict=True))

    def _newest(self, story: Story) -> Story:
        cut = max(0, len(story.sentences) - most_sentences(self.model.config))
        support = tuple(place - cut for place in story.support if place >= cut)
        return Story(story.sentences[cut:], story.question, story.answer, support)

    def _unknown(self, story: Story) -> list[str]:
        words = [word for text in (*story.sentences, story.question) for word in self.tokenizer.words(text)]
        return sorted({word for word in words if self.tokenizer.id_of(word) is None})


def build_network(config: ModelConfig, tokenizer: Tokenizer) -> nn.Module:
    """A network of the kind the settings say, with fresh weights."""
    from regard.model.memory import MemoryNetwork
    from regard.model.story import StoryTransformer

    pad_id = tokenizer.pad_id
    return MemoryNetwork(config, pad_id) if config.kind == "memory" else StoryTransformer(config, pad_id)


def most_sentences(config: ModelConfig) -> int:
    """How many sentences of a story are read, the newest; ages have room for empty ones between them."""
    return config.max_positions * 2 // 3


def said_answer(story: Story) -> str:
    """The answer as a model says it."""
    return story.answer.lower()


def encode_stories(
    stories: Sequence[Story], tokenizer: Tokenizer, check: Callable[[], None] = lambda: None
) -> EncodedStories:
    """Stories as ids; words never seen are left out, and an answer never seen is the unknown."""
    import torch

    from regard.data.tokens import EncodedStories, TokenLists

    numbers: dict[str, int] = {}
    tales: list[list[int]] = []
    for place, story in enumerate(stories):
        if place % CHUNK == 0:
            check()
        tales.append([numbers.setdefault(sentence, len(numbers) + 1) for sentence in story.sentences])
    sentences = TokenLists.of([[], *_known(numbers, tokenizer)])
    answers = [tokenizer.id_of(said_answer(story)) for story in stories]
    return EncodedStories(
        sentences.pad(torch.arange(len(sentences)), tokenizer.pad_id),
        TokenLists.of(tales),
        TokenLists.of(_known((story.question for story in stories), tokenizer)),
        torch.tensor([tokenizer.unknown_id if answer is None else answer for answer in answers]),
    )


def story_batches(stories: EncodedStories, pad_id: int) -> Iterator[StoryBatch]:
    """All questions once, in order."""
    import torch

    from regard.data.collate import collate_stories

    for indexes in torch.arange(len(stories)).split(ROWS):
        yield collate_stories(stories, indexes, pad_id)


def _known(texts: Iterable[str], tokenizer: Tokenizer) -> list[list[int]]:
    found = tokenizer.encode_all(list(texts), is_part=True)
    return [[number for number in ids if number != tokenizer.unknown_id] for ids in found]


def _tell(story: str | Sequence[str], question: str) -> Story:
    sentences = split_sentences(story) if isinstance(story, str) else several_texts(story, "sentences")
    if not a_text(question, "a question").strip():
        raise ConfigError("the question is empty; ask something about the story")
    return Story(tuple(sentences), question, "")


def _is_hop(name: str) -> bool:
    return name.startswith("hops.")


def _finds_support(answer: Answer, story: Story) -> bool:
    """Whether every sentence the answer follows from is what some hop looked at most."""
    cut = len(story.sentences) - len(answer.sentences)
    looked = {max(range(len(weights)), key=weights.__getitem__) + cut for weights in answer.hops if weights}
    return set(story.support) <= looked
