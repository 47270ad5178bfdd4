"""What the files of a sentence-transformers model say about it, without loading it and without a network."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vecctx.errors import ModelError, OptionalDependencyError

EXTRA = "sentence-transformers"

_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
_WEIGHTS = {
    "torch": (".safetensors", ".bin"),
    "onnx": (".onnx", ".onnx_data"),
    "openvino": (".xml", ".bin"),
}
_SETTINGS = (".json", ".txt", ".model")
# Enough of both ends of a weights file to tell two trainings apart, without reading gigabytes.
_SAMPLE_BYTES = 65_536
_PASSAGE_NAMES = ("document", "passage", "corpus")


@dataclass(frozen=True, slots=True)
class Prompts:
    """What is put before a question, and before a text that is searched."""

    query: str
    passage: str


def find_folder(path_or_name: str) -> Path:
    """The folder of a model: the path itself, or where an earlier download of that name lies.

    Raises:
        ModelError: it is not on this machine.
        OptionalDependencyError: a name was given and sentence-transformers is not installed.
    """
    folder = Path(path_or_name).expanduser()
    if not folder.is_dir():
        folder = _downloaded(path_or_name)
    if not ((folder / "modules.json").is_file() or (folder / "config.json").is_file()):
        raise ModelError(f"{folder} holds no sentence-transformers model: no modules.json and no config.json")
    return folder


def choose_backend(folder: Path) -> str:
    """The backend that the weights are for; torch where there are several."""
    names = [path.name for path in folder.rglob("*") if path.is_file()]
    has_torch = any(name.endswith((".safetensors", "pytorch_model.bin")) for name in names)
    return "onnx" if not has_torch and any(name.endswith(".onnx") for name in names) else "torch"


def read_revision(folder: Path, backend: str) -> str:
    """Twelve hex digits that change with the settings, the tokenizer or the weights, wherever the folder lies."""
    digest = hashlib.sha256(backend.encode())
    for path in sorted(folder.rglob("*")):
        if path.suffix in (*_SETTINGS, *_WEIGHTS.get(backend, ())) and path.is_file():
            digest.update(f"\0{path.relative_to(folder).as_posix()}\0{path.stat().st_size}\0".encode())
            digest.update(_ends_of(path))
    return digest.hexdigest()[:12]


def read_dimensions(folder: Path) -> int | None:
    """Dimensions of the vectors; None where only the loaded model can tell."""
    modules: Any = _read_json(folder / "modules.json") or []
    for module in reversed(modules):
        settings = _read_json(folder / module.get("path", "") / "config.json") if module.get("path") else {}
        for key in ("out_features", "word_embedding_dimension", "embedding_dimension"):
            if isinstance(settings.get(key), int):
                return int(settings[key])
    hidden = _read_json(folder / "config.json").get("hidden_size")
    return hidden if isinstance(hidden, int) else None


def read_prompts(folder: Path) -> Prompts:
    """The prompts that the model was trained with; empty where it names none."""
    settings = _read_json(folder / "config_sentence_transformers.json")
    prompts: Mapping[str, str] = settings.get("prompts") or {}
    usual = prompts.get(settings.get("default_prompt_name") or "", "")
    passage = next((prompts[name] for name in _PASSAGE_NAMES if prompts.get(name)), usual)
    return Prompts(query=prompts.get("query") or usual, passage=passage)


def _downloaded(name: str) -> Path:
    if not _HUB_NAME.fullmatch(name):
        raise ModelError(f"there is no folder {name}; give the path of a model, or the name of a downloaded one")
    try:
        from huggingface_hub import snapshot_download
    except ImportError as problem:
        raise OptionalDependencyError("sentence-transformers", EXTRA) from problem
    full_name = name if "/" in name else f"sentence-transformers/{name}"
    try:
        return Path(snapshot_download(full_name, local_files_only=True))
    except Exception as problem:  # the hub's errors for "not here" differ from version to version
        raise ModelError(
            f"the model {full_name} is not on this machine, and vecctx never downloads by itself; "
            f"run: hf download {full_name}"
        ) from problem


def _read_json(path: Path) -> Any:  # noqa: ANN401 - an object or a list, as the file has it
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as problem:
        raise ModelError(f"{path} cannot be read ({problem}); download the model again") from problem


def _ends_of(path: Path) -> bytes:
    return b"".join(_read_ends(path))


def _read_ends(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield file.read(_SAMPLE_BYTES)
            file.seek(max(0, path.stat().st_size - _SAMPLE_BYTES))
            yield file.read(_SAMPLE_BYTES)
    except OSError as problem:
        raise ModelError(f"{path} cannot be read ({problem.strerror}); download the model again") from problem
