"""The model a run goes on from instead of fresh weights: its shape, tokenizer and weights are taken over."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from regard.config import ModelConfig, Settings, choose_rate, merge
from regard.errors import ConfigError
from regard.files import hash_file
from regard.folder import ModelFolder
from regard.tasks.lineage import describe_base
from regard.tasks.task import Task
from regard.text.tokenizer import Tokenizer
from regard.use.trained import Running

if TYPE_CHECKING:
    from torch import Tensor

START = "start.safetensors"  # in the folder of a run: the weights it began with
GENTLER = 0.25  # of the usual learning rate: weights that know something should not be shaken


@dataclass(frozen=True)
class Beginning:
    """What is taken over from another model."""

    name: str
    model: ModelConfig
    tokenizer: Tokenizer
    weights: dict[str, Tensor]
    weights_sha256: list[str]  # of its files
    bases: list[dict[str, Any]]  # the models it is, for regard.json and the card

    @classmethod
    def read(cls, family: Task, start: Path) -> Beginning:
        """The model in a folder, which must be of this family."""
        folder = ModelFolder(start)
        if folder.about["task"] != family.name:
            raise ConfigError(
                f"{start} is a model to {folder.about['task']}; a model to {family.name} cannot go on from it"
            )
        opened: Any = family.open(folder, Running("torch"))
        _refuse_other_shapes(family, opened, start)
        hashes = [hash_file(path) for path in folder.weights()]
        bases = [describe_base(folder, str(start), hashes)]
        return cls(start.name, opened.model.config, opened.tokenizer, opened.model.state_dict(), hashes, bases)

    def shape(self, wanted: Settings) -> Settings:
        """The settings, with the shape of this model; dropout is the one thing about it that may still be chosen."""
        given = wanted.get("model", {})
        if wanted.get("size") or set(given) - {"dropout"}:
            raise ConfigError("size and shape are those of the model that is gone on from; leave --size and "
                              "--set model.… out (dropout may be set)")  # fmt: skip
        kept = self.model.model_dump()
        rate = GENTLER * choose_rate(self.model.width)
        return merge(merge({"train": {"rate": rate}}, wanted), {"model": kept | given})

    def keep(self, path: Path) -> None:
        """Writes the weights for whoever sets the run up."""
        from regard.data.store import write_tensors

        write_tensors(path, self.weights, {})


def _refuse_other_shapes(family: Task, opened: Any, start: Path) -> None:
    """Some shapes are run here but never built anew: an encoder and a decoder that were put together."""
    import torch

    with torch.device("meta"):
        fresh = family.build(opened.model.config, opened.tokenizer)
    if fresh.state_dict().keys() != opened.model.state_dict().keys():
        raise ConfigError(
            f"{start} has a shape ({type(opened.model).__name__}) that can be used here but not trained further"
        )
