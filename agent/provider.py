"""Clients for a model: the protocol, and one for any OpenAI-compatible endpoint."""

import http.client
import json
import math
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from .errors import ContextOverflowError, ProviderError

_RETRYABLE = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 529})
_OVERFLOW_WORDS = (
    "context length",
    "context window",
    "context_length_exceeded",
    "too many tokens",
    "prompt is too long",
)
_WINDOW = re.compile(r"(?:maximum|max|limit|window|length)\D{0,40}?(\d{4,8})")


_LONGEST_ERROR_BYTES = 65_536


class ModelClient(Protocol):
    """Answers one request."""

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """The response to a chat-completions body, in the OpenAI format.

        Raises:
            ProviderError: the endpoint refused, or could not be reached.
        """


class OpenAIClient:
    """Asks an OpenAI-compatible endpoint, such as `http://localhost:8000/v1`."""

    def __init__(self, base_url: str, *, api_key: str = "", timeout_seconds: float = 60.0) -> None:
        if not base_url.startswith(("http://", "https://")):
            raise ProviderError(f"base_url is {base_url!r}; give one that starts with http:// or https://")
        self._url = base_url.rstrip("/") + "/chat/completions"
        self._api_key = api_key
        self._timeout_seconds = timeout_seconds

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """The endpoint's response to a chat-completions body."""
        with self.opened(body) as response:
            return whole_answer(response.read())

    @contextmanager
    def opened(self, body: dict[str, Any]) -> Iterator[http.client.HTTPResponse]:
        """The endpoint's response, to be read inside `with`; what goes wrong there is a ProviderError too."""
        headers = {"Content-Type": "application/json"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        request = urllib.request.Request(self._url, json.dumps(body).encode(), headers)  # noqa: S310 - checked above
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_seconds) as response:  # noqa: S310 - the same
                yield response
        except urllib.error.HTTPError as error:
            with error:
                raise error_for(error.code, _text_of(error)) from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ProviderError(f"{self._problem(error)} ({self._url})", is_retryable=True) from error

    def _problem(self, error: Exception) -> str:
        """What the network did, in a few words."""
        cause = getattr(error, "reason", error)
        if isinstance(cause, TimeoutError):
            return f"no answer within {self._timeout_seconds:g} s"
        if isinstance(cause, http.client.IncompleteRead | http.client.RemoteDisconnected | ConnectionResetError):
            return "the connection was closed half way"
        return getattr(cause, "strerror", None) or str(cause) or type(cause).__name__


def whole_answer(content: bytes) -> dict[str, Any]:
    """The JSON object that an endpoint answered with.

    Raises:
        ProviderError: it is none.
    """
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError) as error:
        shown = shorten(content.decode(errors="replace")) or "nothing"
        raise ProviderError(f"the endpoint answered with malformed JSON: {shown}", is_retryable=True) from error
    if not isinstance(answer, dict):
        raise ProviderError("the endpoint answered with JSON that is no object")
    return answer


def error_for(status: int, text: str) -> ProviderError:
    """The error that an HTTP answer stands for."""
    lowered, reason = text.lower(), _reason(text)
    if status == 413 or (status == 400 and any(words in lowered for words in _OVERFLOW_WORDS)):  # noqa: PLR2004 - HTTP
        window = _WINDOW.search(lowered)
        return ContextOverflowError(reason, window_tokens=int(window[1]) if window else None)
    phrase = http.client.responses.get(status, "")
    told = f"HTTP {status} {phrase}".rstrip() + (f": {reason}" if reason else "")
    return ProviderError(told, status=status, is_retryable=status in _RETRYABLE)


def shorten(text: str, characters: int = 200) -> str:
    """A text as one line of at most about so many characters."""
    line = " ".join(text.split())
    return line if len(line) <= characters else f"{line[:characters]}…"


def _reason(text: str) -> str:
    """The sentence in an error body: its message where it is the usual JSON, else how it begins."""
    try:
        error = json.loads(text)["error"]
        message = error["message"] if isinstance(error, dict) else error
    except (ValueError, RecursionError, KeyError, TypeError):
        message = text
    return shorten(str(message))


def _text_of(error: urllib.error.HTTPError) -> str:
    """What an error answer says; nothing where it breaks off."""
    try:
        return error.read(_LONGEST_ERROR_BYTES).decode(errors="replace")
    except (OSError, http.client.HTTPException):
        return ""


def message_of(response: dict[str, Any]) -> dict[str, Any]:
    """The assistant row of a response, without keys that say nothing.

    Raises:
        ProviderError: the response holds no message.
    """
    try:
        message = response["choices"][0]["message"]
        row = {key: value for key, value in message.items() if value is not None or key == "content"}
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ProviderError("the response holds no message", is_retryable=True) from error
    content = row.get("content")
    if content is not None and not isinstance(content, str | list):
        raise ProviderError(f"the response holds a message with odd content: {shorten(repr(content))}")
    return {**row, "role": "assistant", "content": content}


def usage_of(response: dict[str, Any]) -> dict[str, Any]:
    """What a response says of its size; empty where it says nothing."""
    usage = response.get("usage")
    return usage if isinstance(usage, dict) else {}


def figure(value: object) -> int:
    """A number that a provider or an engine gives; 0 for what is none, since an exception would cost the turn."""
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0
