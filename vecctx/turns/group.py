"""Messages into turns: a user message and everything up to the next one."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

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
    """The ids of all calls in these rows."""
    return frozenset(str(call.get("id")) for row in rows for call in calls_of(row))


def _is_faulty(row: Row) -> bool:
    if row.get("role") not in _SENDABLE_ROLES:
        return True
    if row["role"] == "tool":
        return not row.get("tool_call_id") or row.get("content") is None
    if is_empty(row) or _has_odd_part(row.get("content")) or _ends_in_thought(row):
        return True
    return _has_odd_calls(row)


def _has_odd_calls(row: Row) -> bool:
    calls = row.get("tool_calls")
    if calls is None:
        return False
    return row["role"] == "user" or not isinstance(calls, list) or not calls or len(calls_of(row)) != len(calls)


def _has_odd_part(content: object) -> bool:
    """A list with something other than parts, or with an empty text part, is refused by strict providers."""
    if isinstance(content, list):
        return any(not isinstance(part, dict) or _is_blank_text(part) for part in content)
    return content is not None and not isinstance(content, str)


def _is_blank_text(part: dict[str, object]) -> bool:
    return part.get("type") == "text" and not str(part.get("text") or "").strip()


def _ends_in_thought(row: Row) -> bool:
    content = row.get("content")
    if not isinstance(content, list) or not content or calls_of(row):
        return False
    return isinstance(content[-1], dict) and content[-1].get("type") in ("thinking", "redacted_thinking")


def _batches_are_whole(rows: Sequence[Row]) -> bool:
    waiting: list[str] = []
    seen: set[str] = set()
    for row in rows:
        if row["role"] == "tool":
            identity = str(row["tool_call_id"])
            answered = next((wanted for wanted in waiting if identity in wanted.split("\n")), None)
            if answered is None:
                return False
            waiting.remove(answered)
            continue
        calls = calls_of(row)
        if waiting or any(not call.get("id") or not call_names(call)[0] for call in calls):
            return False
        waiting = ["\n".join(str(call[key]) for key in ("id", "call_id") if call.get(key)) for call in calls]
        first_ids = [str(call["id"]) for call in calls]
        if len(set(first_ids)) < len(first_ids) or seen & set(first_ids):
            return False
        seen.update(first_ids)
    return not waiting
