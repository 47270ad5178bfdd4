"""Candidates by meaning."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from tests.builders import IDENTITY, make_message
from tests.fakes.store import FakeStore
from tests.fakes.vector_index import FakeVectorIndex
from vecctx.retrieve.dense import QUESTION_CHARACTERS, dense, passage, question
from vecctx.values import PendingChunk, Turn

if TYPE_CHECKING:
    from vecctx.values import FloatArray

WORDS = ("bucket", "server", "lunch", "paris")


class WordEmbedder:
    """An Embedder whose dimensions are words."""

    identity = IDENTITY

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed_texts(self, texts: Sequence[str]) -> "FloatArray":
        counts = np.array([[float(word in text) for word in WORDS] for text in texts], dtype=np.float32)
        unit: FloatArray = counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1)
        return unit

    def embed_query(self, text: str) -> "FloatArray":
        self.asked.append(text)
        vector: FloatArray = self.embed_texts([text])[0]
        return vector


def test_the_nearest_chunks_come_first_and_only_of_these_conversations() -> None:
    store, embedder = FakeStore(), WordEmbedder()
    for session, texts in (("a", ["the bucket", "our server", "bucket and server"]), ("b", ["bucket"])):
        conversation = store.open_conversation("", session)
        store.add_turns(conversation, [Turn((make_message(text),)) for text in texts], behind=None)
    pending = store.pending(IDENTITY, 9)
    ids = [chunk.chunk_id for chunk in pending]
    store.add_vectors(IDENTITY, ids, embedder.embed_texts([passage(chunk) for chunk in pending]))

    hits = dense(embedder, FakeVectorIndex(store, IDENTITY), [1], "which bucket on which server?", 2)

    assert [hit.chunk_id for hit in hits] == [3, 1]


def test_a_chunk_is_embedded_as_it_is() -> None:
    assert passage(PendingChunk(1, 1, "user", "itself", "before", "after")) == "itself"


def test_of_a_long_question_the_beginning_and_the_end_are_embedded() -> None:
    text = "where is it? " + "log line\n" * 1000 + "why does it fail?"

    assert question("short") == "short"
    assert question(text).startswith("where is it?")
    assert question(text).endswith("why does it fail?")
    assert len(question(text)) <= QUESTION_CHARACTERS + 1
