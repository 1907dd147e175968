"""Encoded text in a file that is mapped, not read: processes share one copy, and memory holds what is in use."""

import json
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from regard.errors import RunError
from regard.files import open_regular, write_whole


def write_tensors(path: Path, tensors: dict[str, Tensor], about: dict[str, Any]) -> None:
    """Keeps tensors, and a few words about them; whole or not at all."""
    whole = {name: tensor.contiguous() for name, tensor in tensors.items()}
    write_whole(path, lambda to: save_file(whole, to, metadata={"about": json.dumps(about)}))


def open_tensors(path: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """What was kept; the tensors are views of the file."""
    try:
        open_regular(path).close()  # what is no file would be waited for
        with safe_open(path, framework="pt") as file:
            about = json.loads(file.metadata()["about"])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (OSError, SafetensorError, ValueError, KeyError, TypeError) as problem:
        raise RunError(f"{path} cannot be read ({problem}); remove it, and the text is encoded again") from None
