"""Settings into parts: the only module that names an adapter."""

import os
import threading
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from vecctx.errors import VecctxError
from vecctx.ingest import embed_pending
from vecctx.ports import Embedder, Parts, TokenCounter
from vecctx.settings import Settings, store_folder

if TYPE_CHECKING:
    from vecctx.adapters.embedding_worker import EmbeddingWorker
    from vecctx.adapters.token_counter import EncodingName

DATABASE_NAME = "vecctx.db"
INDEX_FOLDER = "index"


class Opened:
    """The parts of one store, shared by every engine of the process that uses it. Close it once for each opening."""

    def __init__(self, key: "_Key", parts: Parts, worker: "EmbeddingWorker") -> None:
        self.parts = parts
        self.worker = worker
        self._key = key
        self._uses = 0

    def serves(self, settings: Settings, home: Path) -> bool:
        """Whether these are the parts for these settings, in this process."""
        return self._key == _key(settings, home)

    def flush(self, timeout_seconds: float | None = None) -> bool:
        """Wait until everything stored is searchable, for other processes too; False if time ran out or it failed."""
        self.worker.wake()
        is_done = self.worker.wait(timeout_seconds)
        self.parts.index.save()
        return is_done

    def close(self) -> None:
        """Give this use back; the last one saves the index and closes the database."""
        with _open_lock:
            self._uses -= 1
            if self._uses > 0 or _open.get(self._key) is not self:
                return
            del _open[self._key]
        self.worker.close()
        self.parts.index.save()
        self.parts.store.close()


@dataclass(frozen=True, slots=True)
class _Key:
    folder: Path
    model: str
    process: int
    """A forked child opens its own: neither SQLite nor FAISS survive a fork."""


_open: dict[_Key, Opened] = {}
_open_lock = threading.RLock()
"""Guards the table of open stores. An engine that is garbage gives its use back, wherever the thread just is."""


def open_parts(settings: Settings, home: Path) -> Opened:
    """The parts for these settings, opened once in a process however many engines ask.

    Raises:
        StoreError: the store cannot be opened.
    """
    key = _key(settings, home)
    with _open_lock:
        opened = _open.get(key)
        if opened is None:
            opened = _open[key] = _opened(key, settings)
        opened._uses += 1  # noqa: SLF001 - the count belongs to this module
        return opened


def _key(settings: Settings, home: Path) -> _Key:
    return _Key(store_folder(settings, home).absolute(), settings.model, os.getpid())


def counter_for(model: str, settings: Settings) -> TokenCounter:
    """The token counter for a chat model; for an unknown one the larger count of the usual encodings."""
    from vecctx.adapters.token_counter import encoding_for

    return _counter(encoding_for(model), settings.image_tokens)


@lru_cache(maxsize=8)
def _counter(encoding: "EncodingName", image_tokens: int) -> TokenCounter:
    """One counter for all engines of the process: it remembers what it has counted."""
    from vecctx.adapters.token_counter import TiktokenCounter

    return TiktokenCounter(encoding, image_tokens)


def embedder_for(settings: Settings) -> Embedder:
    """The embedding model; nothing is loaded yet."""
    if settings.model == "default":
        from vecctx.adapters.onnx_embedder import OnnxEmbedder

        return OnnxEmbedder()
    from vecctx.adapters.sentence_transformer_embedder import SentenceTransformerEmbedder

    return SentenceTransformerEmbedder(settings.model)


def _usable(embedder: Embedder, model: str) -> Embedder:
    """The embedder, or one that says why there is none: without a model all is stored and found by words."""
    from vecctx.adapters.absent_embedder import AbsentEmbedder

    try:
        _ = embedder.identity
    except VecctxError as problem:
        return AbsentEmbedder(model, problem)
    return embedder


def with_counter(parts: Parts, counter: TokenCounter) -> Parts:
    """The same parts, counting tokens for another model."""
    return replace(parts, counter=counter)


def _opened(key: _Key, settings: Settings) -> Opened:
    from vecctx.adapters.deadline_runner import DeadlineRunner
    from vecctx.adapters.embedding_worker import EmbeddingWorker
    from vecctx.adapters.faiss_index import FaissIndex
    from vecctx.adapters.sqlite_store import SqliteStore
    from vecctx.adapters.system_clock import SystemClock

    clock = SystemClock()
    store = SqliteStore(key.folder / DATABASE_NAME, clock)
    embedder = _usable(embedder_for(settings), settings.model)
    parts = Parts(
        store=store,
        index=FaissIndex(store, embedder.identity, key.folder / INDEX_FOLDER),
        embedder=embedder,
        counter=counter_for("", settings),
        clock=clock,
        runner=DeadlineRunner(),
    )
    return Opened(key, parts, EmbeddingWorker(lambda: embed_pending(store, embedder), lambda: _warm_up(parts)))


def _warm_up(parts: Parts) -> None:
    """Load the token ranks and the model, which takes half a second, before the first request asks for them."""
    parts.counter.count_text("warm up")
    parts.embedder.embed_query("warm up")
