"""`plugins`: the context engines that can be found, and which of them the config names."""

import argparse
import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TextIO

import yaml

from .chat import home_folder
from .config import BUILT_IN_ENGINE, HostConfig, load_config
from .config_edit import write_engine
from .context_compressor import ContextCompressor
from .plugin_context import NoEngineError, OtherEngineError, PluginError
from .plugins import BUNDLED, ENTRY_POINT_GROUP, NAME, load_plugin, within_seconds
from .screen import NoteHandler, Screen, table
from .yaml_text import ConfigEditError

_GATE_CHARACTERS = 8192
_GATE_WORDS = ("register_context_engine", "ContextEngine")  # other plugins live in the same directory


@dataclass(frozen=True, slots=True)
class Found:
    """An engine that could be chosen."""

    name: str
    version: str = ""
    description: str = ""
    place: str = ""
    plugin: str = ""
    """The entry point that holds it, perhaps under another name; empty for a directory."""
    problem: str | None = None
    """Why it would not be used; None if it would."""

    @property
    def needs_enabling(self) -> str:
        """What `plugins.enabled` has to list, so that the engine is found under its own name; empty for nothing."""
        return self.plugin if self.plugin != self.name else ""


def run_command(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] = os.environ,
    bundled: Path = BUNDLED,
    lines: TextIO | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """List or choose; the exit status."""
    options = _parser().parse_args(arguments)
    screen, lines = Screen(out or sys.stdout, err or sys.stderr), lines or sys.stdin
    handler = NoteHandler(screen)
    logging.getLogger().addHandler(handler)
    try:
        home = home_folder(environment, options.home)
        config = load_config(home / "config.yaml")
        engines = found_engines(config, home, bundled)
        if options.use:
            return _use(options.use, engines, config, home, screen)
        screen.say(_listing(engines, config, home))
        if lines.isatty() and screen.out.isatty():
            return _ask(engines, config, home, screen, lines)
        return 0
    finally:
        logging.getLogger().removeHandler(handler)


def found_engines(config: HostConfig, home: Path, bundled: Path = BUNDLED) -> list[Found]:
    """The built-in engine, then the others by name; of two with one name the one that the host would load."""
    engines = {BUILT_IN_ENGINE: Found(BUILT_IN_ENGINE, "", _first_sentence(ContextCompressor.__doc__), "built in")}
    for found in (*_directories(bundled, "bundled"), *_directories(home / "plugins", "home"), *_entry_points()):
        if found.name not in engines:
            checked = _checked(found, config, home, bundled)
            if checked:
                engines.setdefault(checked.name, checked)
    return [engines[BUILT_IN_ENGINE], *sorted(list(engines.values())[1:], key=lambda found: found.name)]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__} plugins",
        description="List the context engines, and choose the one that config.yaml names.",
    )
    parser.add_argument("--use", metavar="NAME", help="make this engine the active one, without asking")
    parser.add_argument("--home", metavar="DIR", help="settings and plugins (default: $HERMES_HOME, else ~/.hermes)")
    return parser


def _directories(folder: Path, place: str) -> Iterator[Found]:
    sources = sorted(folder.glob("*/__init__.py")) if folder.is_dir() else []
    for source in sources:
        name = source.parent.name
        if NAME.fullmatch(name) and _is_about_engines(source):
            manifest = _manifest(source.parent / "plugin.yaml")
            yield Found(name, str(manifest.get("version") or ""), str(manifest.get("description") or ""), place)


def _entry_points() -> Iterator[Found]:
    for entry_point in entry_points(group=ENTRY_POINT_GROUP):
        package = entry_point.dist
        summary = str(package.metadata["Summary"] or "") if package else ""
        if NAME.fullmatch(entry_point.name):
            version, place = (package.version, package.name) if package else ("", "")
            yield Found(entry_point.name, version, summary, place, plugin=entry_point.name)


def _checked(found: Found, config: HostConfig, home: Path, bundled: Path) -> Found | None:
    """The engine with what is wrong with it; None if its plugin is about something else."""
    seconds = config.plugin_timeout_seconds
    try:
        engine = load_plugin(
            found.name, home=home, bundled=bundled, enabled=(found.plugin,), timeout_seconds=seconds
        ).engine
        is_available: Callable[[], object] = getattr(engine, "is_available", lambda: True)
        is_fine = within_seconds(seconds, "say whether it is available", is_available)
        problem = None if is_fine else "it says that it is not available here"
    except NoEngineError:
        return None
    except OtherEngineError as error:
        if found.plugin == found.name and NAME.fullmatch(error.engine_name):
            return _checked(replace(found, name=error.engine_name), config, home, bundled)
        problem = str(error)
    except PluginError as error:
        problem = str(error)
    except Exception as error:  # a plugin is someone else's code
        problem = f"is_available failed: {error!r}"
    return replace(found, problem=problem)


def _listing(engines: Sequence[Found], config: HostConfig, home: Path) -> str:
    rows = [("", "#", "engine", "version", "from", "description")]
    for number, found in enumerate(engines, 1):
        told = found.description if found.problem is None else "NOT AVAILABLE, see below"
        active = "*" if found.name == config.engine else ""
        rows.append((active, str(number), found.name, found.version, found.place, told))
    reasons = [f"{f.name} is not available: {f.problem}" for f in engines if f.problem and f.name != config.engine]
    path = home / "config.yaml"
    chosen = f"configured in {path}" if path.exists() else f"the default; there is no {path}"
    lines = [table(rows), "", *reasons, f"* is {chosen}; --use NAME chooses another."]
    missing = _problem_of_configured(engines, config)
    if missing:
        lines.append(f"{config.engine} is configured, but not used: {missing}; {BUILT_IN_ENGINE} serves instead.")
    return "\n".join(lines)


def _problem_of_configured(engines: Sequence[Found], config: HostConfig) -> str | None:
    found = next((found for found in engines if found.name == config.engine), None)
    if found is None:
        return "it is not installed"
    plugin = _to_enable(found, config)
    return f"plugins.enabled does not list {plugin}, which --use {found.name} puts right" if plugin else found.problem


def _to_enable(found: Found, config: HostConfig) -> str:
    return "" if found.needs_enabling in config.enabled_plugins else found.needs_enabling


def _ask(engines: Sequence[Found], config: HostConfig, home: Path, screen: Screen, lines: TextIO) -> int:
    """Let the user choose by number or name; nothing keeps what is."""
    screen.out.write(f"\nUse which engine? Number or name, Enter for {config.engine}: ")
    screen.out.flush()
    answer = lines.readline().strip()
    if not answer:
        return 0
    by_number = {str(number): found.name for number, found in enumerate(engines, 1)}
    return _use(by_number.get(answer, answer), engines, config, home, screen)


def _use(name: str, engines: Sequence[Found], config: HostConfig, home: Path, screen: Screen) -> int:
    found = next((found for found in engines if found.name == name), None)
    if found is None:
        near = get_close_matches(name, [found.name for found in engines], 1, 0.0)[0]
        screen.note(f"There is no context engine {name!r}; the nearest is {near}. Nothing is changed.")
        return 1
    if found.problem:
        screen.note(f"{name} is not available: {found.problem}. Nothing is changed.")
        return 1
    path = home / "config.yaml"
    try:
        is_changed = write_engine(path, name, plugin=_to_enable(found, config))
    except ConfigEditError as error:
        screen.note(f"{error}. Nothing is changed.")
        return 1
    screen.say(f"{path} now names {name}." if is_changed else f"{path} names {name} already.")
    return 0


def _is_about_engines(source: Path) -> bool:
    try:
        text = source.read_text(encoding="utf-8", errors="replace")[:_GATE_CHARACTERS]
    except OSError:
        return False
    return any(word in text for word in _GATE_WORDS)


def _manifest(path: Path) -> Mapping[str, Any]:
    """What a plugin says of itself; nothing where that cannot be read, since nothing depends on it."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError):
        return {}
    return content if isinstance(content, dict) else {}


def _first_sentence(text: str | None) -> str:
    return f"{(text or '').partition('. ')[0].strip().rstrip('.')}."
