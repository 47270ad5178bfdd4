"""Installing vecctx into a host's home, as a plan that can be shown before it is carried out."""

import sys
from collections.abc import Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from vecctx._version import __version__
from vecctx.cli.hermes_config import ENGINE, Edit, HermesError, edit_between, engine_of, with_engine
from vecctx.cli.hermes_home import PLUGIN_FILES, RECORD_NAME, HermesHome, Record, record_text, replace_file

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Installation:
    """What installing would write: nothing where all is there already."""

    home: HermesHome
    files: Mapping[Path, bytes]
    """The config comes last: it is what switches the engine on."""
    engine_before: object
    """What the config names now."""

    @property
    def steps(self) -> tuple[str, ...]:
        """What is done, for people."""
        steps = [f"write {path}" for path in self.files if path != self.home.config]
        if self.home.config in self.files:
            was = "" if self.engine_before is None else f" instead of {self.engine_before}"
            steps.append(f"set context.engine to {ENGINE}{was} in {self.home.config}")
        return tuple(steps)


def plan_installation(home: HermesHome) -> Installation:
    """What installing writes there.

    Raises:
        HermesError: the config cannot be changed safely, or the plugin directory is somebody else's.
    """
    record = _own_record(home)
    before = home.config_bytes()
    engine = engine_of(before, home.config)
    after = None if engine == ENGINE else with_engine(before, ENGINE, home.config)
    edit = record.edit if record and after is None else _edit(before, after, home)
    made_folder = record.made_plugins_folder if record else not home.plugin.parent.exists()
    wanted = {
        home.plugin / RECORD_NAME: record_text(Record(__version__, edit, made_folder)).encode(),
        **{home.plugin / name: text.encode() for name, text in PLUGIN_FILES.items()},
    }
    files = {path: content for path, content in wanted.items() if not _holds(path, content)}
    return Installation(home, files if after is None else {**files, home.config: after}, engine)


def install(plan: Installation) -> None:
    """Write what was planned, all or nothing.

    Raises:
        HermesError: something cannot be written.
    """
    plugin = plan.home.plugin
    is_new = not plugin.exists()
    try:
        with writing():
            plugin.mkdir(parents=True, exist_ok=True)
            for path, content in plan.files.items():
                replace_file(path, content)
    except HermesError:
        if is_new:
            _take_back(plugin)
        raise


def notes_on(home: HermesHome) -> list[str]:
    """What keeps the host from using what is installed in this home, and is no fault of the home."""
    notes = []
    if find_spec("hermes_cli") is None:
        place = f"there is no Hermes in this Python ({sys.prefix})"
        notes.append(f"{place}; also install vecctx into the one that runs Hermes")
    if profile := home.active_profile:
        notes.append(f"Hermes' active profile has a home of its own; to install there as well, add --home {profile}")
    return notes


@contextmanager
def writing() -> "Iterator[None]":
    """A place to write in: what the system refuses becomes one line.

    Raises:
        HermesError: the system refused.
    """
    try:
        yield
    except OSError as error:
        advice = "check permissions and space, or name another home with --home"
        raise HermesError(f"{error.filename} cannot be written ({error.strerror}); {advice}") from error


def _own_record(home: HermesHome) -> Record | None:
    """The record of an installation; None where there is no plugin directory yet, or only an empty one."""
    record = home.record()
    plugin = home.plugin
    if record is None and (plugin.exists() or plugin.is_symlink()):
        if plugin.is_dir() and not any(plugin.iterdir()):
            return None
        raise HermesError(f"{plugin} was not made by this command; move it away, then run this again")
    return record


def _edit(before: bytes | None, after: bytes | None, home: HermesHome) -> Edit | None:
    return None if after is None else edit_between(before, after, home.config)


def _holds(path: Path, content: bytes) -> bool:
    return path.is_file() and path.read_bytes() == content


def _take_back(plugin: Path) -> None:
    """Remove a plugin directory that was only begun."""
    with suppress(OSError):
        for name in (RECORD_NAME, *PLUGIN_FILES):
            (plugin / name).unlink(missing_ok=True)
        plugin.rmdir()
