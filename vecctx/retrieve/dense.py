"""Candidates by meaning: what is embedded, and the question in the same space."""

from collections.abc import Sequence

from vecctx.ports import Embedder, VectorIndex
from vecctx.values import Hit, PendingChunk

QUESTION_CHARACTERS = 1200
"""The model sees about that much; of a longer question it gets the beginning and the end."""


def passage(chunk: PendingChunk) -> str:
    """The text that is embedded for a chunk: itself. Neighbours in it gain nothing over what they lend by words."""
    return chunk.text


def question(text: str) -> str:
    """The text that is embedded for a question."""
    if len(text) <= QUESTION_CHARACTERS:
        return text
    half = QUESTION_CHARACTERS // 2
    return f"{text[:half]}\n{text[-half:]}"


def dense(
    embedder: Embedder, index: VectorIndex, conversation_ids: Sequence[int], text: str, limit: int
) -> tuple[Hit, ...]:
    """The best chunks by meaning."""
    return index.search(conversation_ids, embedder.embed_query(question(text)), limit)
