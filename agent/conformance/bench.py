"""Where a point is checked: fresh engines in a home of their own, called as hosts call them."""

import functools
import os
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .host import ContextEngine, Message, copy_rows, estimate_tokens, inherits, strip_durable_keys, within_seconds

WINDOW_TOKENS = 16_000
"""Less than half of what the long conversation holds, so that an engine has something to do."""
MODEL = "check-model"
SYSTEM: Message = {"role": "system", "content": "You are a helpful assistant.\nAnswer in one sentence."}


class Broken(Exception):  # noqa: N818 - it reads as what it means
    """A point does not hold; the message says what was seen."""


class NotUsed(Exception):  # noqa: N818 - the same
    """The engine does not use what the point is about."""


class Bench:
    """Makes engines for one point, and calls them."""

    def __init__(self, make: Callable[[], ContextEngine], home: Path) -> None:
        self.make = make
        self.home = home
        self._started: list[tuple[ContextEngine, str]] = []

    def engine(self, session_id: str = "") -> ContextEngine:
        """A new engine, brought to life in the contract's order: the first one for the session "check"."""
        another = f"check-{len(self._started)}" if self._started else "check"
        return self.start(self.make(), session_id or another)

    def start(self, engine: ContextEngine, session_id: str = "check") -> ContextEngine:
        """An engine that knows its model and its session."""
        set_window(engine)
        bind = getattr(engine, "bind_session_state", None)
        if bind is not None:
            bind(session_db=None, session_id=session_id)
        engine.get_tool_schemas()
        details = {"hermes_home": str(self.home), "platform": "cli", "conversation_id": None}
        engine.on_session_start(session_id, model=MODEL, context_length=WINDOW_TOKENS, **details)
        self._started.append((engine, session_id))
        return engine

    def selecting_engine(self) -> ContextEngine:
        """A new engine that selects; one that does not has no need of the point."""
        engine = self.engine()
        if inherits(engine, "select_context"):
            raise NotUsed("it does not select")
        return engine

    def close(self) -> None:
        """End the sessions, as a host does at its end."""
        for engine, session_id in self._started:
            with suppress(Exception):  # someone else's code, and no point is about it here
                engine.on_session_end(session_id, [])


def set_window(engine: ContextEngine, window_tokens: int = WINDOW_TOKENS) -> None:
    """Tell an engine its model and window, with the keywords of the contract."""
    engine.update_model(model=MODEL, context_length=window_tokens, base_url="", api_key="", provider="", api_mode="")


def request_of(rows: Sequence[Message]) -> list[Message]:
    """The request that a host makes of durable rows, before selection."""
    return copy_rows([SYSTEM, *strip_durable_keys(rows)])


def select(engine: ContextEngine, rows: Sequence[Message], *, opening: Sequence[Message] = (SYSTEM,)) -> list[Message]:
    """What an engine selects for durable rows: the whole request where it selects nothing."""
    request = copy_rows([*opening, *strip_durable_keys(rows)])
    incoming = next((row for row in reversed(rows) if row.get("role") == "user"), None)
    selection = engine.select_context(
        copy_rows(request),
        conversation_messages=copy_rows(rows),
        incoming_message=copy_rows([incoming])[0] if incoming else None,
        budget_tokens=WINDOW_TOKENS,
    )
    return request if selection is None else selection


def compress(engine: ContextEngine, rows: list[Message], **keywords: Any) -> list[Message]:  # noqa: ANN401 - the contract's
    """What an engine makes of a history, on another thread than the rest, as hosts do it."""
    keywords = {"current_tokens": estimate_tokens(rows), **keywords}
    return within_seconds(0, "compress", functools.partial(engine.compress, rows, **keywords))


def complete_turn(engine: ContextEngine, rows: Sequence[Message], **meta: Any) -> None:  # noqa: ANN401 - the same
    """Tell an engine of a turn that ended well, or as `meta` says."""
    usual = {"turn_id": "check:1:0", "task_id": "check", "api_call_count": 1, "interrupted": False, "failed": False}
    usage = {"prompt_tokens": 900, "completion_tokens": 50, "total_tokens": 950}
    engine.on_turn_complete(copy_rows(rows), **{"usage": usage, **usual, "turn_exit_reason": "completed", **meta})


def expect(is_so: object, otherwise: str) -> None:
    """Go on where something is so.

    Raises:
        Broken: it is not.
    """
    if not is_so:
        raise Broken(otherwise)


@contextmanager
def temporary_home() -> Iterator[Path]:
    """A home that nobody has used, where engines look for one; what they leave there is thrown away."""
    names = ("HOME", "HERMES_HOME")
    before = {name: os.environ.get(name) for name in names}
    with tempfile.TemporaryDirectory(prefix="engine-check-", ignore_cleanup_errors=True) as directory:
        os.environ.update(dict.fromkeys(names, directory))
        try:
            yield Path(directory)
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value
