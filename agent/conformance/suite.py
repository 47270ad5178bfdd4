"""Runs the points on an engine."""

import functools
import importlib
from collections.abc import Callable, Sequence
from pathlib import Path

from . import chat, compression, construction, copies, life, selection, tools
from .bench import Bench, Broken, NotUsed, temporary_home
from .host import (
    BUILT_IN_ENGINE,
    ContextEngine,
    HostConfig,
    PluginError,
    built_in_engine,
    installed_plugins,
    load_plugin,
    within_seconds,
)
from .point import Point
from .report import Outcome, Report, Result

DEADLINE_SECONDS = 60.0
"""For one point: generous, since some of them serve dozens of long requests; an engine that hangs is cut off."""

POINTS: tuple[Point, ...] = (
    *(*construction.POINTS, *selection.POINTS, *compression.POINTS, *tools.POINTS),
    *(*copies.POINTS, *life.POINTS, *chat.POINTS),
)
"""All points, in the order of the report."""

Target = str | Callable[[], ContextEngine]
"""An engine's class, a function that makes one, an installed engine's name, or "module:Class"."""


def check_engine(
    target: Target,
    *,
    home: Path | None = None,
    points: Sequence[Point] = POINTS,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> Report:
    """What an engine keeps of the contract and what it breaks; `home` is where a named plugin may be installed.

    Raises:
        PluginError: there is no engine of that name.
    """
    make = factory(target, home=home)
    results = tuple(check_point(make, point, deadline_seconds=deadline_seconds) for point in points)
    return Report(target if isinstance(target, str) else getattr(target, "__qualname__", repr(target)), results)


def check_point(
    make: Callable[[], ContextEngine], point: Point, *, deadline_seconds: float = DEADLINE_SECONDS
) -> Result:
    """One point's outcome, in a home of its own, on a thread that can be left behind."""
    with temporary_home() as home:
        bench = Bench(make, home)
        try:
            within_seconds(deadline_seconds, "answer", functools.partial(point.check, bench))
        except NotUsed as reason:
            return Result(point, Outcome.NOT_USED, str(reason))
        except (Broken, PluginError) as problem:
            return Result(point, Outcome.BROKEN, _line(problem))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # an engine is someone else's code, and some of it calls exit()
            return Result(point, Outcome.BROKEN, f"it raises {_line(repr(error))}")
        else:
            return Result(point, Outcome.KEPT)
        finally:
            bench.close()


def factory(target: Target, *, home: Path | None = None) -> Callable[[], ContextEngine]:
    """What makes a fresh engine of a target.

    Raises:
        PluginError: there is no engine of that name.
    """
    if callable(target):
        return target
    module_name, is_path, attribute = target.partition(":")
    if is_path:
        return _imported(module_name, attribute)
    if target == BUILT_IN_ENGINE:
        return lambda: built_in_engine(HostConfig())
    # Without a deadline of its own: each point has one, and a thread of the host is no effect of the engine.
    load = functools.partial(load_plugin, target, home=home, enabled=installed_plugins(), timeout_seconds=0)
    load()
    return lambda: load().engine


def _imported(module_name: str, attribute: str) -> Callable[[], ContextEngine]:
    try:
        found = getattr(importlib.import_module(module_name), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise PluginError(f"{module_name}:{attribute} cannot be imported: {error}") from error
    if not callable(found):
        raise PluginError(f"{module_name}:{attribute} is no class")
    make: Callable[[], ContextEngine] = found
    return make


def _line(value: object) -> str:
    return " ".join(str(value).split())[:200]
