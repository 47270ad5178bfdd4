"""The vectors of one conversation in FAISS; its caller guards it with a lock."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

from vecctx.values import Hit, VectorBatch

if TYPE_CHECKING:
    from vecctx.values import FloatArray

SCORE_DECIMALS = 6
"""Sums of 384 products differ in the seventh decimal between machines; scores equal up to here are ties."""

_TIE_SLACK = 16
"""Hits fetched beyond the limit to see that the last score is not shared by others."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A partition at one moment, as bytes that can be written while searches go on."""

    sequence: int
    generation: int | None
    count: int
    payload: bytes


class Partition:
    """Vectors by chunk id, up to a place in the store's order of commits.

    Half precision is what the store holds, so a search here is exact: 3 ms for 100,000 vectors of 384 numbers.
    """

    def __init__(self, dimensions: int) -> None:
        import faiss  # here and below: a quarter of a second that only a search needs

        quantizer = faiss.IndexScalarQuantizer(dimensions, faiss.ScalarQuantizer.QT_fp16, faiss.METRIC_INNER_PRODUCT)
        self._index: Any = faiss.IndexIDMap(quantizer)
        self.sequence = 0
        self.generation: int | None = None

    @classmethod
    def from_snapshot(cls, snapshot: Snapshot, dimensions: int) -> Self:
        """The partition that a snapshot was taken of.

        Raises:
            ValueError: the snapshot is not of such a partition.
        """
        import faiss
        import numpy as np

        try:
            index = faiss.deserialize_index(np.frombuffer(snapshot.payload, dtype=np.uint8))
        except RuntimeError as error:
            raise ValueError("cannot be read by FAISS") from error
        if not isinstance(index, faiss.IndexIDMap) or (index.d, index.ntotal) != (dimensions, snapshot.count):
            raise ValueError("does not hold what it says")
        partition = cls(dimensions)
        partition._index, partition.sequence, partition.generation = index, snapshot.sequence, snapshot.generation
        return partition

    def snapshot(self) -> Snapshot:
        """The partition as it is now."""
        import faiss

        payload = bytes(faiss.serialize_index(self._index))
        return Snapshot(self.sequence, self.generation, self.count, payload)

    @property
    def count(self) -> int:
        """How many vectors it holds."""
        return int(self._index.ntotal)

    def take_in(self, batch: VectorBatch) -> None:
        """Add what was committed after `sequence`."""
        if len(batch.chunk_ids):
            self._index.add_with_ids(batch.vectors, batch.chunk_ids)
        self.sequence, self.generation = batch.sequence, batch.generation

    def search(self, query: "FloatArray", limit: int) -> list[Hit]:
        """The best chunks: best first, ties by chunk id, also where only some of equal ones fit the limit."""
        wanted = min(limit + _TIE_SLACK, self.count)
        hits = self._nearest(query, wanted)
        while wanted < self.count and hits[limit - 1].score == hits[-1].score:
            wanted = min(wanted * 4, self.count)
            hits = self._nearest(query, wanted)
        return sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[:limit]

    def _nearest(self, query: "FloatArray", wanted: int) -> list[Hit]:
        if not wanted:
            return []
        scores, chunk_ids = self._index.search(query.reshape(1, -1), wanted)
        return [
            Hit(chunk_id, min(max(round(score, SCORE_DECIMALS), -1.0), 1.0))
            for chunk_id, score in zip(chunk_ids[0].tolist(), scores[0].tolist(), strict=True)
            if chunk_id >= 0  # FAISS fills up with -1
        ]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let FAISS use one thread, in this thread only.

    A single question gains nothing from more, and on a busy machine waits for them: 32 ms instead of 0.4. In a forked
    process more would never come: OpenMP's threads stay with the parent.
    """
    import faiss

    before = faiss.omp_get_max_threads()
    faiss.omp_set_num_threads(1)
    try:
        yield
    finally:
        faiss.omp_set_num_threads(before)
