"""Nearest chunks by FAISS: exact, one partition a conversation, derived from the store."""

import math
import os
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from vecctx.adapters.faiss_files import IndexFiles
from vecctx.adapters.faiss_partition import Partition, Snapshot, one_thread
from vecctx.ports import Store
from vecctx.values import Hit, Identity

if TYPE_CHECKING:
    from vecctx.values import FloatArray

VECTORS_IN_MEMORY = 500_000
"""Beyond these the partitions used longest ago are let go: 384 MB, for vectors of 384 numbers."""

VECTORS_WORTH_A_FILE = 2000
"""Smaller partitions are read from the store within some milliseconds, as fast as from a file."""


class FaissIndex:
    """A VectorIndex over what the store holds of one identity; `folder` takes its files.

    The store stays the caller's. A file that does not fit it is put aside, and the partition is built anew.
    """

    def __init__(
        self,
        store: Store,
        identity: Identity,
        folder: Path,
        *,
        vectors_worth_a_file: int = VECTORS_WORTH_A_FILE,
        vectors_in_memory: int = VECTORS_IN_MEMORY,
    ) -> None:
        self._store = store
        self._identity = identity
        self._files = IndexFiles(folder, identity)
        self._vectors_worth_a_file = vectors_worth_a_file
        self._vectors_in_memory = vectors_in_memory
        self._start_over()

    def search(self, conversation_ids: Sequence[int], query: "FloatArray", limit: int) -> tuple[Hit, ...]:
        """The best chunks of just these conversations: best first, ties by chunk id, scores clipped to [-1, 1].

        It first takes in what the store has committed since. A question of zeros, or not finite, finds nothing.
        """
        self._notice_fork()
        if limit <= 0 or not 0 < float(query @ query) < math.inf:
            return ()
        hits: list[Hit] = []
        with self._faiss_lock, one_thread():
            for conversation_id in sorted(set(conversation_ids)):
                hits += self._current(conversation_id).search(query, limit)
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:limit])

    def save(self) -> None:
        """Write the partitions that are worth it and have grown since, so that the next process starts faster."""
        self._notice_fork()
        with self._files_lock:
            for conversation_id in self._grown():
                self._write(conversation_id)

    def forget(self, conversation_id: int) -> None:
        """Drop a partition, in memory and on disk; it is rebuilt from the store when it is asked for again.

        Raises:
            StoreUnavailableError: its file cannot be deleted.
        """
        self._notice_fork()
        with self._files_lock, self._faiss_lock:
            self._drop(conversation_id)
            self._files.remove(conversation_id)

    def _grown(self) -> list[int]:
        with self._faiss_lock:
            return [
                conversation_id
                for conversation_id, partition in self._partitions.items()
                if partition.count >= self._vectors_worth_a_file
                and self._saved_sequences.get(conversation_id) != partition.sequence
            ]

    def _write(self, conversation_id: int) -> None:
        with self._faiss_lock:
            partition = self._partitions.get(conversation_id)
            if partition is None:
                return
            snapshot = partition.snapshot()
        # The disk is slow: searches go on meanwhile.
        mark = self._store.vectors_mark(conversation_id, self._identity, snapshot.sequence)
        self._files.write(conversation_id, snapshot, mark)
        self._saved_sequences[conversation_id] = snapshot.sequence

    def _current(self, conversation_id: int) -> Partition:
        partition = self._partitions.get(conversation_id) or self._load(conversation_id)
        batch = self._store.vectors_since(conversation_id, self._identity, partition.sequence)
        if partition.generation not in {None, batch.generation}:
            partition = Partition(self._identity.dimensions)
            batch = self._store.vectors_since(conversation_id, self._identity, 0)
        # Out of the list while it changes: a partition that failed half way is not asked again.
        self._partitions.pop(conversation_id, None)
        partition.take_in(batch)
        self._partitions[conversation_id] = partition
        self._let_go_of_oldest()
        return partition

    def _load(self, conversation_id: int) -> Partition:
        saved = self._files.read(conversation_id)
        if saved is None:
            return Partition(self._identity.dimensions)
        try:
            partition = self._restore(conversation_id, *saved)
        except ValueError as error:
            self._files.put_aside(conversation_id, str(error))
            return Partition(self._identity.dimensions)
        self._saved_sequences[conversation_id] = partition.sequence
        return partition

    def _restore(self, conversation_id: int, snapshot: Snapshot, mark: str) -> Partition:
        if mark != self._store.vectors_mark(conversation_id, self._identity, snapshot.sequence):
            raise ValueError("was made of other vectors than the store's")
        return Partition.from_snapshot(snapshot, self._identity.dimensions)

    def _let_go_of_oldest(self) -> None:
        while len(self._partitions) > 1 and self._count() > self._vectors_in_memory:
            self._drop(next(iter(self._partitions)))

    def _count(self) -> int:
        return sum(partition.count for partition in self._partitions.values())

    def _drop(self, conversation_id: int) -> None:
        self._partitions.pop(conversation_id, None)
        self._saved_sequences.pop(conversation_id, None)

    def _notice_fork(self) -> None:
        if self._process != os.getpid():
            self._start_over()

    def _start_over(self) -> None:
        self._process = os.getpid()
        self._partitions: OrderedDict[int, Partition] = OrderedDict()
        """Least lately used first."""
        self._saved_sequences: dict[int, int] = {}
        """Up to where the file of a conversation goes."""
        self._files_lock = Lock()
        """Guards the files against writing what is just being forgotten. Taken before the other one."""
        self._faiss_lock = Lock()
        """Guards FAISS and the partitions: a search beside an addition crashes the process."""
