"""One request and its answer: what is selected, whether it still fits, and what is tried until there is an answer."""

import functools
from collections.abc import Callable
from typing import Any

from . import caching, messages
from .compaction import Compactor
from .context_engine import Message
from .errors import ContextOverflowError, ProviderError
from .hooks import EngineHooks
from .provider import ModelClient, figure, message_of, usage_of
from .session import Session, Turn
from .tools import ToolRegistry

SUMMARY_REQUEST = (
    "You have used all the tool rounds that this turn allows. Call no more tools: answer now, with what you have found "
    "and done so far, and what is still open."
)
_RETRY_WAITS_SECONDS = (0.5, 2.0)


class Exchange:
    """Asks a model, for one agent."""

    def __init__(
        self,
        client: ModelClient,
        model: str,
        session: Session,
        *,
        hooks: EngineHooks,
        tools: ToolRegistry,
        compactor: Compactor,
        wait: Callable[[float], None],
    ) -> None:
        self.model = model
        self._client = client
        self._session = session
        self._hooks = hooks
        self._tools = tools
        self._compactor = compactor
        self._wait = wait

    def ask(self, turn: Turn, incoming: Message) -> dict[str, Any]:
        """The model's answer to a selection; a request that is too large is made smaller, once.

        Raises:
            ProviderError: there is no answer.
            CompressionTimeoutError: the history had to be compacted, and that took too long.
        """
        again = functools.partial(self._selected, incoming)
        try:
            return self._dispatch(turn, self._fitting(incoming), again)
        except ContextOverflowError as error:
            if not self._make_room(error.window_tokens):
                raise
            return self._dispatch(turn, again(), again)

    def summary(self, turn: Turn) -> str:
        """A last answer, without tools, to the whole history: selection is for turns that go on. Empty for none."""
        self._session.append(messages.user_row(SUMMARY_REQUEST), display_kind="notice")
        request = messages.sanitize(self._session.request())
        return messages.text_of(message_of(self._dispatch(turn, request, lambda: request, has_tools=False)))

    def _selected(self, incoming: Message) -> list[Message]:
        """The next request: what the engine selects, made valid."""
        request = self._session.request()
        window_tokens = self._hooks.figure("context_length")
        return messages.sanitize(self._hooks.select(request, self._session.rows, incoming, window_tokens))

    def _fitting(self, incoming: Message) -> list[Message]:
        """A selection that has passed the gate: where the history was compacted for it, it is made once more."""
        request = self._selected(incoming)
        return self._selected(incoming) if self._compactor.before_request(self._session, request) else request

    def _dispatch(
        self, turn: Turn, request: list[Message], again: Callable[[], list[Message]], *, has_tools: bool = True
    ) -> dict[str, Any]:
        """Send one request, ask for it again and send that where it may help, and learn from the answer's usage."""
        body: dict[str, Any] = {"model": self.model, "messages": caching.mark(request)}
        if has_tools and self._tools.schemas():
            body["tools"] = self._tools.schemas()
        answer = self._answer(turn, body, again)
        usage = usage_of(answer)
        turn.usage = usage or None
        self._session.anchor(figure(usage.get("prompt_tokens")))
        self._hooks.update_from_response(usage)
        return answer

    def _answer(self, turn: Turn, body: dict[str, Any], again: Callable[[], list[Message]]) -> dict[str, Any]:
        for wait_seconds in _RETRY_WAITS_SECONDS:
            turn.api_call_count += 1
            try:
                return self._client.complete(body)
            except ProviderError as error:
                if not error.is_retryable:
                    raise
                self._wait(wait_seconds)
                # The contract asks for a selection for each request, also for one that is tried again.
                body = {**body, "messages": caching.mark(again())}
        turn.api_call_count += 1
        return self._client.complete(body)

    def _make_room(self, window_tokens: int | None) -> bool:
        """Whether the next request can be smaller: the window is known to be, or the history was compacted."""
        window_before = self._hooks.figure("context_length")
        is_smaller = window_tokens is not None and window_tokens < window_before
        if window_tokens is not None and is_smaller:
            self._hooks.update_model(self.model, window_tokens)
        return self._compactor.after_overflow(self._session) or is_smaller
