"""Calls an engine's hooks so that none of them can break a turn: what fails is told, and nothing has changed."""

import json
import logging
from typing import Any

from .context_engine import ContextEngine, Message
from .messages import copy_rows
from .provider import figure

logger = logging.getLogger(__name__)

_PAIR = 2  # some hooks answer with two values


class EngineHooks:
    """One engine, called with private copies, by the host's rules."""

    def __init__(self, engine: ContextEngine, *, provider: str = "") -> None:
        self.engine = engine
        self.provider = provider

    def figure(self, attribute: str) -> int:
        """A number that the engine keeps for the host; 0 where it has none."""
        return figure(getattr(self.engine, attribute, 0))

    def select(
        self, request: list[Message], conversation: list[Message], incoming: Message | None, budget_tokens: int
    ) -> list[Message]:
        """The engine's selection, or `request` itself where there is none that can be used."""
        if inherits(self.engine, "select_context"):
            return request
        selection = self._ask(
            "select_context",
            copy_rows(request),
            conversation_messages=copy_rows(conversation),
            incoming_message=copy_rows([incoming])[0] if incoming else None,
            budget_tokens=budget_tokens,
        )
        if selection is None:
            return request
        problem = _problem(selection, request)
        if problem:
            self._warn("select_context", problem)
            return request
        return copy_rows(selection)

    def turn_complete(self, messages: list[Message], usage: dict[str, Any] | None, **meta: Any) -> None:  # noqa: ANN401
        """Tell the engine that a turn ended."""
        if not inherits(self.engine, "on_turn_complete"):
            self._ask("on_turn_complete", copy_rows(messages), usage=dict(usage) if usage else None, **meta)

    def update_from_response(self, usage: dict[str, Any]) -> None:
        """Hand over a response's usage."""
        self._ask("update_from_response", dict(usage))

    def should_compress(self, prompt_tokens: int) -> bool:
        """The engine's answer; no if it has none."""
        return self._is_yes("should_compress", prompt_tokens)

    def no_compression_reason(self, prompt_tokens: int) -> str | None:
        """What the user should know about a no."""
        answer = self._ask("should_compress_info", prompt_tokens)
        reason = answer[1] if isinstance(answer, tuple) and len(answer) == _PAIR else None
        return reason if isinstance(reason, str) else None

    def should_compress_preflight(self, messages: list[Message]) -> bool:
        """Whether the engine wants to compress before a turn, below its threshold."""
        return self._is_yes("should_compress_preflight", copy_rows(messages))

    def should_defer(self, prompt_tokens: int) -> bool:
        """Whether the engine would rather wait for real usage."""
        return self._is_yes("should_defer_preflight_to_real_usage", prompt_tokens)

    def has_content_to_compress(self, messages: list[Message]) -> bool:
        """Whether compression on request makes sense; yes unless the engine says no."""
        return self._ask("has_content_to_compress", copy_rows(messages)) is not False

    def prune(self, messages: list[Message], current_tokens: int) -> list[Message]:
        """The history with old tool results shortened, or `messages` itself."""
        if inherits(self.engine, "prune_tool_results_only"):
            return messages
        answer = self._ask("prune_tool_results_only", copy_rows(messages), current_tokens=current_tokens)
        if not (isinstance(answer, tuple) and len(answer) == _PAIR and isinstance(answer[1], int)):
            return messages
        return copy_rows(answer[0]) if answer[1] and is_message_list(answer[0]) else messages

    def status_message(self, phase: str, default_message: str) -> str | None:
        """What to tell the user about a compaction; None for nothing."""
        hook = "get_automatic_compaction_status_message"
        message = self._ask(hook, phase=phase, default_message=default_message)
        return message if isinstance(message, str) else None

    def update_model(self, model: str, context_length: int) -> None:
        """Tell the engine which model and window it works for; keys and addresses are none of its business here."""
        endpoint = {"base_url": "", "api_key": "", "provider": self.provider, "api_mode": ""}
        self._ask("update_model", model=model, context_length=context_length, **endpoint)

    def bind(self, session_id: str) -> None:
        """Bind a session; few engines have this hook."""
        self._ask("bind_session_state", session_db=None, session_id=session_id)

    def session_start(self, session_id: str, **details: Any) -> None:  # noqa: ANN401 - the contract's details grow
        """A session starts, or goes on after a compaction."""
        self._ask("on_session_start", session_id, **details)

    def session_end(self, session_id: str, messages: list[Message]) -> None:
        """A session ends, or is about to be compacted."""
        self._ask("on_session_end", session_id, copy_rows(messages))

    def session_reset(self) -> None:
        """The conversation starts anew."""
        self._ask("on_session_reset")

    def _ask(self, hook: str, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401 - any hook's
        """What a hook returns; None if the engine does not have it, or if it raised."""
        call = getattr(self.engine, hook, None)
        if call is None:
            return None
        try:
            return call(*args, **kwargs)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # an engine is someone else's code, and some of it calls exit()
            self._warn(hook, repr(error))
            return None

    def _is_yes(self, hook: str, argument: object) -> bool:
        answer = self._ask(hook, argument)
        try:
            return bool(answer)
        except Exception as error:  # an array of numpy, say, has no truth
            self._warn(hook, f"its answer is neither yes nor no ({error!r})")
            return False

    def _warn(self, hook: str, problem: str) -> None:
        logger.warning("%s of context engine %s: %s; the turn goes on without it", hook, self.engine.name, problem)


def inherits(engine: ContextEngine, hook: str) -> bool:
    """Whether an engine leaves a hook as the contract has it, so that the host need not prepare a call."""
    own = getattr(engine, hook, None)
    return own is None or getattr(own, "__func__", None) is getattr(ContextEngine, hook)


def is_message_list(value: object) -> bool:
    """Whether a value is a list of messages, with something in it, that can be written as JSON."""
    if not isinstance(value, list) or not value or not all(map(_is_message, value)):
        return False
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _is_message(row: object) -> bool:
    return isinstance(row, dict) and all(isinstance(key, str) for key in row)


def _problem(selection: list[Message], request: list[Message]) -> str | None:
    """Why a selection cannot be sent, or None."""
    if not is_message_list(selection):
        return f"expected a list of messages with something in it, got {_describe(selection)}"
    system = request[:1] if request and request[0].get("role") == "system" else []
    if selection[: len(system)] != system:
        return "the system message was changed or left out"
    if any(row.get("role") == "system" for row in selection[len(system) :]):
        return "there is a system message that the request did not start with"
    if any(row.get("role") == "tool" and not row.get("tool_call_id") for row in selection):
        return "a tool message has no tool_call_id"
    return None


def _describe(value: object) -> str:
    if not isinstance(value, list):
        return f"an object of type {type(value).__name__}"
    return "a list with something else" if value else "an empty list"
