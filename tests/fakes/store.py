"""A store in plain lists and dicts."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from threading import RLock
from typing import TYPE_CHECKING, Any

import numpy as np

from tests.fakes.clock import FakeClock
from vecctx.errors import StoreError
from vecctx.ports import Clock
from vecctx.values import (
    Chunk,
    Identity,
    Known,
    PendingChunk,
    Place,
    Selection,
    Spot,
    StoredMessage,
    StoreStats,
    Turn,
    VectorBatch,
)

if TYPE_CHECKING:
    from vecctx.values import FloatArray


@dataclass
class _Conversation:
    owner: str
    generation: int = 0
    messages: list[StoredMessage] = field(default_factory=list)


@dataclass
class _Vector:
    sequence: int
    conversation_id: int
    chunk_id: int
    values: "FloatArray"


class FakeStore:
    """A Store that keeps nothing beyond the process and ranks by how many of the words a chunk holds."""

    def __init__(self, clock: Clock | None = None) -> None:
        self._clock = clock or FakeClock()
        self._lock = RLock()
        self._sessions: dict[tuple[str, str], int] = {}
        self._conversations: dict[int, _Conversation] = {}
        self._turn_count = 0
        self._messages: dict[int, StoredMessage] = {}
        self._chunks: dict[int, tuple[int, Chunk]] = {}
        self._vectors: dict[Identity, dict[int, _Vector]] = {}
        self._sequence = 0
        self._selections: list[Selection] = []
        self._redactions = 0
        self._is_closed = False

    def open_conversation(self, owner: str, session_id: str, parent_session_id: str | None = None) -> int:
        with self._opened():
            conversation_id = self.conversation_of(owner, session_id)
            if conversation_id is None and parent_session_id is not None:
                conversation_id = self.conversation_of(owner, parent_session_id)
            if conversation_id is None:
                conversation_id = len(self._conversations) + 1
                self._conversations[conversation_id] = _Conversation(owner)
            self._sessions[owner, session_id] = conversation_id
            return conversation_id

    def conversation_of(self, owner: str, session_id: str) -> int | None:
        with self._opened():
            return self._sessions.get((owner, session_id))

    def holding(self, owner: str, uids: Sequence[str], keys: Sequence[str]) -> dict[int, int]:
        with self._opened():
            held = {}
            for number in self.conversations_of(owner):
                messages = self._conversations[number].messages
                held[number] = len(set(uids) & {m.uid for m in messages}) + len(set(keys) & {m.key for m in messages})
            return {number: count for number, count in held.items() if count}

    def conversations_of(self, owner: str | None) -> tuple[int, ...]:
        with self._opened():
            return tuple(number for number, found in self._conversations.items() if owner in {None, found.owner})

    def known(self, conversation_id: int, newest: int | None = None) -> tuple[Known, ...]:
        with self._opened():
            messages = self._messages_in(conversation_id)
            wanted = messages if newest is None else messages[max(len(messages) - max(newest, 0), 0) :]
            return tuple(Known(message.message_id, message.key, message.uid) for message in wanted)

    def add_turns(
        self, conversation_id: int, turns: Sequence[Turn], *, behind: int | None, redactions: int = 0
    ) -> tuple[int, ...] | None:
        with self._opened():
            if conversation_id not in self._conversations:
                raise StoreError("memory", f"there is no conversation {conversation_id}; open it first")
            newest = self._messages_in(conversation_id)[-1:]
            if (newest[0].message_id if newest else None) != behind:
                return None
            self._redactions += redactions
            return tuple(
                self._add_message(conversation_id, message, opens_turn=number == 0 and message.role == "user")
                for turn in turns
                for number, message in enumerate(turn.messages)
            )

    def _add_message(self, conversation_id: int, message: Any, *, opens_turn: bool) -> int:
        messages = self._conversations[conversation_id].messages
        if opens_turn or not messages:
            self._turn_count += 1
            turn_id = self._turn_count
        else:
            turn_id = messages[-1].turn_id
        stored = StoredMessage(
            message_id=len(self._messages) + 1,
            conversation_id=conversation_id,
            turn_id=turn_id,
            position=len(messages),
            role=message.role,
            text=message.text,
            tokens=message.tokens,
            said_at=message.said_at,
            uid=message.uid,
            key=message.key,
        )
        messages.append(stored)
        self._messages[stored.message_id] = stored
        for chunk in message.chunks:
            self._chunks[len(self._chunks) + 1] = (stored.message_id, chunk)
        return stored.message_id

    def pending(self, identity: Identity, limit: int) -> tuple[PendingChunk, ...]:
        with self._opened():
            return tuple(map(self._pending_chunk, self._pending_ids(identity)[: max(limit, 0)]))

    def pending_count(self, identity: Identity) -> int:
        with self._opened():
            return len(self._pending_ids(identity))

    def _pending_ids(self, identity: Identity) -> list[int]:
        done = self._vectors.get(identity, {})
        return [chunk_id for chunk_id in self._chunks if chunk_id not in done]

    def _pending_chunk(self, chunk_id: int) -> PendingChunk:
        message_id, chunk = self._chunks[chunk_id]
        message = self._messages[message_id]
        messages = self._messages_in(message.conversation_id)
        after = messages[message.position + 1 : message.position + 2]
        return PendingChunk(
            chunk_id=chunk_id,
            conversation_id=message.conversation_id,
            role=message.role,
            text=message.text[chunk.start : chunk.end],
            before=messages[message.position - 1].text if message.position else "",
            after=after[0].text if after and after[0].turn_id == message.turn_id else "",
        )

    def add_vectors(self, identity: Identity, chunk_ids: Sequence[int], vectors: "FloatArray") -> None:
        with self._opened():
            if vectors.shape != (len(chunk_ids), identity.dimensions) or not np.isfinite(vectors).all():
                raise StoreError("memory", "vectors must be finite and of the identity's dimensions")
            done = self._vectors.setdefault(identity, {})
            for chunk_id, values in zip(chunk_ids, vectors.astype(np.float16).astype(np.float32), strict=True):
                if chunk_id in self._chunks and chunk_id not in done:
                    self._sequence += 1
                    conversation_id = self._messages[self._chunks[chunk_id][0]].conversation_id
                    done[chunk_id] = _Vector(self._sequence, conversation_id, chunk_id, values)

    def vectors_since(self, conversation_id: int, identity: Identity, sequence: int) -> VectorBatch:
        with self._opened():
            found = [vector for vector in self._vectors_in(conversation_id, identity) if vector.sequence > sequence]
            filled = [vector for vector in found if vector.values.any()]
            conversation = self._conversations.get(conversation_id)
            return VectorBatch(
                sequence=found[-1].sequence if found else sequence,
                generation=conversation.generation if conversation else -1,
                chunk_ids=np.array([vector.chunk_id for vector in filled], dtype=np.int64),
                vectors=np.array([vector.values for vector in filled], dtype=np.float32).reshape(
                    len(filled), identity.dimensions
                ),
            )

    def vectors_mark(self, conversation_id: int, identity: Identity, sequence: int) -> str:
        with self._opened():
            digest = hashlib.sha256()
            for vector in self._vectors_in(conversation_id, identity):
                if vector.sequence <= sequence:
                    digest.update(f"{vector.sequence} {vector.chunk_id} ".encode() + vector.values.tobytes())
            return digest.hexdigest()

    def _vectors_in(self, conversation_id: int, identity: Identity) -> list[_Vector]:
        vectors = self._vectors.get(identity, {}).values()
        return [vector for vector in vectors if vector.conversation_id == conversation_id]

    def word_scores(
        self, conversation_ids: Sequence[int], words: Sequence[str], limit: int
    ) -> dict[str, dict[int, float]]:
        with self._opened():
            return {word: self._chunks_with(word, conversation_ids, limit) for word in words if word}

    def _chunks_with(self, word: str, conversation_ids: Sequence[int], limit: int) -> dict[int, float]:
        scores = {
            chunk_id: 1 / (1 + len(chunk.words) / 1000)
            for chunk_id, (message_id, chunk) in self._chunks.items()
            if word in chunk.words and self._messages[message_id].conversation_id in conversation_ids
        }
        return dict(sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[: max(limit, 0)])

    def chunk_count(self, conversation_ids: Sequence[int]) -> int:
        with self._opened():
            owners = [self._messages[message_id].conversation_id for message_id, _ in self._chunks.values()]
            return sum(owner in conversation_ids for owner in owners)

    def places(self, chunk_ids: Sequence[int]) -> dict[int, Place]:
        with self._opened():
            known = [
                (chunk_id, self._chunks[chunk_id]) for chunk_id in sorted(set(chunk_ids)) if chunk_id in self._chunks
            ]
            return {
                chunk_id: Place(self._messages[message_id], chunk.start, chunk.end)
                for chunk_id, (message_id, chunk) in known
            }

    def at(self, spots: Sequence[Spot]) -> dict[Spot, StoredMessage]:
        with self._opened():
            found = {(message.conversation_id, message.position): message for message in self._messages.values()}
            return {spot: found[spot] for spot in spots if spot in found}

    def messages(self, conversation_ids: Sequence[int], message_ids: Sequence[int]) -> tuple[StoredMessage, ...]:
        with self._opened():
            found = [self._messages[number] for number in set(message_ids) if number in self._messages]
            own = [message for message in found if message.conversation_id in conversation_ids]
            return tuple(sorted(own, key=lambda message: (message.conversation_id, message.position)))

    def around(
        self, conversation_ids: Sequence[int], message_id: int, before: int, after: int
    ) -> tuple[StoredMessage, ...]:
        with self._opened():
            for centre in self.messages(conversation_ids, [message_id]):
                first = max(centre.position - max(before, 0), 0)
                messages = self._messages_in(centre.conversation_id)
                return tuple(messages[first : centre.position + max(after, 0) + 1])
            return ()

    def _messages_in(self, conversation_id: int) -> list[StoredMessage]:
        conversation = self._conversations.get(conversation_id)
        return conversation.messages if conversation else []

    def record_selection(self, selection: Selection) -> int:
        with self._opened():
            if selection.conversation_id not in self._conversations:
                raise StoreError("memory", f"there is no conversation {selection.conversation_id}; open it first")
            created_at = self._clock.now() if selection.created_at is None else selection.created_at
            number = len(self._selections) + 1
            self._selections.append(replace(selection, selection_id=number, created_at=created_at))
            return number

    def selection(self, selection_id: int | None = None, owner: str | None = None) -> Selection | None:
        with self._opened():
            own = self.conversations_of(owner)
            for found in reversed(self._selections):
                if found.conversation_id in own and selection_id in {None, found.selection_id}:
                    return found
            return None

    def selection_of_turn(self, conversation_id: int, turn_key: str) -> Selection | None:
        with self._opened():
            for found in reversed(self._selections):
                if (found.conversation_id, found.turn_key) == (conversation_id, turn_key):
                    return found
            return None

    def stats(self, identity: Identity) -> StoreStats:
        with self._opened():
            times = [message.said_at for message in self._messages.values() if message.said_at is not None]
            return StoreStats(
                conversations=len(self._conversations),
                sessions=len(self._sessions),
                turns=self._turn_count,
                messages=len(self._messages),
                chunks=len(self._chunks),
                vectors=len(self._vectors.get(identity, {})),
                pending=self.pending_count(identity),
                selections=len(self._selections),
                redactions=self._redactions,
                bytes_on_disk=0,
                oldest_said_at=min(times, default=None),
                newest_said_at=max(times, default=None),
                roles=dict(Counter(message.role for message in self._messages.values())),
            )

    def check(self) -> tuple[str, ...]:
        with self._opened():
            return ()

    def close(self) -> None:
        self._is_closed = True

    def _opened(self) -> RLock:
        if self._is_closed:
            raise StoreError("memory", "is closed; open it again")
        return self._lock
