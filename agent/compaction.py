"""Compaction: when the host asks the engine for a shorter history, and how it takes it over."""

import logging
from collections.abc import Callable
from typing import Any
from uuid import uuid4

from .config import CompressionConfig
from .context_engine import ContextEngine, Message
from .errors import CompressionBusyError, CompressionTimeoutError
from .hooks import EngineHooks, is_message_list
from .memory import MemorySlot
from .messages import copy_rows, estimate_tokens
from .session import Session
from .tools import ToolRegistry
from .workers import run_compress

logger = logging.getLogger(__name__)


class Compactor:
    """Asks, compresses and commits, for one agent."""

    def __init__(
        self,
        hooks: EngineHooks,
        config: CompressionConfig,
        tools: ToolRegistry,
        *,
        details: dict[str, Any],
        notify: Callable[[str], None],
        memory: MemorySlot | None = None,
        fallback: ContextEngine | None = None,
    ) -> None:
        """`fallback` compresses in place of an engine whose compress() raises."""
        self._hooks = hooks
        self._config = config
        self._tools = tools
        self._details = details  # what on_session_start gets at every boundary
        self._notify = notify
        self._memory = memory or MemorySlot()
        self._fallback = fallback
        self._has_failed = False  # the last compress() raised, or gave what cannot be used
        self._is_stuck = False  # a compaction of this turn brought nothing: the gate would only ask for it again

    def before_turn(self, session: Session) -> bool:
        """Compact at the start of a turn if the engine wants it; False if it wanted it and had nothing smaller.

        A compress() that failed is no answer to that: what the engine selects may be small enough all the same.
        """
        self._is_stuck = False
        tokens = session.pressure_tokens()
        if not self._config.enabled or (session.anchor_tokens is None and self._hooks.should_defer(tokens)):
            return True
        if self._hooks.should_compress(tokens):
            return self.compact(session, tokens) or self._has_failed
        reason = self._hooks.no_compression_reason(tokens)
        if reason:
            self._notify(reason)
        protected_rows = self._hooks.figure("protect_first_n") + self._hooks.figure("protect_last_n")
        is_long = len(session.rows) > protected_rows + 1
        if is_long and self._hooks.should_compress_preflight(session.rows):
            self.compact(session, tokens)
        return True

    def before_request(self, session: Session, request: list[Message]) -> bool:
        """The gate after selection: whether the history was compacted, so that another selection is due.

        Where nothing was counted yet, the selection's own size is what the engine is asked about.
        """
        tokens = session.pressure_tokens() if session.anchor_tokens is not None else estimate_tokens(request)
        if not self._config.enabled or self._is_stuck or len(session.rows) <= 1:
            return False
        if session.anchor_tokens is None and self._hooks.should_defer(tokens):
            return False
        return self._hooks.should_compress(tokens) and self.compact(session, tokens, phase="pre_api")

    def after_overflow(self, session: Session) -> bool:
        """Compact since the provider refused a request for its size, whatever the engine would say."""
        tokens = max(session.pressure_tokens(), self._hooks.figure("context_length"))
        return self._config.enabled and self.compact(session, tokens)

    def after_tools(self, session: Session) -> None:
        """Compact or prune after a round of tools; not before real usage says how the last compaction went."""
        is_waiting = getattr(self._hooks.engine, "awaiting_real_usage_after_compression", False)
        if not self._config.enabled or is_waiting:
            return
        tokens = session.pressure_tokens()
        if self._hooks.should_compress(tokens):
            self.compact(session, tokens)
            return
        pruned = self._hooks.prune(session.rows, tokens)
        if pruned is not session.rows:
            session.replace(pruned)

    def compact(
        self,
        session: Session,
        tokens: int,
        *,
        focus_topic: str | None = None,
        is_forced: bool = False,
        phase: str = "compress",
    ) -> bool:
        """Put the engine's shorter history in place of the session's; False if there is none.

        Raises:
            CompressionTimeoutError: compress() did not answer in time; the session is as it was.
        """
        message = self._hooks.status_message(phase, "Compacting the conversation")
        if message:
            self._notify(message)
        optional: dict[str, Any] = {"current_tokens": tokens, "focus_topic": focus_topic, "force": is_forced}
        memory_context = self._memory.before_compaction(session.rows)
        if memory_context:
            optional["memory_context"] = memory_context
        shorter = self._compressed(session.rows, **optional)
        self._is_stuck = shorter is None
        if shorter is None:
            return False
        self._commit(session, shorter)
        return True

    def _compressed(self, rows: list[Message], **optional: Any) -> list[Message] | None:  # noqa: ANN401
        engine, seconds = self._hooks.engine, self._config.context_timeout_seconds
        self._has_failed = True
        try:
            shorter = run_compress(engine, rows, timeout_seconds=seconds, **optional)
        except (CompressionTimeoutError, KeyboardInterrupt):
            raise
        except CompressionBusyError as error:
            logger.warning("%s; the history stays", error)
            return None
        except BaseException as error:  # an engine is someone else's code, and some of it calls exit()
            return self._compressed_by_fallback(error, rows, optional)
        problem = _problem(shorter, rows)
        if problem:
            logger.warning("compress of context engine %s: %s; the history stays", engine.name, problem)
            return None
        self._has_failed = False
        return None if shorter == rows else _with_user_row(copy_rows(shorter), rows)

    def _compressed_by_fallback(
        self, error: BaseException, rows: list[Message], optional: dict[str, Any]
    ) -> list[Message] | None:
        """The history as another engine shortens it: a summary now is better than a request that does not fit."""
        engine, shorter = self._hooks.engine, rows
        if self._fallback is not None:
            self._fallback.update_model("", self._hooks.figure("context_length"))
            shorter = run_compress(self._fallback, rows, timeout_seconds=0, **optional)
        is_shorter = shorter != rows
        outcome = "the built-in one does it this time" if is_shorter else "the history stays"
        logger.warning("compress of context engine %s failed: %r; %s", engine.name, error, outcome)
        return _with_user_row(shorter, rows) if is_shorter else None

    def _commit(self, session: Session, shorter: list[Message]) -> None:
        """The boundary: the old session ends with all its rows, then the new one starts with the shorter list."""
        old_session_id = session.session_id
        self._hooks.session_end(old_session_id, session.rows)
        session.replace(shorter)
        if not self._config.in_place:
            session.session_id = uuid4().hex
        boundary = {"boundary_reason": "compression", "old_session_id": old_session_id}
        self._hooks.session_start(session.session_id, **boundary, **self._details)
        self._memory.session_switched(session.session_id, old_session_id)
        self._tools.refresh()
        engine = self._hooks.engine
        engine.last_prompt_tokens = -1
        engine.last_completion_tokens = 0
        engine.awaiting_real_usage_after_compression = True


def _problem(shorter: object, rows: list[Message]) -> str | None:
    if not is_message_list(shorter):
        return "expected a list of messages with something in it"
    assert isinstance(shorter, list)
    if estimate_tokens(shorter) > estimate_tokens(rows):
        return "the result is larger than the history"
    return None


def _with_user_row(shorter: list[Message], rows: list[Message]) -> list[Message]:
    """The list with the newest user row in front where it has none: many chat templates refuse a request without."""
    if any(row.get("role") == "user" for row in shorter):
        return shorter
    newest = [row for row in rows if row.get("role") == "user"][-1:]
    return copy_rows(newest) + shorter
