"""The store in one SQLite file: the truth that everything else is derived from."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, Self

from vecctx.adapters import sqlite_reading, sqlite_records, sqlite_writing
from vecctx.adapters.sqlite_connections import Connections
from vecctx.errors import StoreDamagedError
from vecctx.ports import Clock
from vecctx.values import (
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


class SqliteStore:
    """A Store in the SQLite file at `path`, made with its folder if there is none.

    Threads, processes and forks may share it; a copy is never made, since engines own it together.

    Raises:
        StoreUnavailableError: the place cannot be opened or written, or another program's database is there.
        StoreDamagedError: the file is damaged; it was left as it is, and a copy was kept beside it.
        StoreNewerError: a newer version made it.
    """

    def __init__(self, path: Path, clock: Clock) -> None:
        self._connections = Connections(path)
        self._clock = clock

    @property
    def path(self) -> Path:
        """Where the database is."""
        return self._connections.path

    def open_conversation(self, owner: str, session_id: str, parent_session_id: str | None = None) -> int:
        """The conversation of a session; made if new. A session with a known parent joins the parent's."""
        known = self.conversation_of(owner, session_id)
        if known is not None:
            return known
        with self._connections.writing() as connection:
            return sqlite_writing.open_conversation(connection, owner, session_id, parent_session_id)

    def conversation_of(self, owner: str, session_id: str) -> int | None:
        """The conversation of a session, if it has one."""
        with self._connections.reading() as connection:
            return sqlite_reading.conversation_of(connection, owner, session_id)

    def holding(self, owner: str, uids: Sequence[str], keys: Sequence[str]) -> dict[int, int]:
        """How many of these rows each of the owner's conversations holds, by uid or by key; only those with any."""
        with self._connections.reading() as connection:
            return sqlite_reading.holding(connection, owner, uids, keys)

    def conversations_of(self, owner: str | None) -> tuple[int, ...]:
        """All conversations of an owner, or of everybody for None, oldest first."""
        with self._connections.reading() as connection:
            return sqlite_reading.conversations_of(connection, owner)

    def known(self, conversation_id: int, newest: int | None = None) -> tuple[Known, ...]:
        """What identifies the stored messages, in order; only the newest ones if a number is given."""
        with self._connections.reading() as connection:
            return sqlite_reading.known(connection, conversation_id, newest)

    def add_turns(
        self, conversation_id: int, turns: Sequence[Turn], *, behind: int | None, redactions: int = 0
    ) -> tuple[int, ...] | None:
        """Commit turns behind the newest message that the caller knows of, all or none; None if one is newer."""
        with self._connections.writing() as connection:
            return sqlite_writing.add_turns(connection, conversation_id, turns, behind, redactions)

    def pending(self, identity: Identity, limit: int) -> tuple[PendingChunk, ...]:
        """Chunks that have no vector of this identity yet, oldest first."""
        with self._connections.reading() as connection:
            return sqlite_reading.pending(connection, identity, limit)

    def pending_count(self, identity: Identity) -> int:
        """How many chunks have no vector of this identity yet."""
        with self._connections.reading() as connection:
            return sqlite_reading.pending_count(connection, identity)

    def add_vectors(self, identity: Identity, chunk_ids: Sequence[int], vectors: "FloatArray") -> None:
        """Commit vectors; a chunk that has one, or is gone, is passed over. A zero row: nothing to embed there."""
        with self._connections.writing() as connection:
            sqlite_writing.add_vectors(connection, identity, chunk_ids, vectors)

    def vectors_since(self, conversation_id: int, identity: Identity, sequence: int) -> VectorBatch:
        """Vectors of a conversation committed after `sequence` (0: all); zero rows are left out."""
        with self._connections.reading() as connection:
            return sqlite_reading.vectors_since(connection, conversation_id, identity, sequence)

    def vectors_mark(self, conversation_id: int, identity: Identity, sequence: int) -> str:
        """Names the vectors committed up to `sequence`: equal marks mean the same vectors of the same chunks."""
        with self._connections.reading() as connection:
            return sqlite_reading.vectors_mark(connection, conversation_id, identity, sequence)

    def word_scores(
        self, conversation_ids: Sequence[int], words: Sequence[str], limit: int
    ) -> dict[str, dict[int, float]]:
        """For each word the chunks of just these conversations that hold it, with their BM25; the best `limit`."""
        with self._connections.reading() as connection:
            return sqlite_reading.word_scores(connection, conversation_ids, words, limit)

    def chunk_count(self, conversation_ids: Sequence[int]) -> int:
        """How many chunks these conversations have."""
        with self._connections.reading() as connection:
            return sqlite_reading.chunk_count(connection, conversation_ids)

    def places(self, chunk_ids: Sequence[int]) -> dict[int, Place]:
        """The message and bounds of each chunk, by chunk id; unknown ids are left out."""
        with self._connections.reading() as connection:
            return sqlite_reading.places(connection, chunk_ids)

    def at(self, spots: Sequence[Spot]) -> dict[Spot, StoredMessage]:
        """Messages by where they stand; spots that hold none are left out."""
        with self._connections.reading() as connection:
            return sqlite_reading.at(connection, spots)

    def messages(self, conversation_ids: Sequence[int], message_ids: Sequence[int]) -> tuple[StoredMessage, ...]:
        """Messages by id, in the order of their position; those of other conversations are left out."""
        with self._connections.reading() as connection:
            return sqlite_reading.messages(connection, conversation_ids, message_ids)

    def around(
        self, conversation_ids: Sequence[int], message_id: int, before: int, after: int
    ) -> tuple[StoredMessage, ...]:
        """A message with its neighbours by position, in order; empty if it is not in these conversations."""
        with self._connections.reading() as connection:
            return sqlite_reading.around(connection, conversation_ids, message_id, before, after)

    def record_selection(self, selection: Selection) -> int:
        """Commit what was sent and why; gives its number."""
        with self._connections.writing() as connection:
            return sqlite_writing.record_selection(connection, selection, self._clock.now())

    def selection(self, selection_id: int | None = None, owner: str | None = None) -> Selection | None:
        """One selection, or the newest one; None for a number that is unknown or another owner's."""
        with self._connections.reading() as connection:
            return sqlite_records.selection(connection, selection_id, owner)

    def selection_of_turn(self, conversation_id: int, turn_key: str) -> Selection | None:
        """What was last sent for a user message, if anything."""
        with self._connections.reading() as connection:
            return sqlite_records.selection_of_turn(connection, conversation_id, turn_key)

    def stats(self, identity: Identity) -> StoreStats:
        """Sizes, with the vectors and pending chunks of this identity."""
        with self._connections.reading() as connection:
            return sqlite_records.stats(connection, identity, self._connections.bytes_on_disk())

    def check(self) -> tuple[str, ...]:
        """What is wrong with the database, one plain sentence each; empty if nothing."""
        try:
            with self._connections.writing() as connection:
                return tuple(sqlite_records.faults(connection))
        except StoreDamagedError as error:
            return (str(error),)

    def close(self) -> None:
        """Release the database. May be called twice."""
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        # What copy, deepcopy and pickle ask.
        raise TypeError("a store is shared, never copied; hand the store itself to the copy")
