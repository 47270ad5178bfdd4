"""A client that shows an answer while it arrives, and that can be stopped in the middle of one."""

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from .answers import Answer, chunks, is_whole
from .errors import ProviderError, TurnInterruptedError
from .provider import OpenAIClient

Events: TypeAlias = "queue.SimpleQueue[dict[str, Any] | ProviderError | str]"
"""The chunks of one answer, an error, or one of the two marks below."""

_END = "end"
_STOP = "stop"


class StreamingClient(OpenAIClient):
    """Reads on a thread of its own, so that `cancel` ends a turn whatever the network does.

    `on_text` gets each piece of text, on the thread that asked.
    """

    def __init__(
        self,
        base_url: str,
        *,
        api_key: str = "",
        timeout_seconds: float = 60.0,
        on_text: Callable[[str], None] = lambda _text: None,
    ) -> None:
        super().__init__(base_url, api_key=api_key, timeout_seconds=timeout_seconds)
        self._on_text = on_text
        self._events: Events = queue.SimpleQueue()
        self._is_cancelled = False

    def begin(self) -> None:
        """Start a turn: what was cancelled before no longer counts."""
        self._is_cancelled = False

    def cancel(self) -> None:
        """End this turn's requests, the running one and later ones; may be called from another thread."""
        self._is_cancelled = True
        self._events.put(_STOP)

    def wait(self, seconds: float) -> None:
        """Let time pass between two attempts.

        Raises:
            TurnInterruptedError: `cancel` was called.
        """
        events = self._new_events()
        try:
            events.get(timeout=seconds)
        except queue.Empty:
            return
        raise TurnInterruptedError

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """The endpoint's response, put together from its stream.

        Raises:
            TurnInterruptedError: `cancel` was called; it carries the text so far.
        """
        events, answer = self._new_events(), Answer()
        threading.Thread(target=self._read, args=(body, events), name="provider-stream", daemon=True).start()
        while (chunk := self._next_chunk(events, answer)) is not None:
            if is_whole(chunk):
                return chunk
            text = answer.add(chunk)
            if text:
                self._on_text(text)
        return answer.response()

    def _new_events(self) -> Events:
        """A queue for one wait. Looked at in this order, no `cancel` falls between two of them."""
        events = self._events = queue.SimpleQueue()
        if self._is_cancelled:
            raise TurnInterruptedError
        return events

    def _next_chunk(self, events: Events, answer: Answer) -> dict[str, Any] | None:
        """The next chunk, or None at the end."""
        try:
            event = events.get(timeout=self._timeout_seconds)
        except queue.Empty:
            raise ProviderError(
                f"no answer within {self._timeout_seconds:g} s ({self._url})", is_retryable=True
            ) from None
        if isinstance(event, ProviderError):
            raise event
        if event == _STOP:
            raise TurnInterruptedError(answer.text)
        return event if isinstance(event, dict) else None

    def _read(self, body: dict[str, Any], events: Events) -> None:
        """Hand over the chunks of an answer, for as long as somebody waits for them."""
        try:
            self._read_stream({**body, "stream": True, "stream_options": {"include_usage": True}}, events)
            events.put(_END)
        except ProviderError as error:
            events.put(error)

    def _read_stream(self, body: dict[str, Any], events: Events) -> None:
        try:
            with self.opened(body) as response:
                for chunk in chunks(response):
                    if self._is_cancelled or self._events is not events:
                        return  # closes the connection, so that the endpoint stops too
                    events.put(chunk)
        except ProviderError as error:
            if "stream_options" not in str(error) or "stream_options" not in body:
                raise
            # Older servers refuse the key; without it they do not count tokens.
            self._read_stream({key: body[key] for key in body if key != "stream_options"}, events)
