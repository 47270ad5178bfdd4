"""What is written into the database, each function inside its caller's transaction."""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from typing import TYPE_CHECKING

from vecctx.adapters.sqlite_reading import conversation_of, find_embedder
from vecctx.adapters.sqlite_text import first_chunk_id, to_database, to_term
from vecctx.values import Identity, Message, Selection, Turn

if TYPE_CHECKING:
    from vecctx.values import FloatArray

NEWEST_SELECTIONS = 1000
"""Selections kept for a conversation: weeks of requests to ask "why" about, at some ten kilobytes each."""


def open_conversation(
    connection: sqlite3.Connection, owner: str, session_id: str, parent_session_id: str | None
) -> int:
    """The conversation of a session: its own, its parent's, or a new one."""
    for known in (session_id, parent_session_id):
        conversation_id = None if known is None else conversation_of(connection, owner, known)
        if conversation_id is not None:
            break
    else:
        added = connection.execute("INSERT INTO conversations (owner) VALUES (?)", (to_database(owner),))
        conversation_id = _number_given(added)
    connection.execute(
        "INSERT OR IGNORE INTO sessions (owner, session_id, conversation_id) VALUES (?, ?, ?)",
        (to_database(owner), to_database(session_id), conversation_id),
    )
    return conversation_id


def add_turns(
    connection: sqlite3.Connection, conversation_id: int, turns: Sequence[Turn], behind: int | None, redactions: int
) -> tuple[int, ...] | None:
    """Write turns behind the newest known message; gives the message ids in order, None if there is a newer one."""
    newest = connection.execute(
        "SELECT message_id FROM messages WHERE conversation_id = ? ORDER BY position DESC LIMIT 1", (conversation_id,)
    ).fetchone()
    if (newest[0] if newest else None) != behind:
        return None
    end = _End(connection, conversation_id)
    message_ids = [
        end.add_message(message, opens_turn=number == 0 and message.role == "user")
        for turn in turns
        for number, message in enumerate(turn.messages)
    ]
    end.write_counts()
    if redactions:
        connection.execute(
            "INSERT INTO counters (name, count) VALUES ('redactions', ?) "
            "ON CONFLICT (name) DO UPDATE SET count = count + excluded.count",
            (redactions,),
        )
    return tuple(message_ids)


class _End:
    """The end of a conversation, where messages are added."""

    def __init__(self, connection: sqlite3.Connection, conversation_id: int) -> None:
        self._connection = connection
        self._conversation_id = conversation_id
        counts = connection.execute(
            "SELECT next_position, next_chunk, (SELECT max(turn_id) FROM turns WHERE conversation_id = ?1) "
            "FROM conversations WHERE conversation_id = ?1",
            (conversation_id,),
        ).fetchone()
        if counts is None:
            raise sqlite3.IntegrityError(f"there is no conversation {conversation_id}; open it first")
        self._next_position, self._next_chunk, self._turn_id = counts

    def add_message(self, message: Message, *, opens_turn: bool) -> int:
        if opens_turn or self._turn_id is None:
            added = self._connection.execute("INSERT INTO turns (conversation_id) VALUES (?)", (self._conversation_id,))
            self._turn_id = _number_given(added)
        message_id = self._write_message(message)
        self._write_chunks(message_id, message)
        return message_id

    def write_counts(self) -> None:
        self._connection.execute(
            "UPDATE conversations SET next_position = ?, next_chunk = ? WHERE conversation_id = ?",
            (self._next_position, self._next_chunk, self._conversation_id),
        )

    def _write_message(self, message: Message) -> int:
        added = self._connection.execute(
            "INSERT INTO messages (conversation_id, turn_id, position, role, tokens, said_at, uid, key, text, payload) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                self._conversation_id,
                self._turn_id,
                self._next_position,
                to_database(message.role),
                message.tokens,
                message.said_at,
                to_database(message.uid),
                to_database(message.key),
                to_database(message.text),
                to_database(message.payload),
            ),
        )
        self._next_position += 1
        return _number_given(added)

    def _write_chunks(self, message_id: int, message: Message) -> None:
        first = first_chunk_id(self._conversation_id) + self._next_chunk
        numbered = list(enumerate(message.chunks, start=first))
        self._connection.executemany(
            "INSERT INTO chunks (chunk_id, message_id, start_offset, end_offset) VALUES (?, ?, ?, ?)",
            [(chunk_id, message_id, chunk.start, chunk.end) for chunk_id, chunk in numbered],
        )
        self._connection.executemany(
            "INSERT INTO chunk_words (rowid, words) VALUES (?, ?)",
            [(chunk_id, " ".join(map(to_term, chunk.words))) for chunk_id, chunk in numbered],
        )
        self._next_chunk += len(numbered)


def add_vectors(
    connection: sqlite3.Connection, identity: Identity, chunk_ids: Sequence[int], vectors: "FloatArray"
) -> None:
    """Write vectors of chunks that exist and have none; a zero row becomes an empty one."""
    import numpy as np

    expected = (len(chunk_ids), identity.dimensions)
    if vectors.shape != expected or not np.isfinite(vectors).all():
        raise sqlite3.DataError(f"vectors must be finite and of shape {expected}; these have {vectors.shape}")
    embedder_id = _embedder_for(connection, identity)
    halves = vectors.astype("<f2")
    connection.executemany(
        "INSERT OR IGNORE INTO vectors (embedder_id, conversation_id, chunk_id, vector) "
        "SELECT ?, chunk_id >> 32, chunk_id, ? FROM chunks WHERE chunk_id = ?",
        [
            (embedder_id, half.tobytes() if half.any() else b"", int(chunk_id))
            for chunk_id, half in zip(chunk_ids, halves, strict=True)
        ],
    )
    _advance(connection, embedder_id)


def _embedder_for(connection: sqlite3.Connection, identity: Identity) -> int:
    embedder = find_embedder(connection, identity)
    if embedder is not None:
        return embedder[0]
    added = connection.execute(
        "INSERT INTO embedders (model, revision, dimensions, is_normalized, prompt) VALUES (?, ?, ?, ?, ?)",
        (
            to_database(identity.model),
            to_database(identity.revision),
            identity.dimensions,
            identity.is_normalized,
            to_database(identity.prompt),
        ),
    )
    return _number_given(added)


def _advance(connection: sqlite3.Connection, embedder_id: int) -> None:
    # Message ids only grow, in the order of commits, so nothing can become pending behind the mark later.
    connection.execute(
        """
        UPDATE embedders SET done_through = coalesce(
            (
                SELECT chunks.message_id - 1 FROM chunks
                WHERE chunks.message_id > embedders.done_through AND NOT EXISTS (
                    SELECT 1 FROM vectors
                    WHERE vectors.embedder_id = embedders.embedder_id AND vectors.chunk_id = chunks.chunk_id
                )
                ORDER BY chunks.message_id LIMIT 1
            ),
            (SELECT max(message_id) FROM messages),
            0
        )
        WHERE embedder_id = ?
        """,
        (embedder_id,),
    )


def record_selection(connection: sqlite3.Connection, selection: Selection, now: float) -> int:
    """Write what was sent and why, and let go of the oldest ones; gives its number."""
    created_at = now if selection.created_at is None else selection.created_at
    # ASCII JSON holds any string, also what SQLite cannot; scores may still be numpy's numbers.
    record = json.dumps(replace(selection, created_at=created_at, selection_id=None), default=_plain)
    added = connection.execute(
        "INSERT INTO selections (conversation_id, turn_key, record) VALUES (?, ?, ?)",
        (selection.conversation_id, to_database(selection.turn_key), record),
    )
    connection.execute(
        "DELETE FROM selections WHERE conversation_id = ?1 AND selection_id <= ("
        "SELECT selection_id FROM selections WHERE conversation_id = ?1 ORDER BY selection_id DESC LIMIT 1 OFFSET ?2)",
        (selection.conversation_id, NEWEST_SELECTIONS),
    )
    return _number_given(added)


def _plain(value: object) -> object:
    """A frozen value as its fields; asdict() would copy each of them deeply, which costs as much as the selection."""
    return {field.name: getattr(value, field.name) for field in fields(value)} if is_dataclass(value) else float(value)  # type: ignore[arg-type]  # numpy's numbers, or json says what it cannot take


def _number_given(added: sqlite3.Cursor) -> int:
    return int(added.lastrowid or 0)
