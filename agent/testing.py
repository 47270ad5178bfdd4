"""A model that follows a script, for tests and demos without a provider."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from .caching import unmark
from .context_engine import Message
from .loop import Agent
from .messages import assistant_row, copy_rows, estimate_tokens, tool_call


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer: text, tool calls, or both."""

    text: str | None = None
    calls: Sequence[Message] = ()
    usage: dict[str, Any] | None = None
    """None has it counted roughly."""


Line: TypeAlias = str | Reply | Exception
"""What the model does at one request; an exception is raised."""


class ScriptedModel:
    """Answers from a list of lines, or from a function of the request body, and records what it was sent."""

    def __init__(self, script: Iterable[Line] | Callable[[dict[str, Any]], Line]) -> None:
        self._next = script if callable(script) else _reader(script)
        self.bodies: list[dict[str, Any]] = []
        """Each body that was dispatched, cache markers included."""

    @property
    def requests(self) -> list[list[Message]]:
        """The messages of each body, without cache markers."""
        return [unmark(body["messages"]) for body in self.bodies]

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """The next line of the script as a response."""
        (recorded,) = copy_rows([body])
        self.bodies.append(recorded)
        line = self._next(recorded)
        if isinstance(line, Exception):
            raise line
        reply = Reply(line) if isinstance(line, str) else line
        message = assistant_row(reply.text, reply.calls)
        usage = reply.usage if reply.usage is not None else _usage(recorded["messages"], message)
        finish_reason = "tool_calls" if reply.calls else "stop"
        return {"choices": [{"message": message, "finish_reason": finish_reason}], "usage": usage}


def call(call_id: str, name: str, **arguments: Any) -> Message:  # noqa: ANN401 - a tool's arguments
    """One tool call for a `Reply`."""
    return tool_call(call_id, name, json.dumps(arguments, sort_keys=True))


def run_conversation(agent: Agent, texts: Iterable[str]) -> list[str]:
    """The replies to a user's messages, one turn each."""
    return [agent.run_turn(text) for text in texts]


def _reader(script: Iterable[Line]) -> Callable[[dict[str, Any]], Line]:
    lines = iter(script)

    def read(_body: dict[str, Any]) -> Line:
        for line in lines:
            return line
        raise AssertionError("the script is over, but the agent asks on")

    return read


def _usage(messages: list[Message], answer: Message) -> dict[str, Any]:
    prompt_tokens, completion_tokens = estimate_tokens(messages), estimate_tokens([answer])
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
    }
