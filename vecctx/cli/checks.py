"""What `vecctx doctor` looks at: each check gives one finding."""

import platform
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from vecctx._version import __version__
from vecctx.cli.opening import existing_store, located_store
from vecctx.cli.terminal import count
from vecctx.errors import ModelError, VecctxError
from vecctx.settings import Settings, home_folder

if TYPE_CHECKING:
    from vecctx.ports import Embedder
    from vecctx.wiring import Opened

State: TypeAlias = Literal["ok", "note", "problem"]

_PACKAGES = ("numpy", "faiss-cpu", "onnxruntime", "tokenizers", "tiktoken", "pyyaml", "click", "rich")
_UNIT = 0.01
"""How far the length of a vector may be from 1."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found."""

    name: str
    state: State
    detail: str
    remedy: str = ""
    """What to do; empty where there is nothing to do."""


def check_all(store: Path | None) -> Iterator[Finding]:
    """All findings, as they come; nothing is made where there is no store."""
    yield versions()
    settings, finding = settings_of(store)
    yield finding
    yield model(settings)
    yield ranks()
    yield from _store_checks(store, finding)


def versions() -> Finding:
    """Whether all packages that are needed are there."""
    found = {name: _version(name) for name in _PACKAGES}
    missing = [name for name, number in found.items() if not number]
    known = ", ".join(f"{name} {number}" for name, number in found.items() if number)
    detail = f"vecctx {__version__}, Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {known}"
    if missing:
        return Finding("versions", "problem", f"missing: {', '.join(missing)}", f"pip install {' '.join(missing)}")
    return Finding("versions", "ok", detail)


def settings_of(store: Path | None) -> tuple[Settings, Finding]:
    """The settings, or the defaults where they cannot be read."""
    try:
        config = home_folder() / "config.yaml"
    except VecctxError as error:
        return Settings(), Finding("settings", "problem", str(error))
    try:
        settings, folder = located_store(store)
    except VecctxError as error:
        return Settings(), Finding("settings", "problem", str(error), f"correct it in {config}")
    source = str(config) if config.exists() else f"defaults ({config} does not exist)"
    return settings, Finding("settings", "ok", f"{source}; store {folder}")


def model(settings: Settings) -> Finding:
    """Whether the embedding model loads, and gives vectors as it says."""
    from vecctx.wiring import embedder_for

    try:
        detail = _tried(embedder_for(settings))
    except VecctxError as error:
        return Finding("model", "problem", str(error), "install vecctx again, or correct the setting `model`")
    return Finding("model", "ok", detail)


def ranks() -> Finding:
    """Whether the tokenizer ranks are whole; without them tokens are estimated."""
    from vecctx.adapters.token_ranks import load_encoding

    try:
        tokens = {name: len(load_encoding(name).encode_ordinary("vecctx")) for name in ("cl100k_base", "o200k_base")}
    except ModelError as error:
        return Finding("token ranks", "problem", str(error), "install vecctx again; until then tokens are estimated")
    return Finding("token ranks", "ok", f"{' and '.join(tokens)} have their checksums")


def _store_checks(store: Path | None, settings: Finding) -> Iterator[Finding]:
    if settings.state == "problem":
        yield Finding("store", "problem", "was not looked at", "correct the settings first")
        return
    try:
        with existing_store(store) as opened:
            folder = located_store(store)[1]
            yield Finding("store", "ok", f"opens: {folder}")
            yield integrity(opened)
            yield pending(opened)
            yield index_files(opened, folder)
    except VecctxError as error:
        # What to do is part of it.
        yield Finding("store", "problem", str(error))


def integrity(opened: "Opened") -> Finding:
    """Whether the database is whole, and everything in it fits together."""
    faults = opened.parts.store.check()
    if faults:
        remedy = "copy the store's folder, then move it away: a new one is made; or put a backup in its place"
        return Finding("integrity", "problem", " ".join(faults), remedy)
    return Finding("integrity", "ok", "the database is whole, its full-text index fits its messages")


def pending(opened: "Opened") -> Finding:
    """Whether everything is embedded. A running agent may be about to do it, so this is no problem by itself."""
    sizes = opened.parts.store.stats(opened.parts.embedder.identity)
    if sizes.pending:
        detail = f"{count(sizes.pending, 'passage')} of {sizes.chunks:,} wait for a vector, found by words only"
        return Finding("embeddings", "note", detail, "the agent embeds them when it runs with this store")
    return Finding("embeddings", "ok", f"all {count(sizes.chunks, 'passage')} are embedded")


def index_files(opened: "Opened", folder: Path) -> Finding:
    """Whether the index files fit the store; a damaged one is rebuilt here."""
    import numpy as np

    from vecctx.wiring import INDEX_FOLDER

    files = folder / INDEX_FOLDER
    before = _put_aside(files)
    query = np.zeros(opened.parts.embedder.identity.dimensions, dtype=np.float32)
    query[0] = 1.0
    conversations = opened.parts.store.conversations_of(None)
    for conversation_id in conversations:
        opened.parts.index.search((conversation_id,), query, 1)
    opened.parts.index.save()
    damaged = [name for name, made in _put_aside(files).items() if before.get(name) != made]
    if damaged:
        detail = f"{count(len(damaged), 'damaged file was', 'damaged files were')} rebuilt from the store"
        return Finding("index files", "note", f"{detail}; put aside as {', '.join(damaged)}")
    return Finding("index files", "ok", f"fit the store ({count(len(conversations), 'conversation')})")


def _tried(embedder: "Embedder") -> str:
    import numpy as np

    vector = embedder.embed_query("a short text")
    dimensions, length = embedder.identity.dimensions, float(np.linalg.norm(vector))
    if vector.shape != (dimensions,) or abs(length - 1) > _UNIT:
        raise ModelError(f"{embedder.identity.model} gave a vector of {vector.shape} and length {length:.2f}")
    return f"{embedder.identity.model} ({embedder.identity.revision}) gives {dimensions} numbers"


def _put_aside(files: Path) -> dict[str, int]:
    """The damaged files that were put aside so far, each with when that was."""
    return {path.name: path.stat().st_mtime_ns for path in sorted(files.glob("*.corrupt"))}


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""
