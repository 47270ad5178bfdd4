"""A selection into the messages that are sent."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from vecctx.turns.identity import FRAME_NOTE, FRAME_OPEN
from vecctx.values import Quote, Row

FRAME_CLOSE = "</recalled>"
_INVISIBLE = (
    r"[\s\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164"
    r"\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e01ef]*"
)
_OPENING = r"(?:[<＜﹤]|&(?:lt|#0{0,6}60|#x0{0,6}3c);)"
_LETTERS = [f"[{letter}{chr(ord(letter) + 0xFEE0)}]" for letter in "recalled"]
_FRAME_TAG = re.compile(
    _OPENING + "(?=" + _INVISIBLE + "[/／]?" + _INVISIBLE + _INVISIBLE.join(_LETTERS) + ")", re.IGNORECASE
)
"""The sign that opens our tag, however it is spelled: full-width, as an entity, with what nobody sees in between."""
_GAP = "[...]"


def render(head: Sequence[Row], kept: Sequence[Row], block: str | None, current: Sequence[Row]) -> list[dict[str, Any]]:
    """The message list: system and prefill, kept turns, the recalled block in a user message of its own, this turn.

    Rows are copied, unknown keys included; their contents are the host's own objects.
    """
    recalled = [{"role": "user", "content": block}] if block else []
    return [dict(row) for row in (*head, *kept, *recalled, *current)]


def block(quotes: Sequence[Quote]) -> str | None:
    """The recalled block: one frame that says who and when; None for nothing.

    Quoted lines are indented and headers are not, so that no text can pose as a header or close the frame.
    """
    if not quotes:
        return None
    lines, day = [FRAME_OPEN, FRAME_NOTE], None
    for quote in in_order(quotes):
        said_at = quote.message.said_at
        if said_at is not None and date_of(said_at) != day:
            day = date_of(said_at)
            lines.append(f"[{day}]")
        lines += [f"{quote.message.role}:", _indented(quoted_text(quote))]
    return "\n".join([*lines, FRAME_CLOSE])


def in_order(quotes: Sequence[Quote]) -> list[Quote]:
    """The quotes as they were said."""
    return sorted(quotes, key=lambda quote: (quote.message.conversation_id, quote.message.position, quote.start))


def quoted_text(quote: Quote) -> str:
    """The quoted text, with a mark where something was left out."""
    whole = quote.message.text
    before, after = _GAP if quote.start else "", _GAP if quote.end < len(whole) else ""
    return f"{before}{whole[quote.start : quote.end].strip()}{after}"


def frame_text() -> str:
    """What the frame costs beside its items."""
    return f"{FRAME_OPEN}\n{FRAME_NOTE}\n{FRAME_CLOSE}"


def date_of(said_at: float) -> str:
    """The day of a moment in UTC, the same on every machine."""
    try:
        return datetime.fromtimestamp(said_at, UTC).strftime("%Y-%m-%d")
    except (OverflowError, ValueError, OSError):
        return "undated"


def _indented(text: str) -> str:
    safe = _FRAME_TAG.sub("‹", text).encode("utf-8", "replace").decode("utf-8")
    return "\n".join(f" {line}" for line in safe.splitlines() if line.strip())
