"""A provider that follows a script, for hosts that stream and hosts that do not."""

import json
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from agent.testing import Reply
from tests.fakes.provider import FakeEndpoint

Body = dict[str, Any]


@dataclass(frozen=True)
class Refusal:
    """An HTTP error."""

    status: int
    message: str


Line = str | Reply | Refusal
SUMMARY = "Summary: they talked, and everything was settled."


class ScriptedProvider:
    """Answers requests of the conversation in the order of a script, or by a function of the body.

    A request without tools is none of the conversation: a host asks for titles and summaries that way.
    """

    def __init__(self, script: Iterable[Line] | Callable[[Body], Line]) -> None:
        self._next = script if callable(script) else _reader(script)
        self._lock = threading.Lock()  # guards both lists: agents ask from several threads
        self.bodies: list[Body] = []
        """The requests of the conversation."""
        self.other_bodies: list[Body] = []
        self.endpoint = FakeEndpoint(self._answer)

    def _answer(self, body: Body) -> tuple[int, bytes]:
        with self._lock:
            is_conversation = bool(body.get("tools"))
            (self.bodies if is_conversation else self.other_bodies).append(body)
            line = self._next(body) if is_conversation else SUMMARY
        if isinstance(line, Refusal):
            return line.status, json.dumps({"error": {"message": line.message, "code": line.status}}).encode()
        reply = Reply(line) if isinstance(line, str) else line
        return 200, (_streamed if body.get("stream") else _whole)(reply, body)


def _reader(script: Iterable[Line]) -> Callable[[Body], Line]:
    lines = iter(script)
    return lambda _body: next(lines, Refusal(400, "the script is over"))


def _whole(reply: Reply, body: Body) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        message |= {"tool_calls": list(reply.calls)}
    answer = _frame(body) | {"object": "chat.completion", "choices": [_choice(reply, message=message)]}
    return json.dumps(answer | _usage(reply, body)).encode()


def _streamed(reply: Reply, body: Body) -> bytes:
    delta: dict[str, Any] = {"role": "assistant", "content": reply.text}
    if reply.calls:
        delta["tool_calls"] = [{"index": index, **call} for index, call in enumerate(reply.calls)]
    first = {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    last = {"choices": [_choice(reply, delta={})], **_usage(reply, body)}
    chunks = [json.dumps(_frame(body) | chunk) for chunk in (first, last)]
    return "".join(f"data: {chunk}\n\n" for chunk in [*chunks, "[DONE]"]).encode()


def _frame(body: Body) -> dict[str, Any]:
    return {"id": "answer", "object": "chat.completion.chunk", "created": 1, "model": body["model"]}


def _choice(reply: Reply, **what: Any) -> dict[str, Any]:
    return {"index": 0, "finish_reason": "tool_calls" if reply.calls else "stop", **what}


def _usage(reply: Reply, body: Body) -> dict[str, Any]:
    """The usage that the script says, none if that is empty, else a rough count."""
    if reply.usage is not None:
        return {"usage": dict(reply.usage)} if reply.usage else {}
    tokens = len(json.dumps(body["messages"])) // 4
    return {"usage": {"prompt_tokens": tokens, "completion_tokens": 5, "total_tokens": tokens + 5}}
