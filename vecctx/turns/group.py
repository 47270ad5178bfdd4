"""Messages into turns: a user message and everything up to the next one."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from vecctx.turns.content import call_names, calls_of, is_empty
from vecctx.values import Message, PastTurn, Row, Turn

_SENDABLE_ROLES = frozenset({"user", "assistant", "tool"})


def group(messages: Sequence[Message]) -> tuple[Turn, ...]:
    """All messages in order, as turns; the first turn may lack its user message."""
    starts = [number for number, message in enumerate(messages) if message.role == "user" and number]
    bounds = [0, *starts, len(messages)]
    return tuple(Turn(tuple(messages[start:end])) for start, end in pairwise(bounds) if start < end)


def past_turns(history: Sequence[Row], taken_ids: frozenset[str]) -> Iterator[PastTurn]:
    """The turns of a history, newest first. Rows before the first user message belong to none.

    `taken_ids` are the call ids of the current turn; a turn that uses an id again is not sound beside newer ones.
    """
    end = len(history)
    for position in range(end - 1, -1, -1):
        if history[position].get("role") != "user":
            continue
        rows = history[position:end]
        sound = is_sound(rows, taken_ids)
        taken_ids |= call_ids(rows) if sound else frozenset()
        yield PastTurn(position, end, sound)
        end = position


def is_sound(rows: Sequence[Row], taken_ids: frozenset[str] = frozenset()) -> bool:
    """Whether every provider takes this turn as it is, beside calls that use `taken_ids`.

    It begins with a user message that says something, holds no odd role and no empty message, and every call is
    followed at once by its one result. Interrupted runs, crashes and other programs leave turns that are not so.
    """
    if not rows or rows[0].get("role") != "user" or any(_is_faulty(row) for row in rows):
        return False
    return _batches_are_whole(rows) and not call_ids(rows) & taken_ids


def call_ids(rows: Sequence[Row]) -> frozenset[str]:
    """The ids of all calls in these rows, in both fields that hold one."""
    return frozenset(name for row in rows for call in calls_of(row) for name in _names(call))


def _is_faulty(row: Row) -> bool:
    if row.get("role") not in _SENDABLE_ROLES:
        return True
    if _has_odd_part(row.get("content")) or _has_odd_calls(row):
        return True
    if row["role"] == "tool":
        return not isinstance(row.get("tool_call_id"), str) or row.get("content") is None
    return is_empty(row) or _ends_in_thought(row)


def _has_odd_calls(row: Row) -> bool:
    calls = row.get("tool_calls")
    if calls is None:
        return False
    return row["role"] != "assistant" or not isinstance(calls, list) or not calls or not all(map(_is_call, calls))


def _is_call(call: object) -> bool:
    """Whether a call has a name, and an id that its result can name."""
    if not isinstance(call, dict) or not isinstance(call.get("id"), str) or not call["id"]:
        return False
    return bool(call_names(call)[0])


def _has_odd_part(content: object) -> bool:
    """A list with something other than parts, or with an empty text part, is refused by strict providers."""
    if isinstance(content, list):
        return any(not isinstance(part, dict) or _is_blank_text(part) for part in content)
    return content is not None and not isinstance(content, str)


def _is_blank_text(part: dict[str, object]) -> bool:
    return part.get("type") in ("text", "input_text", "output_text") and not str(part.get("text") or "").strip()


def _ends_in_thought(row: Row) -> bool:
    content = row.get("content")
    if not isinstance(content, list) or not content or calls_of(row):
        return False
    return isinstance(content[-1], dict) and content[-1].get("type") in ("thinking", "redacted_thinking")


def _batches_are_whole(rows: Sequence[Row]) -> bool:
    waiting: list[frozenset[str]] = []
    seen: set[str] = set()
    for row in rows:
        if row["role"] == "tool":
            answered = next((names for names in waiting if row["tool_call_id"] in names), None)
            if answered is None:
                return False
            waiting.remove(answered)
            continue
        batch = [_names(call) for call in calls_of(row)]
        names = [name for call in batch for name in call]
        if waiting or len(set(names)) < len(names) or seen & set(names):
            return False
        waiting = batch
        seen.update(names)
    return not waiting


def _names(call: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(str(call[key]) for key in ("id", "call_id") if call.get(key))
