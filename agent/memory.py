"""The slot for a memory provider: what a host tells it, and that a provider which fails costs nobody a turn.

A memory provider keeps facts beside a conversation and an engine decides what of the conversation is sent: the provider
hears of whole turns and of rows that are about to be compressed, and changes no request.
"""

import functools
import logging
from typing import Any, Protocol

from .context_engine import Message
from .errors import CompressionTimeoutError
from .messages import copy_rows
from .workers import POOL, CompressionPool

logger = logging.getLogger(__name__)

_TIMEOUT_SECONDS = 10.0


class MemoryProvider(Protocol):
    """Remembers across conversations."""

    @property
    def name(self) -> str:
        """What logs call it."""

    def sync_turn(self, user_content: str, assistant_content: str, *, session_id: str = "") -> None:
        """A turn ended with a reply."""

    def on_pre_compress(self, messages: list[Message]) -> str:
        """What should survive of rows that are about to be compressed, for engines that take `memory_context`."""

    def on_session_switch(self, new_session_id: str, *, parent_session_id: str = "", reset: bool = False) -> None:
        """The session has another id; `reset` where the conversation is a new one."""


class MemorySlot:
    """Calls a provider, where there is one, on the pool that compresses; one that hangs is left alone from then on."""

    def __init__(
        self,
        provider: MemoryProvider | None = None,
        *,
        pool: CompressionPool = POOL,
        timeout_seconds: float = _TIMEOUT_SECONDS,
    ) -> None:
        self._provider = provider
        self._pool = pool
        self._timeout_seconds = timeout_seconds

    def turn_complete(self, user_content: str, assistant_content: str, session_id: str) -> None:
        """Tell of a turn that ended with a reply."""
        self._ask("sync_turn", user_content, assistant_content, session_id=session_id)

    def before_compaction(self, rows: list[Message]) -> str:
        """What the provider wants to survive; nothing where it has nothing or fails."""
        if self._provider is None:
            return ""
        text = self._ask("on_pre_compress", copy_rows(rows))
        return text if isinstance(text, str) else ""

    def session_switched(self, new_session_id: str, old_session_id: str, *, is_new_conversation: bool = False) -> None:
        """Tell of another session id."""
        if new_session_id != old_session_id:
            more: dict[str, Any] = {"parent_session_id": old_session_id, "reset": is_new_conversation}
            self._ask("on_session_switch", new_session_id, **more)

    def _ask(self, hook: str, *args: Any, **kwargs: Any) -> object:  # noqa: ANN401 - any hook's
        provider = self._provider
        if provider is None:
            return None
        try:
            call = functools.partial(getattr(provider, hook), *args, **kwargs)
            return self._pool.run(call, self._timeout_seconds, task=hook)
        except CompressionTimeoutError as error:
            self._provider = None
            logger.warning("memory provider %s is left alone: %s", provider.name, error)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a provider is someone else's code, and some of it calls exit()
            logger.warning("%s of memory provider %s: %r; the turn goes on without it", hook, provider.name, error)
        return None
