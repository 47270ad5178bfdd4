"""Points about copies: engines are cloned for agents, copied by older hosts, and rolled back."""

import copy
import threading
from typing import Any

from .bench import Bench, expect, set_window
from .host import ContextEngine
from .life import expect_working
from .point import advised, required
from .samples import current_turn, long_conversation, stored


@required("copy.clone")
def clone(bench: Bench) -> None:
    """clone_for_agent gives a new engine that works, and shares no counters with the one it is made from."""
    _expect_apart(bench, bench.make(), lambda engine: engine.clone_for_agent())


@required("copy.deepcopy")
def deep(bench: Bench) -> None:
    """copy.deepcopy does the same: hosts without clone_for_agent call it."""
    _expect_apart(bench, bench.make(), copy.deepcopy)


@advised("copy.while-in-use")
def while_in_use(bench: Bench) -> None:
    """An engine that has served requests can still be cloned."""
    engine = bench.engine()
    expect_working(engine, stored([*long_conversation(), *current_turn(1)]))
    _expect_apart(bench, engine, lambda used: used.clone_for_agent())


@advised("copy.lock")
def lock(bench: Bench) -> None:
    """A lock that a host has set on it does not keep it from being cloned."""
    engine: Any = bench.make()
    engine._compression_attempt_serial_lock = threading.Lock()  # noqa: SLF001 - what a host does
    _expect_apart(bench, engine, lambda used: used.clone_for_agent())


@required("copy.rollback")
def rollback(bench: Bench) -> None:
    """vars(engine) can be kept, cleared and put back, as hosts do when a switch of models fails."""
    engine, rows = bench.engine(), stored([*long_conversation(), *current_turn(1)])
    kept, window_tokens = dict(vars(engine)), engine.context_length
    set_window(engine, 128_000)
    vars(engine).clear()
    vars(engine).update(kept)
    expect(engine.context_length == window_tokens, f"context_length stays {engine.context_length}")
    expect_working(engine, rows)


def _expect_apart(bench: Bench, engine: ContextEngine, make_copy: Any) -> None:  # noqa: ANN401 - any way to copy
    other = make_copy(engine)
    expect(other is not engine, "it is the same object")
    expect(type(other) is type(engine), f"it is a {type(other).__name__}")
    expect(other.name == engine.name, f"its name is {other.name!r}")
    before = engine.compression_count
    other.last_prompt_tokens = other.compression_count = before + 7
    expect(engine.compression_count == before and engine.last_prompt_tokens != before + 7, "counters are shared")
    bench.start(other, "of the copy")
    expect_working(other, stored([*long_conversation(20), *current_turn(1)]))


POINTS = (clone, deep, rollback, while_in_use, lock)
