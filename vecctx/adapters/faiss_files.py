"""Index files beside the store: written whole or not at all, and believed only where everything about them fits."""

import hashlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import astuple
from pathlib import Path
from typing import Any

from vecctx.adapters.faiss_partition import Snapshot
from vecctx.errors import StoreUnavailableError
from vecctx.values import Identity

FORMAT = 1
"""Counted up whenever files are written differently. Another format is rebuilt from the store, not converted."""

_MAGIC = b"vecctx index\n"
_LONGEST_HEADER_BYTES = 4096
_ABANDONED_SECONDS = 3600
"""No write takes an hour: a file that is unfinished for so long was left by a crash."""

_logger = logging.getLogger(__name__)


class IndexFiles:
    """The index files of one identity in a folder, which is made when the first is written."""

    def __init__(self, folder: Path, identity: Identity) -> None:
        self._folder = folder
        self._dimensions = identity.dimensions
        self._identity_digest = _digest(json.dumps(astuple(identity)).encode(), size=8)

    def read(self, conversation_id: int) -> tuple[Snapshot, str] | None:
        """What was last written of a conversation, if anything; a file that is not whole is put aside."""
        path = self._path(conversation_id)
        try:
            return self._parse(path.read_bytes(), conversation_id)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError) as error:
            self.put_aside(conversation_id, str(error))
            return None

    def write(self, conversation_id: int, snapshot: Snapshot, mark: str) -> None:
        """Replace the file of a conversation in one step; `mark` is the store's for the same vectors.

        A full disk costs the next start time, and nothing else.
        """
        facts = {
            "format": FORMAT,
            "conversation": conversation_id,
            "identity": self._identity_digest,
            "mark": mark,
            "sequence": snapshot.sequence,
            "generation": snapshot.generation,
            "count": snapshot.count,
        }
        header = json.dumps({**facts, "checksum": _checksum(facts, snapshot.payload)}).encode()
        path = self._path(conversation_id)
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._remove_abandoned(path)
            _write_whole(path, (_MAGIC, header, b"\n", snapshot.payload))
        except OSError as error:
            _logger.warning("index file %s was not written (%s); the next start reads the store instead", path, error)

    def put_aside(self, conversation_id: int, problem: str) -> None:
        """Take a file out of the way, so that nobody believes it; the newest such file of a conversation is kept."""
        path = self._path(conversation_id)
        aside = path.with_name(f"{path.name}.corrupt")
        try:
            path.replace(aside)
        except OSError as error:
            _logger.warning(
                "index file %s: %s, and cannot be moved (%s); the store is read instead", path, problem, error
            )
        else:
            _logger.warning("index file %s: %s; it is now %s, and is rebuilt from the store", path, problem, aside.name)

    def remove(self, conversation_id: int) -> None:
        """Delete all that is written of a conversation, of any identity, put aside or unfinished.

        Raises:
            StoreUnavailableError: a file cannot be deleted.
        """
        for path in self._folder.glob(f"{conversation_id}-*.faiss*"):
            try:
                path.unlink(missing_ok=True)
            except OSError as error:
                raise StoreUnavailableError(path, f"cannot be deleted ({error}); delete it by hand") from error

    def _path(self, conversation_id: int) -> Path:
        return self._folder / f"{conversation_id}-{self._identity_digest}.faiss"

    def _parse(self, content: bytes, conversation_id: int) -> tuple[Snapshot, str]:
        header, payload = _split(content)
        checksum = header.pop("checksum", None)
        if header.get("format") != FORMAT:
            raise ValueError(f"has format {header.get('format')}, not {FORMAT}")
        if checksum != _checksum(header, payload):
            raise ValueError("is damaged")
        if (header["conversation"], header["identity"]) != (conversation_id, self._identity_digest):
            raise ValueError("belongs to another conversation or model")
        snapshot = Snapshot(header["sequence"], header["generation"], header["count"], payload)
        return snapshot, header["mark"]

    def _remove_abandoned(self, path: Path) -> None:
        for unfinished in self._folder.glob(f"{path.name}.*.tmp"):
            with suppress(FileNotFoundError):
                if time.time() - unfinished.stat().st_mtime > _ABANDONED_SECONDS:
                    unfinished.unlink()


def _split(content: bytes) -> tuple[dict[str, Any], bytes]:
    end = content.find(b"\n", len(_MAGIC), _LONGEST_HEADER_BYTES)
    if not content.startswith(_MAGIC) or end < 0:
        raise ValueError("is not an index file")
    header = json.loads(content[len(_MAGIC) : end])
    if not isinstance(header, dict):
        raise TypeError("is not an index file")
    return header, content[end + 1 :]


def _write_whole(path: Path, parts: Iterable[bytes]) -> None:
    # A name of its own for each writer, in the same folder, readable by the owner alone.
    target, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".tmp", dir=path.parent)
    unfinished = Path(name)
    try:
        with os.fdopen(target, "wb") as file:
            file.writelines(parts)
            file.flush()
            os.fsync(target)
        unfinished.replace(path)
    except OSError:
        unfinished.unlink(missing_ok=True)
        raise


def _checksum(facts: dict[str, Any], payload: bytes) -> str:
    return _digest(json.dumps(facts, sort_keys=True).encode() + b"\n", payload, size=32)


def _digest(*parts: bytes, size: int) -> str:
    hasher = hashlib.blake2b(digest_size=size)
    for part in parts:
        hasher.update(part)
    return hasher.hexdigest()
