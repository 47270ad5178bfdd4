"""Sessions on disk: one JSONL file each, to which every turn is appended, so that a chat can be taken up again."""

import json
import logging
import os
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any
from uuid import uuid4

from .context_engine import Message
from .errors import HostError
from .locks import HeldError, Locks
from .messages import copy_rows

logger = logging.getLogger(__name__)

FOLDER = "chat-sessions"
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")  # also keeps an id from leaving the folder
_SUFFIX = ".jsonl"


class SessionError(HostError):
    """A session cannot be found, read or written."""


@dataclass(frozen=True, slots=True)
class Saved:
    """A session as it was saved last."""

    session_id: str
    rows: tuple[Message, ...] = ()
    turn_count: int = 0


class Transcripts:
    """The sessions of a home directory.

    A line of a file is `{"turns": n, "rows": [...]}`, which adds rows, or `{"turns": n, "history": [...]}`, which puts
    others in their place after a compaction. Nothing is ever taken out of a file.
    """

    def __init__(self, home: Path) -> None:
        self._folder = home / FOLDER
        self._saved: dict[str, list[Message]] = {}
        self._locks = Locks(self._folder)

    def ids(self) -> list[str]:
        """All sessions, the newest first."""
        paths = [path for path in self._folder.glob(f"*{_SUFFIX}") if path.is_file()]
        paths.sort(key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)
        return [path.stem for path in paths]

    def hold(self, session_id: str) -> None:
        """Keep a session from other processes until `release`.

        Raises:
            SessionError: another one holds it.
        """
        try:
            self._locks.hold(self._path(session_id).stem)
        except HeldError as error:
            raise SessionError(
                f"session {session_id} is {error}; end the chat there, or start one without --resume"
            ) from error

    def release(self) -> None:
        """Leave all sessions to others."""
        self._locks.release()

    def load(self, session_id: str = "") -> Saved:
        """A session, or the newest one where none is named.

        Raises:
            SessionError: there is no such session, or it cannot be read.
        """
        known = self.ids()
        session_id = session_id or next(iter(known), "")
        if session_id not in known:
            raise SessionError(self._unknown(session_id, known))
        try:
            content = self._path(session_id).read_bytes()
        except OSError as error:
            raise SessionError(f"session {session_id} cannot be read: {error}") from error
        saved = _replayed(session_id, content)
        self._saved[session_id] = copy_rows(saved.rows)
        return saved

    def save(self, session_id: str, rows: Sequence[Message], turn_count: int) -> None:
        """Append what is new in a session since it was saved or loaded here.

        Raises:
            SessionError: it cannot be written.
        """
        old, new = self._saved.get(session_id, []), list(rows)
        if new == old:
            return
        is_longer = new[: len(old)] == old
        record = {"turns": turn_count, **({"rows": new[len(old) :]} if is_longer else {"history": new})}
        try:
            _append(self._path(session_id), json.dumps(record, default=str).encode() + b"\n")
        except OSError as error:
            raise SessionError(f"session {session_id} is not saved: {error}") from error
        self._saved[session_id] = copy_rows(new)

    def _path(self, session_id: str) -> Path:
        if not _ID.fullmatch(session_id):
            raise SessionError(f"{session_id!r} is no session id; they have only letters, digits, and . _ - inside")
        return self._folder / f"{session_id}{_SUFFIX}"

    def _unknown(self, session_id: str, known: list[str]) -> str:
        if not known:
            return f"there is no session in {self._folder} yet"
        near = get_close_matches(session_id, known, 1, 0.3)
        told = f"the nearest is {near[0]}" if near else f"the newest is {known[0]}"
        return f"there is no session {session_id!r} in {self._folder}; {told}"


def new_session_id(clock: Callable[[], float] = time.time) -> str:
    """An id that sorts by time and that a person can type."""
    return f"{time.strftime('%Y%m%d-%H%M%S', time.localtime(clock()))}-{uuid4().hex[:4]}"


def _append(path: Path, line: bytes) -> None:
    """Add a line with a single write, behind a line that a crash may have cut."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        is_cut = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
        content = b"\n" + line if is_cut else line
        if os.write(descriptor, content) != len(content):
            raise OSError("the disk is full")
    finally:
        os.close(descriptor)


def _replayed(session_id: str, content: bytes) -> Saved:
    """What the lines of a file come to; lines that cannot be read are left out, and told."""
    rows: list[Message] = []
    turn_count, bad_lines = 0, 0
    for line in content.split(b"\n"):
        record = _record(line)
        if record:
            rows = record["history"] if "history" in record else rows + record["rows"]
            turn_count = record["turns"]
        elif line.strip():
            bad_lines += 1
    if bad_lines:
        logger.warning("session %s: %d lines cannot be read and are left out", session_id, bad_lines)
    return Saved(session_id, tuple(rows), turn_count)


def _record(line: bytes) -> dict[str, Any] | None:
    """The record in a line, or None if there is no whole one."""
    try:
        record = json.loads(line)
        rows = record["history"] if "history" in record else record["rows"]
        is_whole = isinstance(record["turns"], int) and all(isinstance(row["role"], str) for row in rows)
    except (ValueError, RecursionError, KeyError, TypeError):
        return None
    return record if is_whole and isinstance(rows, list) else None
