"""Using a trained classifier: texts in, their labels with calibrated probabilities out."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Self, overload

import numpy as np

from regard.decoding.settings import refuse_below_one
from regard.engines.labels import LabelEngine
from regard.errors import ConfigError, CorpusError
from regard.families.encode.embedding import Embeds
from regard.text.classes import calibration_error, confusion, decide, find_probabilities, paired_test, score_classes
from regard.text.given import a_text, several_texts
from regard.text.labels import LabelFiles, read_labelled
from regard.text.ngrams import sketch, split_words
from regard.text.readers.rows import Choice

if TYPE_CHECKING:
    from torch import Tensor

    from regard.families.encode.index import Vectors
    from regard.look.inspection import Inspection

TOGETHER = 1024  # texts that are read before they are classified
LETTERS_OF_A_WORD = 8  # or more, of texts whose words are so long that their letters are what costs
MOST_TOKENS = 512  # of a text that an encoder reads
UNLIKE = 0.5  # share of words never seen from which on a text is flagged


@dataclass(frozen=True)
class Label:
    """A label that a text may have."""

    name: str
    probability: float


@dataclass(frozen=True)
class Classification:
    """The labels of a text: those that are given, and the likeliest ones with their probabilities."""

    given: tuple[str, ...]  # none where it is unsure
    labels: list[Label]  # likeliest first; none of a text without words
    unknown: list[str] = field(default_factory=list)  # words never seen in training
    is_unlike: bool = False  # whether the text is unlike the training text: most of its words were never seen there

    @property
    def label(self) -> str | None:
        """The likeliest label, or None where it is unsure."""
        return self.labels[0].name if self.given else None


@dataclass(frozen=True)
class Example:
    """A labelled text, and how near it is to another."""

    labels: tuple[str, ...]
    text: str
    where: str  # file and line
    score: float  # cosine of the n-grams of both, as the model weighs them: 1 for the same


class Classifier(Embeds):
    """A trained model that classifies texts; `encode` gives a vector of a text's n-grams, or its encoder's."""

    auto_class = "AutoModelForSequenceClassification"  # where it has an encoder
    network = "regard.families.classify.network:read"

    @property
    def longest(self) -> int:
        """Tokens of a text that are read: all there are, or as many as an encoder has positions for."""
        return min(MOST_TOKENS, self._config.longest) if self.has_encoder else sys.maxsize

    @property
    def has_encoder(self) -> bool:
        """Whether an encoder reads the text, and not n-grams."""
        return bool(self._config.kind == "bert")

    def sizes(self, texts: list[str]) -> list[int]:
        """In words, as they are counted: a tokenizer may take a thousand signs for one token it does not know."""
        if self.has_encoder:
            return super().sizes(texts)
        return [1 + max(len(split_words(text)), len(text) // LETTERS_OF_A_WORD) for text in texts]

    @property
    def labels(self) -> tuple[str, ...]:
        """Every label, in the order of their keys."""
        return tuple(self._config.labels)

    @overload
    def __call__(self, texts: str) -> str | None: ...

    @overload
    def __call__(self, texts: list[str]) -> list[str | None]: ...

    def __call__(self, texts: str | list[str]) -> str | list[str | None] | None:
        """The label of a text, or of each of several; those of a text that has several, separated by commas."""
        found = [
            ", ".join(one.given) or None for one in self.classify_all([texts] if isinstance(texts, str) else texts)
        ]
        return found[0] if isinstance(texts, str) else found

    def classify(self, text: str, *, top: int | None = None, unsure: float = 0.0) -> Classification:
        """The label of a text with its probability, and the `top` likeliest ones; none is given below `unsure`."""
        return self.classify_all([a_text(text)], top=top, unsure=unsure)[0]

    def classify_all(
        self, texts: Sequence[str], *, top: int | None = None, unsure: float = 0.0
    ) -> list[Classification]:
        """The same of many texts, in their order."""
        return list(self.each(several_texts(texts), top=top, unsure=unsure))

    def each(
        self, texts: Iterable[str], *, top: int | None = None, unsure: float = 0.0, together: int = TOGETHER
    ) -> Iterator[Classification]:
        """The same of a stream of texts, `together` of which are read at a time."""
        refuse_below_one(top=top, together=together)
        if not 0 <= unsure <= 1:
            raise ConfigError(f"unsure={unsure:g}: it is a probability, from 0 to 1")
        every = iter(texts)
        while some := list(islice(every, together)):
            texts_as_words = [split_words(text) for text in some]
            found = self._predict(
                [text for text, words in zip(some, texts_as_words, strict=True) if words], top, unsure
            )
            for words in texts_as_words:
                if not words:  # there is nothing that a label could be of
                    yield Classification((), [])
                    continue
                given, labels = next(found)
                unknown = dict.fromkeys(word for word in words if self._is_unknown(word))
                is_unlike = sum(word in unknown for word in words) > UNLIKE * len(words)
                yield Classification(given, labels, list(unknown), is_unlike)

    def evaluate(
        self, *files: str | Path, columns: Choice | None = None, keys: Choice | None = None,
        against: Classifier | None = None, separator: str | None = None,
    ) -> dict[str, Any]:  # fmt: skip
        """Accuracy, macro-F1, expected calibration error and confusion matrix on labelled texts.

        against: another classifier, compared by McNemar's exact test on the same texts.
        """
        examples, left_out = read_labelled(LabelFiles.of(files, keys or columns, separator))
        truth = [one.labels for one in examples]
        found = self.classify_all([one.text for one in examples], top=1)
        given = [one.given for one in found]
        right = [set(wanted) == set(got) for wanted, got in zip(truth, given, strict=True)]
        report: dict[str, Any] = dict(score_classes(truth, given, self.labels))
        report |= {
            "calibration_error": calibration_error(*_confidence(truth, found)),
            "texts": len(examples),
            "left_out": sum(one.count for one in left_out),
            "unknown_labels": len({label for one in truth for label in one} - set(self.labels)),
        }  # fmt: skip
        if against is not None:
            other = against.classify_all([one.text for one in examples], top=1)
            others = [set(wanted) == set(got.given) for wanted, got in zip(truth, other, strict=True)]
            report |= {"against_accuracy": sum(others) / len(others), **paired_test(right, others)}
        return report | {"confusion": confusion(truth, given)}

    def nearest(
        self, text: str, *files: str | Path, columns: Choice | None = None, keys: Choice | None = None,
        separator: str | None = None, top: int = 5,
    ) -> list[Example]:  # fmt: skip
        """The labelled texts of these files that are nearest to a text: what it was learned from, if they are its
        training files.
        """
        refuse_below_one(top=top)
        examples, _ = read_labelled(LabelFiles.of(files, keys or columns, separator))
        found = self.index([one.text for one in examples]).search(a_text(text), top=top)
        return [Example(*examples[match.line - 1], match.score) for match in found]

    def encode(self, texts: str | Sequence[str]) -> Tensor:
        """The vector of a text, (D,), or of each of several, (N, D)."""
        found: Tensor = resolve_name("torch:from_numpy")(
            self.vectors(several_texts([texts] if isinstance(texts, str) else texts))
        )
        return found[0] if isinstance(texts, str) else found

    def notes(self, texts: Sequence[str]) -> list[str]:
        """Nothing: all n-grams count, also those of words never seen. Of an encoder, as of others."""
        return super().notes(texts) if self.has_encoder else []

    def vectors(self, texts: list[str]) -> Vectors:
        """Vectors of length 1, (N, D); of n-grams without torch."""
        some = [a_text(text) for text in texts]
        if self.has_encoder:
            queries = resolve_name("regard.families.classify.network:queries_of")
            found = queries(self.model, self.tokenizer, some).numpy()
        else:
            weights = self.model.row_weights.cpu().numpy() if self._fast is None else self._fast.row_weights
            found = sketch([split_words(text) for text in some], weights)
        length = np.linalg.norm(found, axis=1, keepdims=True)
        return found / np.maximum(length, np.float32(1e-12))

    def look(self, text: str, *, why: bool = False) -> Inspection:
        """The attention of a text over the labels.

        why: also what each word is worth for the label, by leaving it out and by its gradient.
        """
        if not split_words(a_text(text)):
            raise CorpusError("the text has no word in it; there is nothing to look at")
        look = "look_at_tokens" if self.has_encoder else "look_at_labels"
        seen: Inspection = resolve_name(f"regard.families.classify.look:{look}")(self, text, why)
        return seen

    def read_now(self) -> Self:
        """Reads the table and the keys; the torch network is read where it is asked for, or where it is an encoder."""
        has_table = self._folder.config.get("kind") != "bert" and self._folder.config.get("model_type") != "bert"
        if self._fast is None and self._running.engine != "torch" and has_table:
            self._fast = LabelEngine(self._folder, self.tokenizer)
            return self
        return super().read_now()

    @property
    def _config(self) -> Any:
        return self.model.config if self._fast is None else self._fast.config

    def _predict(
        self, texts: list[str], top: int | None, unsure: float
    ) -> Iterator[tuple[tuple[str, ...], list[Label]]]:
        """Of each text: the labels that are given, none below the probability `unsure`; and the `top` likeliest."""
        names, several = self.labels, self._config.several_labels
        found = find_probabilities(self._logits(texts), several=several)  # (texts, C)
        best = np.argsort(-found, axis=1, kind="stable")[:, : top or len(names)]
        values = np.take_along_axis(found, best, axis=1)
        given = decide(found, names, several=several)
        for sure, numbers, probabilities in zip(given, best.tolist(), values.tolist(), strict=True):
            labels = [Label(names[number], value) for number, value in zip(numbers, probabilities, strict=True)]
            yield sure if probabilities[0] >= unsure else (), labels

    def _logits(self, texts: list[str]) -> Any:
        """(texts, C)"""
        if self.has_encoder:
            return resolve_name("regard.families.classify.network:encoded_logits")(self.model, self.tokenizer, texts)
        words = [split_words(text) for text in texts]
        if self._fast is not None:
            return self._fast.logits(words)
        return resolve_name("regard.families.classify.network:logits_of")(self.model, words)

    def _is_unknown(self, word: str) -> bool:
        """Whether it was never seen: none of the words of the training text, or a part of it is no token."""
        if self.has_encoder:
            return bool(self.tokenizer.has_unknown(self.tokenizer.encode(word)))
        return self.tokenizer.id_of(word) is None


def _confidence(truth: Sequence[tuple[str, ...]], found: Sequence[Classification]) -> tuple[list[float], list[bool]]:
    """Of each text, the probability of its likeliest label, and whether that is one of its own."""
    best = [one.labels[0] for one in found]
    return [one.probability for one in best], [one.name in wanted for wanted, one in zip(truth, best, strict=True)]
