"""Clients for a model: the protocol, and one for any OpenAI-compatible endpoint."""

import http.client
import json
import re
import urllib.error
import urllib.request
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
        headers = {"Content-Type": "application/json"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        request = urllib.request.Request(self._url, json.dumps(body).encode(), headers)  # noqa: S310 - checked above
        try:
            with urllib.request.urlopen(request, timeout=self._timeout_seconds) as response:  # noqa: S310 - the same
                answer = json.load(response)
        except urllib.error.HTTPError as error:
            with error:
                raise error_for(error.code, error.read().decode(errors="replace")) from error
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise ProviderError(f"{self._url}: {error}", is_retryable=True) from error
        if not isinstance(answer, dict):
            raise ProviderError(f"{self._url}: the answer is no JSON object")
        return answer


def error_for(status: int, text: str) -> ProviderError:
    """The error that an HTTP answer stands for."""
    lowered = text.lower()
    if status == 413 or (status == 400 and any(words in lowered for words in _OVERFLOW_WORDS)):  # noqa: PLR2004 - HTTP
        window = _WINDOW.search(lowered)
        return ContextOverflowError(text, window_tokens=int(window[1]) if window else None)
    return ProviderError(f"HTTP {status}: {text}", status=status, is_retryable=status in _RETRYABLE)


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
    return {**row, "role": "assistant", "content": row.get("content")}
