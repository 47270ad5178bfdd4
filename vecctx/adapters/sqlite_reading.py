"""What is read from the database as values, each function inside its caller's transaction."""

import hashlib
import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from vecctx.adapters.sqlite_text import first_chunk_id, from_database, to_database, to_term
from vecctx.values import Identity, Known, PendingChunk, Place, Spot, StoredMessage, VectorBatch

_NAMES_AT_ONCE = 500
"""SQLite takes at least 999 parameters in a statement. JSON would be one, and lose what only bytes can hold."""

_MARKED_VECTORS = 8
"""Two histories of a store part at a commit (a backup was put back): their counts or their newest vectors differ."""

_MESSAGE_COLUMNS = (
    "messages.message_id, messages.conversation_id, turn_id, position, role, text, tokens, said_at, uid, messages.key"
)

_PENDING = """
    FROM chunks JOIN messages USING (message_id)
    WHERE chunks.message_id > :done_through AND NOT EXISTS (
        SELECT 1 FROM vectors WHERE vectors.embedder_id = :embedder_id AND vectors.chunk_id = chunks.chunk_id
    )
"""


def conversation_of(connection: sqlite3.Connection, owner: str, session_id: str) -> int | None:
    """The conversation of a session, if it has one."""
    found = connection.execute(
        "SELECT conversation_id FROM sessions WHERE owner = ? AND session_id = ?",
        (to_database(owner), to_database(session_id)),
    ).fetchone()
    return None if found is None else int(found[0])


def holding(connection: sqlite3.Connection, owner: str, uids: Sequence[str], keys: Sequence[str]) -> dict[int, int]:
    """How many of these rows each of the owner's conversations holds."""
    held: Counter[int] = Counter()
    for column, names in (("uid", uids), ("key", keys)):
        for group in _groups(list(dict.fromkeys(names))):
            found = connection.execute(
                f"""
                SELECT conversation_id, count(DISTINCT {column})
                FROM messages JOIN conversations USING (conversation_id)
                WHERE {column} IN ({", ".join("?" * len(group))}) AND owner = ? GROUP BY conversation_id
                """,  # noqa: S608 - our own names and question marks
                (*map(to_database, group), to_database(owner)),
            )
            held.update(dict(found.fetchall()))
    return dict(held)


def _groups(names: list[str]) -> Iterator[list[str]]:
    for first in range(0, len(names), _NAMES_AT_ONCE):
        yield names[first : first + _NAMES_AT_ONCE]


def conversations_of(connection: sqlite3.Connection, owner: str | None) -> tuple[int, ...]:
    """All conversations of an owner, or of everybody, oldest first."""
    found = connection.execute(
        "SELECT conversation_id FROM conversations WHERE ?1 IS NULL OR owner = ?1 ORDER BY conversation_id",
        (to_database(owner),),
    )
    return tuple(conversation_id for (conversation_id,) in found)


def known(connection: sqlite3.Connection, conversation_id: int, newest: int | None) -> tuple[Known, ...]:
    """What identifies the stored messages, in order."""
    found = connection.execute(
        "SELECT message_id, key, uid FROM messages WHERE conversation_id = ? ORDER BY position DESC LIMIT ?",
        (conversation_id, -1 if newest is None else max(newest, 0)),
    ).fetchall()
    return tuple(Known(message_id, from_database(key), from_database(uid)) for message_id, key, uid in reversed(found))


def find_embedder(connection: sqlite3.Connection, identity: Identity) -> tuple[int, int] | None:
    """The number of an identity, and the message up to which all chunks have its vectors."""
    found: tuple[int, int] | None = connection.execute(
        "SELECT embedder_id, done_through FROM embedders "
        "WHERE model = ? AND revision = ? AND dimensions = ? AND is_normalized = ? AND prompt = ?",
        (
            to_database(identity.model),
            to_database(identity.revision),
            identity.dimensions,
            identity.is_normalized,
            to_database(identity.prompt),
        ),
    ).fetchone()
    return found


def pending(connection: sqlite3.Connection, identity: Identity, limit: int) -> tuple[PendingChunk, ...]:
    """Chunks that have no vector of this identity yet, oldest first, with the text around them."""
    found = connection.execute(
        f"""
        SELECT chunks.chunk_id, messages.conversation_id, role, text, start_offset, end_offset,
        (
            SELECT text FROM messages AS near
            WHERE near.conversation_id = messages.conversation_id AND near.position = messages.position - 1
        ),
        (
            SELECT text FROM messages AS near
            WHERE near.conversation_id = messages.conversation_id AND near.position = messages.position + 1
            AND near.turn_id = messages.turn_id
        )
        {_PENDING} ORDER BY chunks.message_id, chunks.chunk_id LIMIT :limit
        """,  # noqa: S608 - our own text
        {**_pending_behind(connection, identity), "limit": max(limit, 0)},
    )
    return tuple(
        PendingChunk(
            chunk_id=chunk_id,
            conversation_id=conversation_id,
            role=from_database(role),
            text=from_database(text)[start:end],
            before=from_database(before) or "",
            after=from_database(after) or "",
        )
        for chunk_id, conversation_id, role, text, start, end, before, after in found
    )


def pending_count(connection: sqlite3.Connection, identity: Identity) -> int:
    """How many chunks have no vector of this identity yet."""
    behind = _pending_behind(connection, identity)
    return int(connection.execute(f"SELECT count(*) {_PENDING}", behind).fetchone()[0])


def _pending_behind(connection: sqlite3.Connection, identity: Identity) -> dict[str, int | None]:
    embedder_id, done_through = find_embedder(connection, identity) or (None, 0)
    return {"embedder_id": embedder_id, "done_through": done_through}


def vectors_since(
    connection: sqlite3.Connection, conversation_id: int, identity: Identity, sequence: int
) -> VectorBatch:
    """Vectors of a conversation committed after `sequence`, in that order; zero rows are left out."""
    import numpy as np

    embedder_id, _ = find_embedder(connection, identity) or (None, 0)
    rows = connection.execute(
        "SELECT sequence, chunk_id, vector FROM vectors "
        "WHERE embedder_id = ? AND conversation_id = ? AND sequence > ? ORDER BY sequence",
        (embedder_id, conversation_id, sequence),
    ).fetchall()
    filled = [row for row in rows if row[2]]
    halves = np.frombuffer(b"".join([row[2] for row in filled]), dtype="<f2")
    return VectorBatch(
        sequence=rows[-1][0] if rows else sequence,
        generation=generation(connection, conversation_id),
        chunk_ids=np.array([row[1] for row in filled], dtype=np.int64),
        vectors=halves.astype(np.float32).reshape(len(filled), identity.dimensions),
    )


def generation(connection: sqlite3.Connection, conversation_id: int) -> int:
    """Changes when something was removed; -1 for a conversation that does not exist."""
    found = connection.execute(
        "SELECT generation FROM conversations WHERE conversation_id = ?", (conversation_id,)
    ).fetchone()
    return -1 if found is None else int(found[0])


def vectors_mark(connection: sqlite3.Connection, conversation_id: int, identity: Identity, sequence: int) -> str:
    """Names the vectors committed up to `sequence`: equal marks mean the same vectors of the same chunks."""
    embedder_id, _ = find_embedder(connection, identity) or (None, 0)
    where = "FROM vectors WHERE embedder_id = ? AND conversation_id = ? AND sequence <= ?"
    parameters = (embedder_id, conversation_id, sequence)
    count = connection.execute(f"SELECT count(*) {where}", parameters).fetchone()[0]
    newest = connection.execute(
        f"SELECT sequence, chunk_id, vector {where} ORDER BY sequence DESC LIMIT {_MARKED_VECTORS}", parameters
    ).fetchall()
    return hashlib.blake2b(repr((count, newest)).encode(), digest_size=16).hexdigest()


def word_scores(
    connection: sqlite3.Connection, conversation_ids: Sequence[int], words: Sequence[str], limit: int
) -> dict[str, dict[int, float]]:
    """For each word the best chunks of just these conversations that hold it, with their BM25."""
    if not conversation_ids:
        return {word: {} for word in words}
    scope = {
        "first": first_chunk_id(min(conversation_ids)),
        "behind": first_chunk_id(max(conversation_ids) + 1),
        "conversation_ids": _json(conversation_ids),
        "limit": max(limit, 0),
    }
    return {word: _chunks_with(connection, word, scope) for word in words if word}


def _chunks_with(connection: sqlite3.Connection, word: str, scope: dict[str, object]) -> dict[int, float]:
    # bm25() counts down from 0, the best being the most negative. The range is applied inside the index.
    found = connection.execute(
        "SELECT rowid, -bm25(chunk_words) AS score FROM chunk_words "
        "WHERE chunk_words MATCH :term AND rowid >= :first AND rowid < :behind "
        "AND rowid >> 32 IN (SELECT value FROM json_each(:conversation_ids)) "
        "ORDER BY score DESC, rowid LIMIT :limit",
        {"term": f'"{to_term(word)}"', **scope},
    )
    return dict(found.fetchall())


def chunk_count(connection: sqlite3.Connection, conversation_ids: Sequence[int]) -> int:
    """How many chunks these conversations have had."""
    found = connection.execute(
        "SELECT sum(next_chunk) FROM conversations WHERE conversation_id IN (SELECT value FROM json_each(?))",
        (_json(conversation_ids),),
    ).fetchone()
    return int(found[0] or 0)


def places(connection: sqlite3.Connection, chunk_ids: Sequence[int]) -> dict[int, Place]:
    """The message and bounds of each chunk, by chunk id; unknown ids are left out."""
    found = connection.execute(
        f"SELECT chunk_id, start_offset, end_offset, {_MESSAGE_COLUMNS} "  # noqa: S608 - our own names
        "FROM chunks JOIN messages USING (message_id) "
        "WHERE chunk_id IN (SELECT value FROM json_each(?)) ORDER BY chunk_id",
        (_json(chunk_ids),),
    )
    return {chunk_id: Place(_stored_message(columns), start, end) for chunk_id, start, end, *columns in found}


def at(connection: sqlite3.Connection, spots: Sequence[Spot]) -> dict[Spot, StoredMessage]:
    """Messages by where they stand; spots that hold none are left out."""
    found = connection.execute(
        f"SELECT {_MESSAGE_COLUMNS} FROM json_each(?) AS spot JOIN messages "  # noqa: S608 - our own names
        "ON conversation_id = json_extract(spot.value, '$[0]') AND position = json_extract(spot.value, '$[1]')",
        (json.dumps([list(map(int, spot)) for spot in spots]),),
    )
    messages = map(_stored_message, found)
    return {(message.conversation_id, message.position): message for message in messages}


def messages(
    connection: sqlite3.Connection, conversation_ids: Sequence[int], message_ids: Sequence[int]
) -> tuple[StoredMessage, ...]:
    """Messages by id, in the order of their conversation and position; those of other conversations are left out."""
    found = connection.execute(
        f"""
        SELECT {_MESSAGE_COLUMNS} FROM messages WHERE message_id IN (SELECT value FROM json_each(?))
        AND conversation_id IN (SELECT value FROM json_each(?)) ORDER BY conversation_id, position
        """,  # noqa: S608 - our own columns
        (_json(message_ids), _json(conversation_ids)),
    )
    return tuple(map(_stored_message, found))


def around(
    connection: sqlite3.Connection, conversation_ids: Sequence[int], message_id: int, before: int, after: int
) -> tuple[StoredMessage, ...]:
    """A message with its neighbours by position, in order; empty if it is not in these conversations."""
    centre = messages(connection, conversation_ids, [message_id])
    if not centre:
        return ()
    position = centre[0].position
    found = connection.execute(
        f"""
        SELECT {_MESSAGE_COLUMNS} FROM messages
        WHERE conversation_id = ? AND position BETWEEN ? AND ? ORDER BY position
        """,  # noqa: S608 - our own columns
        (centre[0].conversation_id, position - max(before, 0), position + max(after, 0)),
    )
    return tuple(map(_stored_message, found))


def _stored_message(columns: Sequence[Any]) -> StoredMessage:
    message_id, conversation_id, turn_id, position, role, text, tokens, said_at, uid, key = columns
    return StoredMessage(
        message_id=message_id,
        conversation_id=conversation_id,
        turn_id=turn_id,
        position=position,
        role=from_database(role),
        text=from_database(text),
        tokens=tokens,
        said_at=said_at,
        uid=from_database(uid),
        key=from_database(key),
    )


def _json(numbers: Sequence[int]) -> str:
    # One parameter for any number of ids, however large; numpy's integers are none for json.
    return json.dumps([int(number) for number in numbers])
