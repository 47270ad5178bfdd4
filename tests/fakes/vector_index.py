"""A vector index that compares a question with every vector."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vecctx.ports import Store
from vecctx.values import Hit, Identity

if TYPE_CHECKING:
    from vecctx.values import FloatArray


class FakeVectorIndex:
    """A VectorIndex without any state: the slow, exact truth that others are compared with."""

    def __init__(self, store: Store, identity: Identity) -> None:
        self._store = store
        self._identity = identity

    def search(self, conversation_ids: Sequence[int], query: "FloatArray", limit: int) -> tuple[Hit, ...]:
        if not np.isfinite(query).all() or not query.any():
            return ()
        hits = []
        for conversation_id in set(conversation_ids):
            batch = self._store.vectors_since(conversation_id, self._identity, 0)
            scores = batch.vectors.astype(np.float64) @ query.astype(np.float64)
            hits += [
                Hit(int(chunk_id), min(max(round(float(score), 6), -1.0), 1.0))
                for chunk_id, score in zip(batch.chunk_ids, scores, strict=True)
            ]
        return tuple(sorted(hits, key=lambda hit: (-hit.score, hit.chunk_id))[: max(limit, 0)])

    def save(self) -> None:
        """Nothing to write: the store has it all."""

    def forget(self, conversation_id: int) -> None:
        """Nothing to drop: the store has it all."""
