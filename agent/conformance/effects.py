"""Watches what code does outside of its own memory: files, databases, connections, processes, threads."""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_DOINGS = {
    "sqlite3.connect": "opens a database",
    "socket.connect": "connects to a network",
    "subprocess.Popen": "starts a process",
    "os.system": "starts a process",
    "os.mkdir": "makes a directory",
    "os.remove": "removes a file",
    "os.rename": "renames a file",
    "_thread.start_new_thread": "starts a thread",
    "_thread.start_joinable_thread": "starts a thread",
}
_WRITING = frozenset("wax+")

_watched = threading.local()
_is_hooked = threading.Event()


@contextmanager
def watched() -> Iterator[list[str]]:
    """A list that fills with what this thread does outside while the block runs."""
    if not _is_hooked.is_set():  # an audit hook cannot be taken away again, so there is one for the process
        _is_hooked.set()
        sys.addaudithook(_audit)
    found: list[str] = []
    _watched.found = found
    try:
        yield found
    finally:
        _watched.found = None


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    found = getattr(_watched, "found", None)
    if found is None:
        return
    if event in _DOINGS:
        found.append(f"{_DOINGS[event]} {_short(arguments)}".strip())
    elif event == "open" and _is_writing(arguments):
        found.append(f"writes {arguments[0]}")


def _is_writing(arguments: tuple[Any, ...]) -> bool:
    path, mode = arguments[0], arguments[1]
    # What Python itself compiles while it imports is nobody's effect.
    return isinstance(mode, str) and bool(_WRITING & set(mode)) and "__pycache__" not in str(path)


def _short(arguments: tuple[Any, ...]) -> str:
    return str(arguments[0])[:80] if arguments and isinstance(arguments[0], str | bytes) else ""
