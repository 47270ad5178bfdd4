"""Data for tests: each builder fills in what a test is not about."""

import hashlib
from typing import TYPE_CHECKING, Any

import numpy as np

from vecctx.ports import Store
from vecctx.values import Budget, Chunk, Identity, Message, Selection, Turn

if TYPE_CHECKING:
    from vecctx.values import FloatArray

IDENTITY = Identity(model="test", revision="1", dimensions=4)


def make_message(text: str = "hello there", role: str = "user", **changes: Any) -> Message:
    """A message with one chunk that holds the words of its text; none for blank text."""
    defaults: dict[str, Any] = {
        "payload": f'{{"role": "{role}"}}',
        "key": hashlib.sha256(f"{role}\0{text}".encode("utf-8", "surrogatepass")).hexdigest(),
        "tokens": len(text.split()),
        "chunks": (make_chunk(text),) if text.strip() else (),
    }
    return Message(role=role, text=text, **(defaults | changes))


def make_chunk(text: str, start: int = 0) -> Chunk:
    """A chunk of a text from `start` to its end, with the words of that part."""
    return Chunk(start, len(text), tuple(text[start:].lower().split()))


def make_turn(*texts: str, role: str = "user") -> Turn:
    """A turn whose first message is from `role`, and the others from the assistant."""
    first, *others = texts or ("hello there",)
    return Turn((make_message(first, role), *(make_message(text, "assistant") for text in others)))


def append(store: Store, conversation_id: int, *turns: Turn, redactions: int = 0) -> tuple[int, ...]:
    """Add turns at the end of a conversation, looking again where another writer was faster."""
    while True:
        newest = store.known(conversation_id, 1)
        behind = newest[0].message_id if newest else None
        added = store.add_turns(conversation_id, turns, behind=behind, redactions=redactions)
        if added is not None:
            return added


def append_with_vectors(store: Store, session: str, vectors: "FloatArray", identity: Identity = IDENTITY) -> int:
    """Add a turn for each vector, numbered from 0, to a session's conversation; gives the conversation."""
    conversation_id = store.open_conversation("ann", session)
    append(store, conversation_id, *(make_turn(str(number)) for number in range(len(vectors))))
    store.add_vectors(identity, pending_ids(store, identity)[: len(vectors)], vectors)
    return conversation_id


def pending_ids(store: Store, identity: Identity = IDENTITY) -> list[int]:
    """Chunks without a vector, oldest first."""
    return [chunk.chunk_id for chunk in store.pending(identity, 1_000_000)]


def make_selection(conversation_id: int = 1, turn_key: str = "turn", **changes: Any) -> Selection:
    """What was chosen for a request."""
    defaults: dict[str, Any] = {
        "query": "where were we?",
        "budget": Budget(total_tokens=1000, limited_by="budget_tokens"),
        "used_tokens": 100,
        "system_tokens": 10,
        "current_tokens": 5,
    }
    return Selection(conversation_id=conversation_id, turn_key=turn_key, **(defaults | changes))


def make_vectors(count: int, dimensions: int = IDENTITY.dimensions, seed: int = 0) -> "FloatArray":
    """Unit vectors, the same for the same seed."""
    drawn = np.random.default_rng(seed).standard_normal((count, dimensions)).astype(np.float32)
    unit: FloatArray = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
    return unit
