"""Puts an answer together from the pieces in which an endpoint streams it; all pure."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from .errors import ProviderError
from .messages import assistant_row
from .provider import shorten, whole_answer

_REASONING_KEYS = ("reasoning", "reasoning_content")


@dataclass(slots=True)
class Answer:
    """What has arrived of an answer."""

    text: str = ""
    calls: dict[int, dict[str, Any]] = field(default_factory=dict)
    reasoning: dict[str, str] = field(default_factory=dict)
    usage: dict[str, Any] | None = None
    finish_reason: str | None = None

    def add(self, chunk: dict[str, Any]) -> str:
        """Take in a chunk; the text that it adds.

        Raises:
            ProviderError: it reports an error, or is no chunk.
        """
        if chunk.get("error"):
            raise ProviderError(f"the endpoint broke off: {_told(chunk['error'])}", is_retryable=True)
        try:
            choice = (chunk.get("choices") or [{}])[0]
            self.usage = chunk.get("usage") or self.usage
            self.finish_reason = choice.get("finish_reason") or self.finish_reason
            return self._add_delta(choice.get("delta") or {})
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            shown = shorten(json.dumps(chunk))
            raise ProviderError(f"the endpoint streams something that is no answer: {shown}") from error

    def response(self) -> dict[str, Any]:
        """The whole answer, in the format of one that was not streamed.

        Raises:
            ProviderError: it is not whole.
        """
        if self.finish_reason is None:
            raise ProviderError("the endpoint closed the stream half way", is_retryable=True)
        message = assistant_row(self.text or None, [self.calls[index] for index in sorted(self.calls)])
        choice = {"message": {**self.reasoning, **message}, "finish_reason": self.finish_reason}
        return {"choices": [choice], "usage": self.usage}

    def _add_delta(self, delta: dict[str, Any]) -> str:
        for piece in delta.get("tool_calls") or ():
            self._add_call(piece)
        for key in _REASONING_KEYS:
            if delta.get(key):
                self.reasoning[key] = self.reasoning.get(key, "") + delta[key]
        text: str = delta.get("content") or ""
        self.text += text
        return text

    def _add_call(self, piece: dict[str, Any]) -> None:
        """A call's first piece has its id and name, later ones more of its arguments. Some servers number nothing."""
        index = int(piece.get("index") or 0)
        empty = {"id": f"call_{index}", "type": "function", "function": {"name": "", "arguments": ""}}
        call, new = self.calls.setdefault(index, empty), piece.get("function") or {}
        call["id"] = piece.get("id") or call["id"]
        call["function"]["name"] += new.get("name") or ""
        call["function"]["arguments"] += new.get("arguments") or ""


def chunks(lines: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The chunks in the lines of an event stream; from an endpoint that does not stream, its one answer.

    Raises:
        ProviderError: there is malformed JSON.
    """
    other, is_stream = b"", False
    for line in lines:
        if line.startswith(b"data:"):
            is_stream, data = True, line[5:].strip()
            if data == b"[DONE]":
                return
            yield whole_answer(data)
        elif not is_stream and not line.startswith((b":", b"event:")):
            other += line
    if other.strip():
        yield whole_answer(other)


def is_whole(chunk: dict[str, Any]) -> bool:
    """Whether a chunk is the answer of an endpoint that does not stream."""
    choices = chunk.get("choices")
    return isinstance(choices, list) and bool(choices) and isinstance(choices[0], dict) and "message" in choices[0]


def _told(error: object) -> str:
    return shorten(str(error.get("message") if isinstance(error, dict) else error))
