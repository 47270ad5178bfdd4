"""Connections to one database file: private, pooled, and safe across threads, processes and forks."""

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from threading import Condition, Lock

from vecctx.adapters import sqlite_forks
from vecctx.adapters.migrations import migrate
from vecctx.adapters.sqlite_errors import BUSY_TIMEOUT_SECONDS, keep_copy, translated
from vecctx.errors import StoreDamagedError, StoreError, StoreUnavailableError

IDLE_READERS = 8
"""Readers kept open, about as many threads as a host serves at once; what is needed beyond is opened for the moment."""

_LOCKED_PAUSE_SECONDS = 0.005

_creation_lock = Lock()
"""Guards the making of a database file: closing its descriptor would drop the locks of a connection made meanwhile."""

_left_to_parents: list[object] = []
"""Connections that a child inherited after all. Even closing them would disturb the parent's, so they are kept."""


class Connections:
    """One writer and a few readers of a database file, which is made if there is none.

    Raises StoreError and its kinds, whatever is done with a connection.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._is_closed = False
        self._writer: sqlite3.Connection | None = None
        self._idle_readers: list[sqlite3.Connection] = []
        self._begin()
        with translated(self.path):
            _make_private_file(self.path)
            with closing(_connect(self.path)) as connection:
                migrate(connection, self.path)
                _keep_log(connection)
        sqlite_forks.watch(self)

    def _begin(self) -> None:
        self._busy_readers = 0
        self._is_forking = False
        self._write_lock = Lock()
        """Guards the writer: one transaction at a time. Taken before the other one."""
        self._pool = Condition()
        """Guards the readers; tells when one was given back, and when a fork is done."""

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees the database as it is now, whatever is committed meanwhile."""
        with translated(self.path), self._reader() as connection:
            connection.execute("BEGIN")
            yield connection
            connection.execute("COMMIT")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A connection inside a transaction: committed at the end, undone on any error."""
        with translated(self.path), self._write_lock:
            self._refuse_if_closed()
            writer = self._writer = self._writer or _connect(self.path)
            try:
                # Takes the lock at once: upgrading a read transaction could fail half way.
                writer.execute("BEGIN IMMEDIATE")
                yield writer
                writer.execute("COMMIT")
            except BaseException:
                # Closing undoes the transaction, also where a rollback would fail.
                self._writer = None
                writer.close()
                raise

    def close(self) -> None:
        """Release the database. Transactions that are under way end first; may be called twice."""
        with self._write_lock, self._pool:
            self._is_closed = True
            with translated(self.path):
                self._close_idle()

    def before_fork(self) -> None:
        """Close everything, and let nothing be opened until the fork is done.

        SQLite's notes on who locked what are of no use in a child, which would wait for its parent's locks for ever.
        """
        self._holds_writer = self._write_lock.acquire(timeout=BUSY_TIMEOUT_SECONDS)
        self._pool.acquire()
        self._is_forking = True
        is_at_rest = self._pool.wait_for(lambda: not self._busy_readers, BUSY_TIMEOUT_SECONDS)
        if is_at_rest and self._holds_writer:
            self._close_idle()

    def after_fork_in_parent(self) -> None:
        """Go on."""
        self._is_forking = False
        self._pool.notify_all()
        self._pool.release()
        if self._holds_writer:
            self._write_lock.release()

    def after_fork_in_child(self) -> None:
        """Begin with new locks; what could not be closed is left alone."""
        _left_to_parents.extend((self._writer, self._idle_readers))
        self._writer, self._idle_readers = None, []
        self._begin()

    def bytes_on_disk(self) -> int:
        """What the database and its log take."""
        # Only asked for, never opened: see sqlite_errors.keep_copy.
        files = [self.path, _log_of(self.path)]
        return sum(file.stat().st_size for file in files if file.exists())

    @contextmanager
    def _reader(self) -> Iterator[sqlite3.Connection]:
        with self._pool:
            # Those who come now wait, or a busy host would never fork.
            self._pool.wait_for(lambda: not self._is_forking)
            self._refuse_if_closed()
            self._busy_readers += 1
            connection = self._idle_readers.pop() if self._idle_readers else None
        is_sound = False
        try:
            connection = connection or _connect(self.path)
            yield connection
            is_sound = True
        finally:
            self._give_back(connection, is_sound=is_sound)

    def _give_back(self, connection: sqlite3.Connection | None, *, is_sound: bool) -> None:
        with self._pool:
            if connection and is_sound and not self._is_closed and len(self._idle_readers) < IDLE_READERS:
                self._idle_readers.append(connection)
            elif connection:
                # After an error its state is unknown; a new one costs a tenth of a millisecond.
                connection.close()
            self._busy_readers -= 1
            self._pool.notify_all()

    def _close_idle(self) -> None:
        for connection in (self._writer, *self._idle_readers):
            if connection:
                connection.close()
        self._writer, self._idle_readers = None, []

    def _refuse_if_closed(self) -> None:
        if self._is_closed:
            raise StoreError(self.path, "is closed; open it again")


def _connect(path: Path) -> sqlite3.Connection:
    # Mode rw: a file that was moved away is an error, not a reason to begin an empty one under everybody's feet.
    connection = sqlite3.connect(
        f"{path.as_uri()}?mode=rw",
        uri=True,
        timeout=BUSY_TIMEOUT_SECONDS,
        isolation_level=None,
        check_same_thread=False,
    )
    try:
        with translated(path):
            # FULL: with a log, NORMAL may lose the last commits in a power cut, and a turn that was accepted must stay.
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("PRAGMA foreign_keys = ON")
    except StoreDamagedError:
        _never_closed.append(connection)
        raise
    except StoreError:
        connection.close()
        raise
    return connection


_never_closed: list[sqlite3.Connection] = []
"""Connections to damaged databases: closing one would delete a log that may hold what the database lost."""


def _make_private_file(path: Path) -> None:
    try:
        _make_private_folder(path.parent)
        with _creation_lock, suppress(FileExistsError):
            os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
            # A umask can only take rights away; SQLite gives its log the rights of the database.
            path.chmod(0o600)
        is_folder, size_bytes = path.is_dir(), path.stat().st_size
    except OSError as error:
        raise StoreUnavailableError(path, f"cannot be made ({error}); choose another place for the store") from error
    if is_folder:
        raise StoreUnavailableError(path, "is a folder; name a file in it")
    if not size_bytes and _has_log(path):
        # SQLite would take the database for a new one, and delete the log.
        raise StoreDamagedError(path, "is empty although its log is not", keep_copy(path))


def _make_private_folder(folder: Path) -> None:
    missing = [place for place in (folder, *folder.parents) if not place.exists()]
    for place in reversed(missing):
        with suppress(FileExistsError):
            place.mkdir(mode=0o700)
            place.chmod(0o700)


def _has_log(path: Path) -> bool:
    log = _log_of(path)
    return log.exists() and log.stat().st_size > 0


def _log_of(path: Path) -> Path:
    return path.with_name(f"{path.name}-wal")


def _keep_log(connection: sqlite3.Connection) -> None:
    """Let readers go on while one writes; a file system without shared memory keeps SQLite's ordinary journal."""
    deadline = time.monotonic() + BUSY_TIMEOUT_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            # SQLite does not wait for this lock by itself.
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
            time.sleep(_LOCKED_PAUSE_SECONDS)
        else:
            return
