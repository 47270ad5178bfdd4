"""A host's home: where things are in it, the plugin directory, and the record of its installation."""

import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from vecctx._version import __version__
from vecctx.cli.hermes_config import ENGINE, Edit, HermesError
from vecctx.settings import home_folder

RECORD_NAME = "installed.json"
_INIT = '''"""vecctx as a context engine; register_context_engine is called in vecctx.hermes."""

import logging

try:
    from vecctx.hermes import register
except ImportError:
    logging.getLogger(__name__).warning("vecctx is not installed in this environment; run: pip install vecctx")
    raise

__all__ = ["register"]
'''
_MANIFEST = f"""\
name: {ENGINE}
version: {__version__}
description: Keeps every turn and sends with each request what that request needs, inside a token budget.
"""
PLUGIN_FILES = {"plugin.yaml": _MANIFEST, "__init__.py": _INIT}
"""What a plugin directory holds; hosts look for the word register_context_engine in it."""


@dataclass(frozen=True, slots=True)
class Record:
    """What an installation did, for the command that undoes it."""

    version: str
    edit: Edit | None
    """None where the config named the engine before."""
    made_plugins_folder: bool


@dataclass(frozen=True, slots=True)
class HermesHome:
    """The folder in which a host keeps its settings and plugins."""

    folder: Path

    @property
    def config(self) -> Path:
        """Its settings, whether they exist or not."""
        return self.folder / "config.yaml"

    @property
    def plugin(self) -> Path:
        """Our plugin directory; the host demands that it has the engine's name."""
        return self.folder / "plugins" / ENGINE

    @property
    def active_profile(self) -> Path | None:
        """The home that `hermes` goes to instead, where its user chose a profile for good."""
        name = (_read(self.folder / "active_profile") or b"").decode("utf-8", "replace").strip()
        folder = self.folder / "profiles" / name
        return folder if name and folder.is_dir() else None

    def config_bytes(self) -> bytes | None:
        """The settings as they are; None where there are none.

        Raises:
            HermesError: they cannot be read.
        """
        return _read(self.config)

    def record(self) -> Record | None:
        """What the installation wrote down; None where there was none.

        Raises:
            HermesError: it cannot be read.
        """
        path = self.plugin / RECORD_NAME
        content = _read(path)
        if content is None:
            return None
        try:
            fields: dict[str, Any] = json.loads(content)
            return Record(**{**fields, "edit": Edit(**fields["edit"]) if fields["edit"] else None})
        except (ValueError, TypeError, KeyError) as error:
            advice = f"delete {self.plugin}, and set context.engine in {self.config} by hand"
            raise HermesError(f"{path} is damaged ({error}); {advice}") from error


def located_home(home: Path | None) -> HermesHome:
    """The home that was named, else the host's own.

    Raises:
        HermesError: there is none.
    """
    folder = (home.expanduser() if home else home_folder()).absolute()
    if folder.is_dir():
        return HermesHome(folder)
    what = "is no folder" if folder.exists() else "does not exist"
    raise HermesError(
        f"the home {folder} {what}; start Hermes once or create it with `mkdir -p {folder}`, or name it with --home"
    )


def record_text(record: Record) -> str:
    """A record as it is written."""
    return json.dumps(asdict(record), indent=2) + "\n"


def replace_file(path: Path, content: bytes) -> None:
    """Write a file, so that a crash leaves the old one or the new one; links and permissions stay."""
    path = path.resolve()
    mode = path.stat().st_mode & 0o7777 if path.exists() else 0o666 & ~_umask()
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(mode)
        Path(name).replace(path)
    except OSError:
        Path(name).unlink(missing_ok=True)
        raise


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _read(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise HermesError(f"{path} cannot be read ({error.strerror}); check its permissions") from error
