"""Checkpoints: everything needed to resume after a crash, bit for bit.

Files of weights never change once they have their name (the step is in it); a manifest per saved step says which of
them belong together and what their SHA-256 is. Saving writes the files, then the manifest; loading takes the newest
manifest whose files are all there and whole. So a crash at any moment leaves the last good state as it was.

weights-00000512.safetensors      the network after step 512
optimizer-00000512.safetensors    Adam's memory of it
best-00000448.safetensors         the average that scored best so far
state-00000512.json               step, scores so far, and the names and hashes of the files above
"""

import json
import re
import stat
from dataclasses import dataclass
from pathlib import Path

import torch
from pydantic import BaseModel, ConfigDict, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from regard.errors import RunError
from regard.files import hash_file, open_regular, read_regular, refuse_other_kind, write_whole
from regard.training.distributed import part_like

OURS = re.compile(r"(weights|optimizer|best)-\d{8,}\.safetensors|state-\d{8,}\.json")  # names of files
MOST_MANIFEST_BYTES = 2**20
KEPT = 2  # saved states; the older one is there in case the newer one cannot be read


class TrainState(BaseModel):
    """How far a run got: small numbers that go with the weights."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    step: int = 0
    tokens: int = 0
    seconds: float = 0.0  # spent training, validation included, over all sessions
    scored_step: int = 0  # the last step that was scored
    averaged: tuple[int, ...] = ()  # steps whose weights are averaged when scoring
    best_step: int | None = None
    best_scores: dict[str, float] = {}
    misses: int = 0  # scores since the best
    first_loss: float | None = None  # of the first step, to detect divergence
    skipped: int = 0  # steps that were of no use and left the weights alone
    micro_batches: int = 1  # of each batch; more after running out of memory
    cooldown: tuple[int, int] | None = None  # after and until which step the learning rate falls to 0
    cooldown_for: dict[str, float | None] | None = None  # the limits of the run when that was decided
    doubled_at: tuple[int, ...] = ()  # steps at which micro_batches was doubled


@dataclass(frozen=True)
class CheckpointStore:
    """The saved states of a run, in a folder."""

    folder: Path

    def make(self) -> None:
        """Makes the folder; a link or a file of its name is an OSError."""
        refuse_other_kind(self.folder, stat.S_IFDIR)
        self.folder.mkdir(exist_ok=True)

    def clear(self) -> None:
        """Removes all saved states, and the folder if nothing else is in it."""
        if refuse_other_kind(self.folder, stat.S_IFDIR):
            for path in self._files():
                path.unlink()
            if not any(self.folder.iterdir()):
                self.folder.rmdir()

    def put(self, kind: str, step: int, tensors: dict[str, Tensor]) -> None:
        """Writes one file of tensors; it only counts once a saved state names it."""
        whole = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
        write_whole(self._file(kind, step), lambda path: save_file(whole, path, metadata={"format": "pt"}))

    def get(self, kind: str, step: int) -> dict[str, Tensor]:
        """The tensors of a file that was put."""
        open_regular(self._file(kind, step)).close()
        return load_file(self._file(kind, step))

    def save(self, state: TrainState, weights: dict[str, Tensor], optimizer: dict[str, Tensor]) -> None:
        """Makes this the checkpoint to resume from."""
        self.put("weights", state.step, weights)
        self.put("optimizer", state.step, optimizer)
        files = {path.name: hash_file(path) for path in self._files_of(state)}
        manifest = {"state": state.model_dump(mode="json"), "files": files}
        write_whole(self._manifest(state.step), json.dumps(manifest, indent=2) + "\n")
        self._tidy(state.step)

    def newest(self, limits: dict[str, float | None] | None = None) -> TrainState | None:
        """How far the newest whole state got, or nothing if there is none.

        limits: of the run to resume. A cool-down belongs to the limits that it was begun for; with others the run goes
        back to where it began, as if they had been asked for at once.
        """
        for manifest in self._manifests():
            state = self._read(manifest)
            if state is None:
                continue
            if state.cooldown and limits is not None and state.cooldown_for != limits:
                dropped = state.model_copy(update={"cooldown": None, "cooldown_for": None})
                return self._read(self._manifest(state.cooldown[0])) or dropped
            return state
        return None

    def forget(self, step: int) -> None:
        """Removes the saved state of this step, if there is an older one to go back to."""
        manifests = self._manifests()
        if len(manifests) > 1 and manifests[0] == self._manifest(step):
            manifests[0].unlink()

    def _read(self, manifest: Path) -> TrainState | None:
        try:
            content = json.loads(read_regular(manifest, MOST_MANIFEST_BYTES))
            state = TrainState.model_validate(content["state"])
            hashes = content["files"]
            whole = all(hashes[path.name] == hash_file(path) for path in self._files_of(state))
        except (OSError, ValueError, KeyError, TypeError, RecursionError, ValidationError):
            return None
        return state if whole else None

    def _tidy(self, step: int) -> None:
        """Removes what no kept state names: older states, damaged ones, and later ones we went back from."""
        needed: set[str] = set()
        kept = 0
        for manifest in self._manifests():
            is_later = manifest.name > self._manifest(step).name
            if not is_later and kept < KEPT and (state := self._read(manifest)) is not None:
                kept += 1
                needed |= {manifest.name, *(path.name for path in self._files_of(state))}
                before = self._manifest(state.cooldown[0]) if state.cooldown else manifest
                if (earlier := self._read(before)) is not None:
                    needed |= {before.name, *(path.name for path in self._files_of(earlier))}
        for path in self._files():
            if path.name not in needed:
                path.unlink()

    def _files(self) -> list[Path]:
        """All that is in the folder and has a name of ours; what else is there is the user's."""
        return [p for p in self.folder.iterdir() if OURS.fullmatch(p.name) and not stat.S_ISDIR(p.lstat().st_mode)]

    def _manifests(self) -> list[Path]:
        if not self.folder.is_dir():
            return []
        return sorted((path for path in self._files() if path.suffix == ".json"), reverse=True)

    def _files_of(self, state: TrainState) -> list[Path]:
        wanted = [("weights", step) for step in {*state.averaged, state.step}]
        wanted.append(("optimizer", state.step))
        if state.best_step is not None:
            wanted.append(("best", state.best_step))
        return [self._file(kind, step) for kind, step in sorted(wanted)]

    def _manifest(self, step: int) -> Path:
        return self.folder / f"state-{step:08}.json"

    def _file(self, kind: str, step: int) -> Path:
        return self.folder / f"{kind}-{step:08}.safetensors"


def flatten_optimizer(optimizer: torch.optim.Optimizer) -> dict[str, Tensor]:
    """Adam's memory as named tensors."""
    state = optimizer.state_dict()["state"]
    return {f"{number}.{name}": tensor for number, entry in state.items() for name, tensor in entry.items()}


def restore_optimizer(optimizer: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    """Puts Adam's memory back where it was; of a sharded model, each process its part."""
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        number, _, name = key.partition(".")
        state.setdefault(int(number), {})[name] = part_like(tensor, parameters[int(number)])
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})


def restore_weights(model: torch.nn.Module, tensors: dict[str, Tensor]) -> None:
    """Puts weights into a model; anything missing or left over is an error."""
    try:
        model.load_state_dict(tensors)
    except (RuntimeError, SafetensorError) as problem:
        raise RunError(f"the saved weights do not fit the model they were saved for: {problem}") from None
