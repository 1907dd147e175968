"""answer: stories with questions -> StoryTransformer or MemoryNetwork -> accuracy.

Top to bottom: what is read, what follows from its size, how it is prepared, built, scored and packed.
Using a trained answerer is in `families/answer/pipeline.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from regard.config import ModelConfig, RunConfig, Settings, TrainConfig
from regard.data.batch import StoryBatch
from regard.data.collate import collate_stories
from regard.data.exchangeable import Exchangeable
from regard.data.loader import RowLoader
from regard.data.stories import encode_stories, made_batches, story_batches
from regard.data.tokens import Array, EncodedStories
from regard.data.unanswerable import Unanswerable
from regard.device import derive_seed
from regard.engines.score import answer_all, find_logits
from regard.errors import ConfigError
from regard.families import FAMILIES
from regard.families.answer.settings import KINDS, LENGTHS, SIZES, USES
from regard.families.texts import Paths, corpus_of, gather_texts
from regard.folder import Content
from regard.formats import own
from regard.formats.tokenizers import tokenizer_config
from regard.look.snapshot import PROBES, snapshot_stories
from regard.model.loss import fit_temperature
from regard.model.memory import keep_chosen
from regard.model.story import build_network
from regard.text.running import TextFiles, named
from regard.text.stories import NO_ANSWER, Story, answer_text, hold_out_stories, most_sentences, read_stories
from regard.text.stream import ListedExamples
from regard.text.tokenizer import Tokenizer
from regard.text.vocabulary import learn_words
from regard.training.recipe import (
    Check,
    Corpus,
    Encoded,
    Recipe,
    Sample,
    TrainBatches,
    Validation,
    Validator,
    encode_json,
    weights_file,
)


def gather(
    stories: Paths, *, valid: Paths | None = None, glob: str | Sequence[str] = ()
) -> tuple[TextFiles, TextFiles | None]:
    """The files to learn from, and to validate on if they are given."""
    return gather_texts(stories, valid=valid, glob=glob)


def read(files: TextFiles, valid_files: TextFiles | None, config: RunConfig) -> Corpus:
    """All questions; without stories to validate on, some are held out, the same every time."""
    stories = read_stories(files.paths)
    if valid_files is not None:
        valid = read_stories(valid_files.paths)
    else:
        with named(files.paths):
            count = config.train.held_out or max(1, len(stories) // 20)
            stories, valid = hold_out_stories(stories, count, config.seed)
    return corpus_of("stories", files, valid_files, ListedExamples(stories, valid))


def defaults(corpus: Corpus, kind: str, minutes: float | None) -> Settings:
    """As many updates as make the epochs full; the learning rate decays to 0 over them."""
    size, epochs, least = LENGTHS[kind]
    rows = KINDS[kind]["train"].get("questions_per_batch", TrainConfig().questions_per_batch)
    steps = max(least, epochs * math.ceil(corpus.examples.count / rows))
    return {
        "size": size,
        "text": {"tokenizer": "word", "lowercase": True},
        "train": {
            "label_smoothing": 0.0,
            "schedule": "linear",
            "decay_steps": steps,
            "valid_every": max(1, steps // 4),
        },
        "stop": {"steps": steps},
    }


def learn(corpus: Corpus, config: RunConfig, check: Check) -> Tokenizer:
    """Every word of the stories and every answer, from the training text alone."""
    if config.text.tokenizer != "word":
        raise ConfigError(f"text.tokenizer={config.text.tokenizer} is not one of an answerer; it reads words (word)")
    check()
    texts = {text for story in corpus.examples.sample for text in (*story.sentences, story.question)}
    answers = {answer_text(story) for story in corpus.examples.sample}
    return learn_words(sorted(texts), sorted(answers | ({NO_ANSWER} if config.train.unanswerable else set())))


def encode(stories: list[Story], tokenizer: Tokenizer, config: RunConfig) -> Encoded:
    """Stories as ids, of long ones the newest sentences."""
    return Encoded(_encode(stories, tokenizer, config).kept())


def batches(arrays: dict[str, Array], tokenizer: Tokenizer, config: RunConfig) -> TrainBatches:
    """Questions in random batches, with new time noise in each epoch; some are made unanswerable, each time others."""
    stories, pad_id = EncodedStories.of(arrays), tokenizer.pad_id
    no_answer, share = tokenizer.id_of(NO_ANSWER), config.train.unanswerable
    make = Unanswerable.learn(stories, no_answer, tokenizer.vocab_size) if share and no_answer is not None else None
    words = _exchangeable(stories, tokenizer) if config.train.exchange_words else None
    rows = config.train.share(config.train.questions_per_batch)
    is_mixed = (
        config.train.linear_start > 0
    )  # without softmax the loss grows with the length, and batches must be alike
    lengths = torch.ones(len(stories)) if is_mixed else stories.tales.lengths
    loader = RowLoader([lengths], rows, config.seed)
    linear = config.train.linear_start * len(loader)

    def batch(position: int) -> StoryBatch:
        seed, indexes = derive_seed(config.seed, "empty", position), loader.at(position)
        is_linear = position < linear
        made: dict[str, Any] = {"unanswerable": (make, share)} if make else {}
        noise = config.train.time_noise
        if words:
            made["exchange"] = words, config.train.exchange_words
        return collate_stories(stories, indexes, pad_id, seed=seed, is_linear=is_linear, time_noise=noise, **made)

    whole = list(story_batches(stories, pad_id))
    facts = {
        "questions": len(stories),
        "tokens": sum(batch.tokens for batch in whole),
        "longest_story": int(stories.tales.lengths.max()),
    }
    return TrainBatches(batch, len(loader), facts, [whole, make])


def _exchangeable(stories: EncodedStories, tokenizer: Tokenizer) -> Exchangeable:
    """Which words may change places; an answer such as "apple,milk" is a list of them."""
    answers = stories.answers.unique().tolist()
    parts = {
        answer: [tokenizer.id_of(part) for part in text.split(",")]
        for answer, text in zip(answers, tokenizer.tokens(answers), strict=True)
        if "," in text
    }
    lists = {answer: tuple(p for p in ids if p is not None) for answer, ids in parts.items() if None not in ids}
    return Exchangeable.learn(stories, lists, tokenizer.vocab_size)


def validator(
    stories: list[Story], batches: TrainBatches, tokenizer: Tokenizer, config: RunConfig, check: Check
) -> Validator:
    """Scores on all given questions, those it learns from and those held out."""
    train, make = batches.whole
    encoded = _encode(stories, tokenizer, config)
    valid = list(story_batches(encoded, tokenizer.pad_id))
    made = made_batches(encoded, tokenizer.pad_id, make) if make else []
    signature = f"{len(stories)} held-out questions"

    @torch.inference_mode()
    def samples(model: Any) -> list[Sample]:
        (batch,) = story_batches(_encode(stories[:PROBES], tokenizer, config), tokenizer.pad_id)
        here = batch.to(next(model.parameters()).device)
        logits = model.eval()(here.sentences, here.ages, here.questions)  # (R, B, V)
        best = logits[int(model.chosen) if hasattr(model, "chosen") else 0].argmax(-1).tolist()
        answers = [tokenizer.decode([number]).strip() for number in best]
        return [(one.question, found, one.answer) for one, found in zip(stories[:PROBES], answers, strict=True)]

    facts = {"held_out_questions": len(stories)}
    return Validator(_Answers(train, valid, made, config.train.unanswerable).score, signature, facts, samples=samples)


def _encode(stories: list[Story], tokenizer: Tokenizer, config: RunConfig) -> EncodedStories:
    most = most_sentences(config.model.max_positions)
    newest = [Story(story.sentences[-most:], story.question, story.answer) for story in stories]
    return encode_stories(newest, tokenizer)


@dataclass(frozen=True)
class _Answers:
    """Chooses among networks that are trained side by side, and among moments, by the error on all given questions.

    Those it learns from are many and those held out are few; together they separate luck from skill best.
    """

    train: list[StoryBatch]
    valid: list[StoryBatch]
    made: list[StoryBatch]  # of those held out: made unanswerable
    share: float  # what these count

    def score(self, model: Any, check: Check) -> Validation:
        """The fit, which training goes by (accuracy on all given questions), and accuracy on those held out.

        Abstaining is wrong, but of the questions that were made unanswerable, whose share of the fit is that of the
        training. Probabilities are calibrated on all that were held out, the answerable and the others.
        """
        right, losses = answer_all(model, self.train, check)  # (R,), (R,)
        held, made = find_logits(model, self.valid, check), find_logits(model, self.made, check)  # (R, N, V)
        truths = [_answers(part) for part in (self.valid, self.made)]  # (N,) each
        held_right, found = (_share_right(*pair) for pair in zip((held, made), truths, strict=True))  # (R,)
        learned = sum(len(batch.answers) for batch in self.train)
        fit = (right.double() * learned + held_right.double() * len(truths[0])) / (learned + len(truths[0]))  # (R,)
        if self.made:
            fit = fit * (1 - self.share) + found.double() * self.share
        best = max(range(len(fit)), key=lambda r: (round(float(fit[r]), 6), -float(losses[r])))
        logits, truth = torch.cat([held[best], made[best]]), torch.cat(truths)  # (N, V), (N,)
        temperature = fit_temperature(lambda t: float(F.cross_entropy(logits / t, truth, reduction="sum")))
        loss = F.cross_entropy(held[best] / temperature, truths[0])
        scores = {"fit": fit[best], "accuracy": held_right[best], "loss": loss, "training_accuracy": right[best]}
        if self.made:
            scores["abstained"] = (held[best].argmax(-1) == truths[1][0]).float().mean()
            scores["unanswerable_found"] = found[best]
        chosen = {"answer_temperature": model.answer_temperature.cpu() * temperature}  # (R, 1, 1)
        if len(fit) > 1:
            chosen["chosen"] = torch.tensor([best])
        return Validation({name: float(value) for name, value in scores.items()}, chosen=chosen)


def _answers(batches: list[StoryBatch]) -> Tensor:
    return torch.cat([torch.zeros(0, dtype=torch.int64), *(batch.answers for batch in batches)])


def _share_right(logits: Tensor, truth: Tensor) -> Tensor:
    """logits (R, N, V) · truth (N,) -> (R,)."""
    return (logits.argmax(-1) == truth).float().mean(dim=1)


def build(model: ModelConfig, tokenizer: Tokenizer) -> nn.Module:
    """A network with fresh weights."""
    return build_network(model, tokenizer.pad_id)


def loss(config: RunConfig) -> Callable[[Any, StoryBatch], tuple[Tensor, int]]:
    """What training makes smaller: cross-entropy of the answer, summed over the networks side by side."""

    def answer_loss(model: Any, batch: StoryBatch) -> tuple[Tensor, int]:
        logits = model(batch.sentences, batch.ages, batch.questions, batch.is_linear)  # (R, B, V)
        truth = batch.answers.repeat(len(logits))  # (R * B,)
        total = F.cross_entropy(
            logits.flatten(0, 1), truth, reduction="sum", label_smoothing=config.train.label_smoothing
        )
        return total, len(batch.answers)

    return answer_loss


def pack(model: ModelConfig, weights: dict[str, Tensor], tokenizer: Tokenizer) -> dict[str, Content]:
    """The files of an answerer; no class of another library has its shape, and config.json says so."""
    if model.kind == "memory":
        weights, model = keep_chosen(weights), model.model_copy(update={"restarts": 1})
    return {
        "config.json": encode_json(own.export_config(model, "answer")),
        **tokenizer.files(),
        "tokenizer_config.json": encode_json(tokenizer_config(10**6, pad_token="[PAD]", unk_token="[UNK]")),
        "model.safetensors": weights_file(own.export_weights(weights)),
    }


def snapshot(model: Any, valid: list[Story], tokenizer: Tokenizer) -> list[dict[str, Any]]:
    """Its attention to the sentences of a few held-out stories."""
    most = most_sentences(model.config.max_positions)
    stories = [Story(story.sentences[-most:], story.question, story.answer) for story in valid[:PROBES]]
    (batch,) = story_batches(encode_stories(stories, tokenizer), tokenizer.pad_id)
    return snapshot_stories(model, batch.to(next(model.parameters()).device), stories)


ANSWER = Recipe(
    name="answer",
    unit="questions",
    shape=FAMILIES["answer"].shape,
    kinds=KINDS,
    sizes=SIZES,
    uses=USES,
    gather=gather,
    read=read,
    defaults=defaults,
    learn=learn,
    encode=encode,
    batches=batches,
    validator=validator,
    build=build,
    loss=loss,
    pack=pack,
    where="regard.families.answer.recipe:ANSWER",
    snapshot=snapshot,
)
