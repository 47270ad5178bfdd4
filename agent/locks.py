"""Keeps two processes from going on with one session: who holds it has a lock file there, with its process id."""

import importlib
import os
from pathlib import Path
from typing import Any

from .errors import HostError

try:
    _fcntl: Any = importlib.import_module("fcntl")
except ImportError:  # not on every system; there, nothing is locked
    _fcntl = None


class HeldError(HostError):
    """Another process holds it; `process_id` is which, where that is known."""

    def __init__(self, process_id: int | None) -> None:
        super().__init__(f"held by {f'process {process_id}' if process_id else 'another process'}")
        self.process_id = process_id


class Locks:
    """The lock files of a folder. The system drops a lock with its process: a file left behind holds nothing."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._held: dict[Path, int] = {}

    def hold(self, name: str) -> None:
        """Hold a lock until `release`. A folder that cannot be written has none, and two readers harm nobody.

        Raises:
            HeldError: another process holds it.
        """
        path = self._folder / f"{name}.lock"
        if _fcntl is None or path in self._held:
            return
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._held[path] = _opened(path)
        except BlockingIOError:
            raise HeldError(_process_id(path)) from None
        except OSError:
            return

    def release(self) -> None:
        """Let go of all. May be called twice."""
        for path, descriptor in self._held.items():
            path.unlink(missing_ok=True)
            os.close(descriptor)
        self._held.clear()


def _opened(path: Path) -> int:
    """A locked lock file with our process id in it."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            _fcntl.flock(descriptor, _fcntl.LOCK_EX | _fcntl.LOCK_NB)
            if os.path.samestat(os.fstat(descriptor), path.stat()):
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()}\n".encode())
                return descriptor
        except FileNotFoundError:  # its holder has just let go, and the file went with it
            pass
        except OSError:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _process_id(path: Path) -> int | None:
    try:
        return int(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
