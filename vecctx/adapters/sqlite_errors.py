"""What SQLite's errors mean for people, and the copy that is kept of a damaged database."""

import itertools
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Lock

from vecctx.errors import StoreDamagedError, StoreError, StoreUnavailableError

BUSY_TIMEOUT_SECONDS = 5.0
"""How long a write waits for another process. Our longest, a batch of vectors, takes some ten milliseconds."""

_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_UNAVAILABLE = {
    sqlite3.SQLITE_BUSY: f"another process kept it locked for {BUSY_TIMEOUT_SECONDS:g} seconds; try again, or end it",
    sqlite3.SQLITE_LOCKED: "another connection keeps it locked; try again",
    sqlite3.SQLITE_READONLY: "cannot be written; check its permissions, or choose another place for the store",
    sqlite3.SQLITE_PERM: "access was refused; check its permissions, or choose another place for the store",
    sqlite3.SQLITE_CANTOPEN: "cannot be opened; check that it exists and who may read it",
    sqlite3.SQLITE_FULL: "the disk is full; free some space",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written; check it, and free some space",
}

_COPY_BLOCK_BYTES = 1 << 20

_copies_lock = Lock()
"""Guards `_copies`."""
_copies: dict[Path, Path] = {}


@contextmanager
def translated(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours; a damaged database is copied first.

    Raises:
        StoreError: or one of its kinds, from the database's error.
    """
    try:
        yield
    except sqlite3.Error as error:
        raise _explain(path, error) from error
    except OverflowError as error:
        raise StoreError(path, "a number does not fit into 64 bits; check the ids that were asked for") from error


def keep_copy(path: Path) -> Path:
    """Where the copy of a damaged database is; made once, and not again for the same bytes.

    Raises:
        StoreError: no copy can be made.
    """
    with _copies_lock:
        if path not in _copies:
            try:
                _copies[path] = _find_or_make_copy(path)
            except OSError as error:
                raise StoreError(path, f"is damaged, and no copy can be made ({error}); free some space") from error
        return _copies[path]


def _explain(path: Path, error: sqlite3.Error) -> StoreError:
    # The upper bits only refine the kind.
    kind = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
    if kind in _DAMAGED:
        return StoreDamagedError(path, f"is damaged ({error})", keep_copy(path))
    if kind in _UNAVAILABLE:
        return StoreUnavailableError(path, f"{_UNAVAILABLE[kind]} ({error})")
    return StoreError(path, f"the database refused: {error}; run `vecctx doctor`")


def _find_or_make_copy(path: Path) -> Path:
    # Never closed: closing any descriptor of a live database drops this process's locks on it.
    source = os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
    for number in itertools.count(1):
        copy = path.with_name(f"{path.name}.corrupt-{number}")
        if not copy.exists():
            break
        if _holds(copy, source):
            return copy
    _write(copy, _blocks(source))
    _copy_log(path, copy)
    return copy


def _copy_log(path: Path, copy: Path) -> None:
    # Commits that are not yet in the database itself. No lock of SQLite's lies on this file.
    log = path.with_name(f"{path.name}-wal")
    with suppress(FileNotFoundError):
        _write(copy.with_name(f"{copy.name}-wal"), [log.read_bytes()])


def _write(copy: Path, blocks: Iterable[bytes]) -> None:
    target = os.open(copy, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(target, "wb") as file:
            file.writelines(blocks)
            file.flush()
            os.fsync(target)
    except OSError:
        copy.unlink(missing_ok=True)
        raise


def _holds(copy: Path, source: int) -> bool:
    if copy.stat().st_size != os.fstat(source).st_size:
        return False
    with copy.open("rb") as kept:
        return all(kept.read(len(block)) == block for block in _blocks(source))


def _blocks(source: int) -> Iterator[bytes]:
    os.lseek(source, 0, os.SEEK_SET)
    while block := os.read(source, _COPY_BLOCK_BYTES):
        yield block
