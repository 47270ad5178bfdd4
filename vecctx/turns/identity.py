"""What makes two messages the same message, whatever the host adds to them from call to call."""

import json
import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

from vecctx.turns.content import call_names, calls_of, text_of_content, without_media
from vecctx.values import Row

_FENCE = re.compile(
    r"<\s*memory-context\s*>(?:(?!<\s*memory-context\s*>).)*?<\s*/\s*memory-context\s*>", re.IGNORECASE | re.DOTALL
)
"""Hosts put what their memory remembers into the last user message, anew for each request."""
_SUMMARY_PREFIXES = (
    "[CONTEXT COMPACTION",
    "[CONTEXT SUMMARY]",
    "CONTEXT COMPACTION SUMMARY:",
    "[PRIOR CONTEXT — for reference only; not a new message]",
)
"""How hosts begin the summary that they put in the place of old turns, also where they fold it into a kept row."""
_SUMMARY_BOUNDS = ("[Summary of earlier messages, for reference]", "[End of the summary]")
"""Around the reference host's summary: who pastes one and asks about it adds something."""
FRAME_OPEN = "<recalled>"
"""The first line of a recalled block."""
FRAME_NOTE = "Earlier messages of this conversation, quoted as they were said: background, not a new request."
"""The second line of a recalled block: by both it is known when it comes back; someone may well type the first."""
_TALKING_ROLES = frozenset({"user", "assistant", "tool", "function"})


def key_of(row: Row) -> str:
    """The identity of a message's content, 32 hex digits.

    It is made of role, content and calls. Ids, timestamps, cache markers, reasoning and memory fences are left out:
    hosts change them from call to call, or send them in one place and not in another.
    """
    calls = [call_names(call) for call in calls_of(row)]
    seen = [row.get("role"), _canonical(row.get("content")), calls]
    try:
        text = json.dumps(seen, ensure_ascii=True, sort_keys=True, default=str)
    except RecursionError:
        text = json.dumps(without_media(seen), ensure_ascii=True, sort_keys=True, default=str)
    return blake2b(text.encode(), digest_size=16).hexdigest()


def uid_of(row: Row) -> str | None:
    """The host's durable name for a row, if it gave one."""
    uid = row.get("message_uid")
    return uid if isinstance(uid, str) and uid else None


def is_synthetic(row: Row) -> bool:
    """Whether a row was written by the host or by us, and by nobody who talks: summaries, notices, our own frames."""
    if row.get("role") not in _TALKING_ROLES or row.get("_compressed_summary") or row.get("display_kind"):
        return True
    text = "" if row["role"] == "tool" else text_of_content(row.get("content")).strip()
    is_summary = text.startswith(_SUMMARY_BOUNDS[0]) and text.endswith(_SUMMARY_BOUNDS[1])
    return is_summary or text.startswith((f"{FRAME_OPEN}\n{FRAME_NOTE}", *_SUMMARY_PREFIXES))


def _canonical(content: object) -> object:
    if isinstance(content, str):
        return _FENCE.sub("", content).strip()
    if isinstance(content, list):
        parts = [_canonical_part(part) for part in content]
        return parts[0] if len(parts) == 1 and isinstance(parts[0], str) else parts
    return content or ""


def _canonical_part(part: object) -> object:
    if not isinstance(part, Mapping):
        return _canonical(part) if isinstance(part, str) else part
    if part.get("type") in ("text", "input_text") and isinstance(part.get("text"), str):
        return _canonical(part["text"])
    return {key: value for key, value in _items(part) if key != "cache_control"}


def _items(part: Mapping[str, Any]) -> list[tuple[str, Any]]:
    return sorted((str(key), value) for key, value in part.items())
