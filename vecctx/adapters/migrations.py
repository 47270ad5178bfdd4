"""The format of the database, as a list of steps that only ever grows."""

import sqlite3
from collections.abc import Sequence
from pathlib import Path

from vecctx.errors import StoreNewerError, StoreUnavailableError

APPLICATION_ID = 0x76637478
"""Marks a database as ours ("vcxt" in the file's header), so that another program's file is never written to."""


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring a database up to our format, each step in a transaction together with the record that it ran.

    Raises:
        StoreNewerError: a newer version wrote it.
        StoreUnavailableError: another program wrote it.
    """
    _refuse_strangers(connection, path)
    for number, statements in enumerate(MIGRATIONS, start=1):
        if _format(connection) < number:
            _run(connection, number, statements)


def _refuse_strangers(connection: sqlite3.Connection, path: Path) -> None:
    found = _format(connection)
    application = _number(connection, "PRAGMA application_id")
    tables = _number(connection, "SELECT count(*) FROM sqlite_master")
    if application != APPLICATION_ID and (tables or found):
        raise StoreUnavailableError(path, "is the database of another program; choose another place for the store")
    if found > len(MIGRATIONS):
        raise StoreNewerError(path, found, len(MIGRATIONS))


def _run(connection: sqlite3.Connection, number: int, statements: Sequence[str]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have run the step while we waited for the lock.
        if _format(connection) < number:
            for statement in statements:
                connection.execute(statement)
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version = {number}")
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise


def _format(connection: sqlite3.Connection) -> int:
    return _number(connection, "PRAGMA user_version")


def _number(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])


_FIRST = (
    # Running numbers live beside the conversation, so that none is used twice whatever is removed later.
    """
    CREATE TABLE conversations (
        conversation_id INTEGER PRIMARY KEY AUTOINCREMENT,
        owner TEXT NOT NULL,
        generation INTEGER NOT NULL DEFAULT 0,
        next_position INTEGER NOT NULL DEFAULT 0,
        next_chunk INTEGER NOT NULL DEFAULT 0
    )
    """,
    "CREATE INDEX conversations_by_owner ON conversations (owner)",
    """
    CREATE TABLE sessions (
        owner TEXT NOT NULL,
        session_id TEXT NOT NULL,
        conversation_id INTEGER NOT NULL REFERENCES conversations,
        PRIMARY KEY (owner, session_id)
    ) WITHOUT ROWID
    """,
    """
    CREATE TABLE turns (
        turn_id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id INTEGER NOT NULL REFERENCES conversations
    )
    """,
    "CREATE INDEX turns_by_conversation ON turns (conversation_id)",
    # Long columns last: SQLite reads the short ones without following a long row's overflow pages.
    """
    CREATE TABLE messages (
        message_id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id INTEGER NOT NULL REFERENCES conversations,
        turn_id INTEGER NOT NULL REFERENCES turns,
        position INTEGER NOT NULL,
        role TEXT NOT NULL,
        tokens INTEGER NOT NULL,
        said_at REAL,
        uid TEXT,
        key TEXT NOT NULL,
        text TEXT NOT NULL,
        payload TEXT NOT NULL
    )
    """,
    # Lining up a transcript reads this index alone, never the messages.
    "CREATE INDEX messages_known ON messages (conversation_id, position, key, uid)",
    "CREATE INDEX messages_by_uid ON messages (uid, conversation_id) WHERE uid IS NOT NULL",
    "CREATE INDEX messages_by_key ON messages (key, conversation_id)",
    "CREATE INDEX messages_by_role ON messages (role, said_at)",
    # A chunk's number holds its conversation's in the upper bits (sqlite_text.py says why).
    """
    CREATE TABLE chunks (
        chunk_id INTEGER PRIMARY KEY,
        message_id INTEGER NOT NULL REFERENCES messages,
        start_offset INTEGER NOT NULL,
        end_offset INTEGER NOT NULL
    )
    """,
    "CREATE INDEX chunks_by_message ON chunks (message_id)",
    # Our terms hold only a-z, 0-9 and characters beyond ASCII, which this tokenizer neither splits nor folds.
    "CREATE VIRTUAL TABLE chunk_words USING fts5 (words, tokenize = 'ascii')",
    # Every chunk of a message up to `done_through` has a vector: what is pending is looked for behind it.
    """
    CREATE TABLE embedders (
        embedder_id INTEGER PRIMARY KEY,
        model TEXT NOT NULL,
        revision TEXT NOT NULL,
        dimensions INTEGER NOT NULL,
        is_normalized INTEGER NOT NULL,
        prompt TEXT NOT NULL,
        done_through INTEGER NOT NULL DEFAULT 0,
        UNIQUE (model, revision, dimensions, is_normalized, prompt)
    )
    """,
    """
    CREATE TABLE vectors (
        sequence INTEGER PRIMARY KEY AUTOINCREMENT,
        embedder_id INTEGER NOT NULL REFERENCES embedders,
        conversation_id INTEGER NOT NULL REFERENCES conversations,
        chunk_id INTEGER NOT NULL REFERENCES chunks,
        vector BLOB NOT NULL,
        UNIQUE (embedder_id, chunk_id)
    )
    """,
    "CREATE INDEX vectors_in_order ON vectors (embedder_id, conversation_id, sequence)",
    """
    CREATE TABLE selections (
        selection_id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id INTEGER NOT NULL REFERENCES conversations,
        turn_key TEXT NOT NULL,
        record TEXT NOT NULL
    )
    """,
    "CREATE INDEX selections_by_conversation ON selections (conversation_id)",
    "CREATE INDEX selections_by_turn ON selections (conversation_id, turn_key)",
    "CREATE TABLE counters (name TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_FIRST,)
"""Appended to, never edited: the number of a step is its place, and the format is how many ran."""
