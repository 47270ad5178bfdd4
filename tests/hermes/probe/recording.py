"""Notes what a host asks of an engine, and what it got."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping
from functools import wraps
from typing import Any, TypeVar

HOOKS = (
    "update_model",
    "bind_session_state",
    "get_tool_schemas",
    "on_session_start",
    "on_session_end",
    "on_session_reset",
    "should_compress",
    "should_compress_info",
    "should_compress_preflight",
    "should_defer_preflight_to_real_usage",
    "get_automatic_compaction_status_message",
    "has_content_to_compress",
    "compress",
    "prune_tool_results_only",
    "select_context",
    "update_from_response",
    "on_turn_complete",
    "handle_tool_call",
)
_KNOWN_BY_IDENTITY = ("select_context", "on_turn_complete", "prune_tool_results_only")
"""Hosts leave out an engine that inherits these; a wrapper around the default would change that."""
_TOLD = ("boundary_reason", "platform", "interrupted", "failed", "turn_exit_reason", "phase", "api_call_count")
"""Keywords whose value says what happened, rather than to whom."""

JOURNAL: list[dict[str, Any]] = []
"""Every outermost hook call of the process, in order."""

Hook = Callable[..., Any]
EngineT = TypeVar("EngineT")
_depth = threading.local()


def recorded(engine_class: type[EngineT], contract: type) -> type[EngineT]:
    """A subclass that notes each call of a hook and changes nothing."""
    wrapped: dict[str, Any] = {hook: _noting(hook, call) for hook, call in _hooks_of(engine_class, contract)}
    wrapped["__module__"] = engine_class.__module__
    return type(engine_class.__name__, (engine_class,), wrapped)


def _hooks_of(engine_class: type, contract: type) -> Iterator[tuple[str, Hook]]:
    for hook in HOOKS:
        call = getattr(engine_class, hook, None)
        is_inherited = call is getattr(contract, hook, None)
        if call is not None and not (is_inherited and hook in _KNOWN_BY_IDENTITY):
            yield hook, call


def _noting(hook: str, call: Hook) -> Hook:
    @wraps(call)  # hosts look at the signature to see which keywords they may pass
    def noted(self: Any, *args: Any, **kwargs: Any) -> Any:
        if getattr(_depth, "value", 0):  # the engine asks itself
            return call(self, *args, **kwargs)
        note = _note(hook, args, kwargs)
        JOURNAL.append(note)
        _depth.value = 1
        started = time.perf_counter()
        try:
            answer = call(self, *args, **kwargs)
        except BaseException as error:
            note["raised"] = repr(error)
            raise
        finally:
            _depth.value = 0
            note["seconds"] = time.perf_counter() - started
        note["answer"] = _answer(hook, answer)
        return answer

    return noted


def _note(hook: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "hook": hook,
        "positional": len(args),
        "keywords": sorted(kwargs),
        "told": {key: kwargs[key] for key in _TOLD if key in kwargs},
        "thread": threading.current_thread().name,
        "session_id": args[0] if hook.startswith("on_session") and args else kwargs.get("session_id"),
    }


def _answer(hook: str, answer: Any) -> Any:
    """A copy of what goes to the provider; of the rest only what JSON can hold in a few words."""
    if hook == "select_context":
        return [dict(row) for row in answer] if _is_list_of_rows(answer) else None
    if hook == "compress":
        return len(answer) if isinstance(answer, list) else None
    return answer if isinstance(answer, bool | None) else type(answer).__name__


def _is_list_of_rows(answer: Any) -> bool:
    return isinstance(answer, list) and all(isinstance(row, dict) for row in answer)
