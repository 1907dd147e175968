"""Models come in from Hugging Face's folders and go out to other people's programs; both are tried first."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from regard import __version__
from regard.compare import compare_engines, compare_with_transformers
from regard.config import resolve
from regard.engines.cache import WEIGHTS as FAST_WEIGHTS
from regard.engines.cache import CTranslate2Cache
from regard.engines.packed import Precision
from regard.errors import ConfigError, FolderError
from regard.families import all_families, find_surface
from regard.files import write_whole
from regard.folder import CONFIG, FORMAT, WEIGHTS, Content, ModelFolder, ModelInfo, refuse_existing, write_model
from regard.formats import bert, bert_generation
from regard.formats.tokenizers import CONFIG as TOKENIZING
from regard.formats.weights import copy_weights, list_weights
from regard.load import load
from regard.look.export import to_frame
from regard.look.live import join_engine, pack_model, to_page
from regard.look.marks import refuse_file_of_others
from regard.model.size import count_parameters
from regard.training.card import describe_comparison, import_card
from regard.training.lineage import read_licence
from regard.training.recipe import encode_json, weights_file

BESIDE = ("generation_config.json", "tokenizer_config.json", "special_tokens_map.json")
FROM_HUB = ("*.json", "*.txt", "*.spm", "*.safetensors", "*/config.json")  # nothing that could hold a pickle


def import_model(source: str, to: Path, part: str | None = None) -> ModelInfo:
    """Makes a folder of ours from one of Hugging Face's, or from a model of its hub; returns its regard.json.

    part: encoder, generation-encoder or decoder, to take a plain BERT over as one.
    """
    refuse_existing(to, "import")
    folder = ModelFolder(Path(source) if Path(source).exists() else _download(source))
    if not folder.is_foreign:
        raise FolderError(f"{source} is a model made by regard already; nothing is to be imported")
    opened = load(folder.folder, part=part)  # every weight is used, or this fails; of a part, unused weights are listed
    listed = list_weights(folder.weights())
    as_they_are = (folder.config, lambda path: copy_weights(listed, path))
    config, weights = _as_part(folder, opened, part) if part else as_they_are
    settings = resolve({"task": opened.info.task, "model": opened.model.config.model_dump()})
    update: dict[str, Any] = {
        "format": FORMAT,
        "regard": __version__,
        "imported_from": source,
        "parameters": count_parameters(opened.model),
        "settings": settings.model_dump(mode="json"),
        "foreign": config["architectures"][0],
        "scores": {},
        **({"license": licence} if (licence := read_licence(folder)) else {}),
        **({"dropped": opened.dropped, "new": opened.new} if part else {}),
    }
    if hasattr(opened, "pooling"):
        update["encoder"] = {"pooling": opened.pooling, "is_normed": opened.is_normed, "longest": opened.longest}
    info = ModelInfo(**opened.info.model_dump(exclude_unset=True, exclude={"part", "architecture"}) | update)
    contents: dict[str, Content] = {CONFIG: encode_json(config), WEIGHTS: weights, "README.md": import_card(info)}
    contents |= opened.tokenizer.files()
    contents |= {name: encode_json(folder.json(name)) for name in BESIDE if (folder.path / name).is_file()}
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{to.name}.", dir=to.parent) as place:
        new = Path(place) / "new"
        write_model(new, info.to_dict(), contents)
        del opened, contents, weights  # a large model fits into the memory once, or twice, but not four times
        slow = load(new, engine="torch")
        with _naming(source):
            compare_with_transformers(new, slow)
            compare_engines(load(new) if slow.fast_engine else slow, slow)
        new.rename(to)  # only what was tried and found right
    return info


def _as_part(folder: ModelFolder, opened: Any, part: str) -> tuple[dict[str, Any], Content]:
    """The config and the weights of an encoder or a decoder that a plain BERT became."""
    weights = opened.model.state_dict()
    if part == "decoder":
        config = bert_generation.export_decoder_config(folder.config)
        return config, weights_file(bert_generation.export_weights(weights))
    if part == "generation-encoder":
        config = bert_generation.export_encoder_config(folder.config)
        return config, weights_file(bert_generation.export_weights(weights))
    return folder.config | {"architectures": ["BertModel"]}, weights_file(bert.export_weights(weights))


def export_model(model: Path, kind: str, to: Path, precision: Precision | None = None) -> str:
    """Writes a model for another program, and runs it there on a few samples; how far the two are apart, in words.

    precision: of the weights in a page, float16 if not given.
    """
    refuse_existing(to, "export", "file" if kind == "page" else "folder")
    folder = ModelFolder(model)
    page = partial(_to_page, precision=precision)
    exporters: dict[str, Callable[[ModelFolder, Path], str]] = {
        "huggingface": _to_huggingface, "ctranslate2": _to_ctranslate2, "page": page,
    }  # fmt: skip
    if kind not in exporters:
        raise ConfigError(f"--as {kind} is not one of {', '.join(exporters)}")
    if kind != "page" and precision is not None:
        raise ConfigError(f"--precision is of a page; --as {kind} has the weights as they are")
    to.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{to.name}.", dir=to.parent) as place:
        result = exporters[kind](folder, Path(place) / "new")
        (Path(place) / "new").rename(to)  # only what was tried and found right
    return result


def _to_huggingface(folder: ModelFolder, to: Path) -> str:
    trained = {name: resolve_name(one.pipeline) for name, one in all_families().items() if one.recipe}
    exported = [name for name, pipeline in trained.items() if pipeline.auto_class]
    if (task := folder.info.task) not in exported:
        raise ConfigError(f"{folder.folder} is a model to {task}; those to {', '.join(exported)} are exported")
    if str(folder.config.get("model_type", "")).startswith("regard-"):
        compared = describe_comparison(folder.info)
        why = f"was compared {compared}" if compared else "has a shape that no class of transformers has"
        raise ConfigError(f"{folder.folder} {why}; it opens in regard only, and cannot be exported for transformers")
    folder.copy_to(to)
    if find_spec("transformers") is None:
        raise ConfigError("an export is tried out in transformers, which is not installed: pip install transformers")
    with _naming(folder.folder):
        return compare_with_transformers(to, load(to, engine="torch")) or ""


def _to_ctranslate2(folder: ModelFolder, to: Path) -> str:
    opened = load(folder.folder, engine="ctranslate2")
    copy = CTranslate2Cache(folder)
    assert copy.is_known(), "it was just opened"
    to.mkdir()
    for path in copy.files():
        shutil.copyfile(path, to / path.name)
    for name, content in opened.tokenizer.files().items():
        (to / name).write_bytes(content)
    if folder.has(TOKENIZING):
        (to / TOKENIZING).write_text(encode_json(folder.json(TOKENIZING)), encoding="utf-8")
    assert (to / FAST_WEIGHTS).is_file()
    with _naming(folder.folder):
        return compare_engines(opened, load(folder.folder, engine="torch")) or ""


def _to_page(folder: ModelFolder, to: Path, precision: Precision | None) -> str:
    content = make_page(load(folder.folder, engine="torch"), folder.folder.resolve().name, precision)
    to.write_text(content, encoding="utf-8")
    return f"{len(content.encode()) / 1e6:.1f} MB; open it in a browser"


def make_page(
    opened: Any, name: str, precision: Precision | None = None, given: dict[str, str] | None = None,
    history: dict[str, Any] | None = None,
) -> str:  # fmt: skip
    """A page that holds a model and runs it; given: texts to begin with, by field; history: of `read_history`."""
    return to_page(*page_parts(opened, name, precision, given), history)


@dataclass(frozen=True)
class Page:
    """A page that holds a model and runs it: a notebook shows it."""

    html: str

    def save(self, path: str | Path) -> None:
        """Writes it, but never over a file of another program."""
        refuse_file_of_others(Path(path))
        write_whole(Path(path), self.html)

    def _repr_html_(self) -> str:
        return to_frame(self.html)


def show(model: Any, text: str = "", *, story: str = "", precision: Precision | None = None) -> Page:
    """The model live in a page, of a notebook or to be saved; text, story: what it begins with."""
    given = {name: value for name, value in (("text", text), ("story", story)) if value}
    return Page(make_page(model, model.name, precision, given))


def share_model(opened: Any, name: str) -> bytes:
    """What the page of a server needs to run a model itself, as JSON: the same that a saved page holds."""
    about, tokenizer, weights, precision, scripts = page_parts(opened, name)
    packed = pack_model(about, tokenizer, weights, precision) | {"engine": join_engine(scripts[1])}
    return json.dumps(packed, ensure_ascii=False).encode()


def page_parts(
    opened: Any, name: str, precision: Precision | None = None, given: dict[str, str] | None = None
) -> tuple[dict[str, Any], Any, dict[str, Any], Precision, list[str]]:
    """What a page is made of: facts, tokenizer, weights and their precision, and the scripts of panel and engine."""
    task = opened.info.task
    surface = find_surface(task)
    if surface.engine is None or surface.page is None or surface.body is None:
        raise ConfigError(
            f"a model to {task} does not run in a page; give a text, and what it does with it is recorded"
        )
    facts = surface.facts(opened) | surface.live(opened)
    label = f"{name} ({facts['source']} → {facts['target']})" if "source" in facts else name
    about = {
        "id": name, "label": label, "task": task, "config": opened.model.config.model_dump(), "given": given or {},
        "is_foreign": opened.info.foreign is not None, "head_roles": opened.info.head_roles,
        "generation": asdict(opened.generation),
        "fields": surface.body.model_json_schema()["properties"],
    } | facts  # fmt: skip
    places = [script.partition(":") for script in (surface.page, surface.engine)]
    scripts = [files(package).joinpath(file).read_text(encoding="utf-8") for package, _, file in places]
    weights = {name: tensor for name, tensor in opened.model.state_dict().items() if tensor.is_floating_point()}
    return about, opened.tokenizer, weights, precision or "float16", scripts


@contextmanager
def _naming(model: str | Path) -> Iterator[None]:
    """An error of a comparison names the model; what is compared is a copy that is gone afterwards."""
    try:
        yield
    except FolderError as problem:
        raise FolderError(f"{model}: {problem}") from None


def _download(name: str) -> Path:
    """Downloads a model from the hub; the one place where the network is used, and only on request."""
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise ConfigError(f"{name} is no folder here, and to fetch it from the hub huggingface_hub is needed: "
                          f"pip install huggingface_hub") from None  # fmt: skip
    try:
        return Path(snapshot_download(name, allow_patterns=list(FROM_HUB)))
    except Exception as problem:
        raise FolderError(f"{name} is no folder here, and could not be fetched from the hub: {problem}") from None
