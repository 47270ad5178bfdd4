"""The hook `pre_llm_call`: text for the model that goes with a user's message, and is no part of what the user said."""

import logging
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

from .context_engine import Message
from .messages import copy_rows

logger = logging.getLogger(__name__)

PreLlmCall: TypeAlias = Callable[..., str | Mapping[str, Any] | None]
"""Asked once a turn with keywords (session_id, turn_id, user_message, conversation_history, is_first_turn, model,
platform); gives a text, `{"context": text}`, or None."""

SENT_KEY = "api_content"
"""Where a durable row keeps what was sent in place of its content, so that later requests repeat the same bytes."""


def injected_text(hooks: Iterable[PreLlmCall], history: list[Message], **details: Any) -> str:  # noqa: ANN401 - grows
    """What the hooks add to a message, blank lines between them; one that fails adds nothing."""
    texts = (_ask(hook, history, details) for hook in hooks)
    return "\n\n".join(text for text in texts if text.strip())


def sent_content(row: Message) -> Message:
    """A row as it is sent: with what was added to it, unless its content has been changed since."""
    sent, content = row.get(SENT_KEY), row.get("content")
    is_current = isinstance(sent, str) and isinstance(content, str) and sent.startswith(content)
    return {**row, "content": sent} if is_current else row


def _ask(hook: PreLlmCall, history: list[Message], details: Mapping[str, Any]) -> str:
    try:
        answer = hook(conversation_history=copy_rows(history), is_first_turn=not history, **details)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a hook is someone else's code, and some of it calls exit()
        logger.warning("pre_llm_call hook %r: %r; the turn goes on without it", hook, error)
        return ""
    text = answer.get("context") if isinstance(answer, Mapping) else answer
    return text if isinstance(text, str) else ""
