"""Finds the configured context engine: bundled directory, user directory, or entry point; else the built-in one."""

import functools
import hashlib
import importlib.util
import inspect
import logging
import re
import sys
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent import futures
from dataclasses import dataclass
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from .config import BUILT_IN_ENGINE, HostConfig
from .context_compressor import ContextCompressor
from .context_engine import ContextEngine
from .errors import HostError
from .plugin_context import Command, NoEngineError, OtherEngineError, PluginContext, PluginError

logger = logging.getLogger(__name__)

T = TypeVar("T")

ENTRY_POINT_GROUP = "hermes_agent.plugins"
BUNDLED = Path(__file__).resolve().parent.parent / "plugins" / "context_engine"

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")  # also keeps a name from leaving its directory


_import_locks: dict[str, threading.Lock] = {}
"""One for each module name; whoever holds it imports, and everyone else waits for the whole module."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """The engine for one agent, and the commands that came with it."""

    engine: ContextEngine
    commands: Mapping[str, Command]


def load_engine(config: HostConfig, *, home: Path | None = None, bundled: Path = BUNDLED) -> Loaded:
    """The engine that the config names, new for this agent; the built-in one if that fails, with one warning."""
    if config.engine != BUILT_IN_ENGINE:
        try:
            return load_plugin(
                config.engine,
                home=home,
                bundled=bundled,
                enabled=config.enabled_plugins,
                timeout_seconds=config.plugin_timeout_seconds,
            )
        except PluginError as error:
            message = "context engine %s is not used: %s; the built-in %s serves instead"
            logger.warning(message, config.engine, error, BUILT_IN_ENGINE)
    return Loaded(built_in_engine(config), {})


def load_plugin(
    name: str,
    *,
    home: Path | None,
    bundled: Path = BUNDLED,
    enabled: Iterable[str] = (),
    timeout_seconds: float = 10.0,
) -> Loaded:
    """A plugin's engine, loaded on a thread of its own, so that one that hangs can be left behind.

    `enabled` names entry points that may hold an engine of another name than their own.

    Raises:
        PluginError: there is none of that name, it failed, or it took longer than `timeout_seconds`.
    """
    try:
        return within_seconds(
            timeout_seconds, "load", functools.partial(_load_plugin, name, home, bundled, tuple(enabled))
        )
    except PluginError:
        raise
    except Exception as error:  # a plugin is someone else's code
        raise PluginError(" ".join(repr(error).split())) from error


def within_seconds(seconds: float, task: str, work: Callable[[], T]) -> T:
    """What `work` returns or raises, on a daemon thread; with `seconds` of 0 or less on this one, as long as it takes.

    Raises:
        PluginError: it took longer; the thread runs on, and its result goes nowhere.
    """
    outcome: futures.Future[T] = futures.Future()

    def settle() -> None:
        try:
            outcome.set_result(work())
        except Exception as error:  # it is raised again where the result is waited for
            outcome.set_exception(error)
        except BaseException as error:  # exit() and Ctrl-C there are not the user's wish here
            outcome.set_exception(PluginError(repr(error)))

    if seconds <= 0:
        settle()
        return outcome.result()
    threading.Thread(target=settle, name=f"plugin-{task}", daemon=True).start()
    if not futures.wait([outcome], seconds).done:
        raise PluginError(f"it took longer than {seconds:g} s to {task}")
    return outcome.result()


def built_in_engine(config: HostConfig) -> ContextCompressor:
    """The built-in engine as configured."""
    compression = config.compression
    options: dict[str, Any] = dict(config.engine_options) if config.engine == BUILT_IN_ENGINE else {}
    own: dict[str, Any] = {
        "threshold_percent": compression.threshold,
        "protect_first_n": compression.protect_first_n,
        "protect_last_n": compression.protect_last_n,
    }
    try:
        return ContextCompressor(**{**own, **options})
    except (TypeError, HostError) as error:
        logger.warning("context.%s: %s; defaults are used", BUILT_IN_ENGINE, error)
        return ContextCompressor(**own)


def installed_plugins() -> tuple[str, ...]:
    """The names of all entry points that hold plugins."""
    return tuple(sorted({found.name for found in entry_points(group=ENTRY_POINT_GROUP)}))


def _load_plugin(name: str, home: Path | None, bundled: Path, enabled: Sequence[str]) -> Loaded:
    if not NAME.fullmatch(name):
        raise PluginError("a name has only letters, digits, - and _")
    places = [bundled / name, *([home / "plugins" / name] if home else [])]
    directory = next((place for place in places if (place / "__init__.py").is_file()), None)
    ctx = _registered(_import_directory(directory)) if directory else _from_entry_point(name, enabled)
    if ctx.engine is None:
        raise NoEngineError("its plugin registers no context engine")
    if ctx.engine.name != name:
        raise OtherEngineError(ctx.engine.name)
    # An entry point's module is shared by all agents of a process, so each of them gets a clone.
    engine = ctx.engine if directory else ctx.engine.clone_for_agent()
    return Loaded(engine, ctx.commands)


def _from_entry_point(name: str, enabled: Sequence[str]) -> PluginContext:
    """The plugin of that name, or else the enabled one whose engine goes by it."""
    for found in entry_points(group=ENTRY_POINT_GROUP, name=name):
        return _registered(found.load())
    for found in (point for other in enabled for point in entry_points(group=ENTRY_POINT_GROUP, name=other)):
        try:
            ctx = _registered(found.load())
        except Exception as error:  # another plugin, which is no reason to go without this one
            logger.warning("plugin %s is left out: %r", found.name, error)
            continue
        if ctx.engine is not None and ctx.engine.name == name:
            return ctx
    raise PluginError("there is no plugin of that name")


def _registered(plugin: ModuleType | Callable[[PluginContext], None]) -> PluginContext:
    """What a plugin offers: through its `register`, or else its one engine class, made without arguments."""
    ctx = PluginContext()
    register = getattr(plugin, "register", None) if isinstance(plugin, ModuleType) else plugin
    if callable(register):
        register(ctx)
        return ctx
    classes = [value for value in vars(plugin).values() if _is_engine_class(value)]
    # Its own class rather than one that it imports to inherit from.
    classes.sort(key=lambda value: value.__module__ != plugin.__name__)
    if classes:
        ctx.register_context_engine(classes[0]())
    return ctx


def _is_engine_class(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, ContextEngine) and not inspect.isabstract(value)


def _import_directory(directory: Path) -> ModuleType:
    """A plugin's module, imported once in a process; a failed import leaves nothing behind."""
    module_name = _module_name(directory)
    with _import_locks.setdefault(module_name, threading.Lock()):
        return sys.modules.get(module_name) or _import_as(module_name, directory)


def _module_name(directory: Path) -> str:
    digest = hashlib.sha256(str(directory.resolve()).encode()).hexdigest()[:8]
    return f"_context_engine_{directory.name.replace('-', '_')}_{digest}"


def _import_as(module_name: str, directory: Path) -> ModuleType:
    source = directory / "__init__.py"
    spec = importlib.util.spec_from_file_location(module_name, source, submodule_search_locations=[str(directory)])
    if spec is None or spec.loader is None:
        raise PluginError(f"{source} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[module_name]
        raise
    return module
