"""An embedder without a model: texts are alike as far as they share words."""

import hashlib
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vecctx.values import Identity

if TYPE_CHECKING:
    from vecctx.values import FloatArray


class FakeEmbedder:
    """Counts words into hashed places and scales to length 1. The same on every machine; words are all it knows."""

    def __init__(self, dimensions: int = 64, identity: Identity | None = None) -> None:
        self._identity = identity or Identity("fake-words", "1", dimensions)

    @property
    def identity(self) -> Identity:
        return self._identity

    def embed_texts(self, texts: Sequence[str]) -> "FloatArray":
        vectors = np.zeros((len(texts), self._identity.dimensions), dtype=np.float32)
        for row, text in zip(vectors, texts, strict=True):
            for word in re.findall(r"\w+", text.lower()):
                row[_place(word) % len(row)] += 1
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        np.divide(vectors, lengths, out=vectors, where=lengths > 0)
        return vectors

    def embed_query(self, text: str) -> "FloatArray":
        vector: FloatArray = self.embed_texts([text])[0]
        return vector


def _place(word: str) -> int:
    return int.from_bytes(hashlib.sha256(word.encode("utf-8", "replace")).digest()[:8], "big")
