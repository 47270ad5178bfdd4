"""Records of selections, sizes and faults, read from the database."""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from vecctx.adapters.sqlite_reading import find_embedder, pending_count
from vecctx.adapters.sqlite_text import from_database, to_database
from vecctx.values import Budget, Held, Identity, Mark, Selection, StoreStats

_ANY_ID = (1, 2**63 - 1)
"""All numbers that SQLite can give."""

_ORPHANS = {
    "chunks are missing in the full-text index": "SELECT chunk_id FROM chunks EXCEPT SELECT rowid FROM chunk_words",
    "full-text rows belong to no chunk": "SELECT rowid FROM chunk_words EXCEPT SELECT chunk_id FROM chunks",
    "vectors have a wrong length": (
        "SELECT sequence FROM vectors JOIN embedders USING (embedder_id) "
        "WHERE length(vector) NOT IN (0, 2 * dimensions)"
    ),
    "messages stand at a place that another message has": (
        "SELECT max(message_id) FROM messages GROUP BY conversation_id, position HAVING count(*) > 1"
    ),
}
"""What no constraint of the database forbids; each query gives the faulty rows."""


def selection(connection: sqlite3.Connection, selection_id: int | None, owner: str | None) -> Selection | None:
    """One selection, or the newest one; None for what is another owner's."""
    first, last = _ANY_ID if selection_id is None else (selection_id, selection_id)
    if not _ANY_ID[0] <= last <= _ANY_ID[1]:
        return None
    found = connection.execute(
        # CROSS keeps this order: newest first, and only as far as the first that fits.
        "SELECT selection_id, record FROM selections CROSS JOIN conversations USING (conversation_id) "
        "WHERE selection_id BETWEEN ?1 AND ?2 AND (?3 IS NULL OR owner = ?3) ORDER BY selection_id DESC LIMIT 1",
        (first, last, to_database(owner)),
    ).fetchone()
    return None if found is None else _selection(found[0], json.loads(found[1]))


def selection_of_turn(connection: sqlite3.Connection, conversation_id: int, turn_key: str) -> Selection | None:
    """What was last sent for a user message, if anything."""
    found = connection.execute(
        "SELECT selection_id, record FROM selections WHERE conversation_id = ? AND turn_key = ? "
        "ORDER BY selection_id DESC LIMIT 1",
        (conversation_id, to_database(turn_key)),
    ).fetchone()
    return None if found is None else _selection(found[0], json.loads(found[1]))


def _selection(selection_id: int, record: dict[str, Any]) -> Selection:
    marks = {name: tuple(Mark(**mark) for mark in record[name]) for name in ("kept", "recalled", "dropped")}
    return Selection(
        **{
            **record,
            **marks,
            "budget": Budget(**record["budget"]),
            "notes": tuple(record["notes"]),
            "held": None if record["held"] is None else _held(record["held"]),
            "selection_id": selection_id,
        }
    )


def _held(record: dict[str, Any]) -> Held:
    return Held(**{**record, "spans": tuple((first, behind) for first, behind in record["spans"])})


def stats(connection: sqlite3.Connection, identity: Identity, bytes_on_disk: int) -> StoreStats:
    """Sizes, with the vectors and pending chunks of one identity."""
    roles = connection.execute(
        "SELECT role, count(*), min(said_at), max(said_at) FROM messages GROUP BY role ORDER BY role"
    ).fetchall()
    times = [time for _, _, oldest, newest in roles for time in (oldest, newest) if time is not None]
    embedder_id, _ = find_embedder(connection, identity) or (None, 0)
    vectors = connection.execute("SELECT count(*) FROM vectors WHERE embedder_id = ?", (embedder_id,)).fetchone()[0]
    redactions = connection.execute("SELECT coalesce(sum(count), 0) FROM counters WHERE name = 'redactions'").fetchone()
    return StoreStats(
        **{
            table: _count(connection, table) for table in ("conversations", "sessions", "turns", "chunks", "selections")
        },
        messages=sum(count for _, count, _, _ in roles),
        vectors=vectors,
        pending=pending_count(connection, identity),
        redactions=redactions[0],
        bytes_on_disk=bytes_on_disk,
        oldest_said_at=min(times, default=None),
        newest_said_at=max(times, default=None),
        roles={from_database(role): count for role, count, _, _ in roles},
    )


def _count(connection: sqlite3.Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608 - our own names


def faults(connection: sqlite3.Connection) -> Iterator[str]:
    """What is wrong inside the database, one plain sentence each. Needs a connection that may write."""
    for (finding,) in connection.execute("PRAGMA integrity_check"):
        if finding != "ok":
            yield f"The database file is damaged: {finding}."
    yield from _dangling(connection)
    for what, query in _ORPHANS.items():
        if count := len(connection.execute(query).fetchall()):
            yield f"{count} {what}."
    try:
        connection.execute("INSERT INTO chunk_words (chunk_words) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        yield f"The full-text index does not match its text: {error}."


def _dangling(connection: sqlite3.Connection) -> Iterator[str]:
    rows = connection.execute(
        'SELECT "table", parent, count(*) FROM pragma_foreign_key_check GROUP BY 1, 2 ORDER BY 1, 2'
    )
    for table, parent, count in rows:
        yield f"{count} rows of {table} point to {parent} that do not exist."
