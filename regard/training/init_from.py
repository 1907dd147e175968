"""Fine-tuning: a run starts from a model's shape, tokenizer and weights instead of fresh ones."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from torch import Tensor

from regard.config import ModelConfig, Settings, default_learning_rate, merge
from regard.data.store import write_tensors
from regard.errors import ConfigError
from regard.files import hash_file
from regard.folder import ModelFolder
from regard.text.tokenizer import Tokenizer
from regard.training.lineage import describe_base
from regard.training.recipe import Corpus, Parts, Recipe

Start = Path | tuple[Path, Path]  # a model, or an encoder and a decoder
GENTLER = 0.25  # of the usual learning rate: weights that know something should not be shaken


def choose_start(
    start: str | Path | None, encoder: str | Path | None, decoder: str | Path | None
) -> Start | None:  # fmt: skip
    """What a run begins from, as it was asked for."""
    if encoder is None and decoder is None:
        return None if start is None else Path(start)
    if start is not None or encoder is None or decoder is None:
        raise ConfigError("an encoder and a decoder make a translator together; give both folders (--encoder, "
                          "--decoder), or one model to fine-tune (--from)")  # fmt: skip
    return Path(encoder), Path(decoder)


@dataclass(frozen=True)
class InitFrom:
    """What is taken over from another model."""

    name: str
    where: str  # its folder, or both folders
    model: ModelConfig
    tokenizer: Tokenizer
    weights: dict[str, Tensor]
    weights_sha256: list[str]  # of its files
    bases: list[dict[str, Any]]  # the models it is, for regard.json and the card
    settings: Settings = field(default_factory=dict)  # of the run that made it

    @classmethod
    def read(cls, recipe: Recipe, start: Start, load: Callable[..., Any]) -> InitFrom:
        """The model in a folder, which must be of this family; or the one that an encoder and a decoder make.

        load: opens a model, as `regard.load` does.
        """
        if isinstance(start, tuple):
            return cls._of_two(recipe, *start)
        folder = ModelFolder(start)
        adopted = recipe.adopt(folder, start, load) if recipe.adopt and folder.info.task != recipe.name else None
        if folder.info.task != recipe.name and adopted is None:
            raise ConfigError(f"{start} is a model to {folder.info.task}; a model to {recipe.name} cannot be "
                              f"fine-tuned from it. Leave --from out to begin with fresh weights, or name a model to "
                              f"{recipe.name}")  # fmt: skip
        shape, tokenizer, weights = adopted or _parts_of(load(start, engine="torch"))
        hashes = [hash_file(path) for path in folder.weights()]
        bases = [describe_base(folder, str(start), hashes)]
        return cls(start.name, str(start), shape, tokenizer, weights, hashes, bases, folder.info.settings)

    @classmethod
    def _of_two(cls, recipe: Recipe, encoder: Path, decoder: Path) -> InitFrom:
        if recipe.join is None:
            raise ConfigError(f"a model to {recipe.name} is not made of an encoder and a decoder; begin from one "
                              f"model, with --from")  # fmt: skip
        folders = ModelFolder(encoder), ModelFolder(decoder)
        hashes = [[hash_file(path) for path in folder.weights()] for folder in folders]
        every = [one for mine in hashes for one in mine]
        model, tokenizer, weights = recipe.join(*folders)
        bases = [
            describe_base(folder, str(path), mine)
            for folder, path, mine in zip(folders, (encoder, decoder), hashes, strict=True)
        ]
        name = f"{encoder.name} and {decoder.name}"
        return cls(name, f"{encoder} and {decoder}", model, tokenizer, weights, every, bases)

    def extended(self, recipe: Recipe, corpus: Corpus) -> InitFrom:
        """The same, with what this text needs beside it."""
        if recipe.extend is None:
            return self
        model, tokenizer, weights = recipe.extend(corpus, self.model, self.tokenizer, self.weights)
        return replace(self, model=model, tokenizer=tokenizer, weights=weights)

    def shape(self, wanted: Settings, rate_of: Callable[[ModelConfig], float] | None) -> Settings:
        """The settings, with the shape of this model; dropout is the one thing about it that may still be chosen."""
        given = wanted.get("model", {})
        if wanted.get("size") or set(given) - {"dropout"}:
            raise ConfigError("size and shape are those of the model that is fine-tuned; leave --size and "
                              "--set model.… out (dropout may be set)")  # fmt: skip
        if chosen := [f"text.{name}" for name in wanted.get("text", {}) if name != "max_length"]:
            raise ConfigError(f"the tokenizer is that of the model that is fine-tuned; leave {', '.join(chosen)} out")
        kept = self.model.model_dump()
        if self.model.encoder and "dropout" in given:
            kept["encoder"]["dropout"] = given["dropout"]
        rate = rate_of(self.model) if rate_of else GENTLER * default_learning_rate(self.model.width)
        return merge(merge({"train": {"learning_rate": rate}}, wanted), {"model": kept | given})

    def keep(self, path: Path) -> None:
        """Writes the initial weights of the run; what is not among them is initialized by the run's seed."""
        write_tensors(path, self.weights, {})


def _parts_of(opened: Any) -> Parts:
    return opened.model.config, opened.tokenizer, opened.model.state_dict()
