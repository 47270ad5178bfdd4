"""Message rows: builders, rough sizes, and the sanitizers that make any selection a valid request; all pure."""

import hashlib
import uuid
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from typing import Any

from .context_engine import Message

DURABLE_KEYS = frozenset(
    {"message_uid", "timestamp", "finish_reason", "display_kind", "display_metadata", "api_content"}
)
"""Keys that only stored rows have; no provider knows them. Keys that begin with "_" never leave the host either."""

UNANSWERED = "[Result unavailable]"
NO_OUTPUT = "[no output]"

_ROLES = frozenset({"system", "user", "assistant", "tool"})
_CHARACTERS_PER_TOKEN = 4
_ROW_TOKENS = 4
_MEDIA_TOKENS = 1000  # whatever the picture: its base64 is no text
_CJK_START = "\u2e80"  # from here on a character is about a token


def user_row(content: Any) -> Message:  # noqa: ANN401 - text or a list of parts
    """A user's message."""
    return {"role": "user", "content": content}


def assistant_row(content: str | None, tool_calls: Sequence[Message] = ()) -> Message:
    """A model's message, with its tool calls if there are any."""
    row: Message = {"role": "assistant", "content": content}
    return {**row, "tool_calls": list(tool_calls)} if tool_calls else row


def tool_call(call_id: str, name: str, arguments: str = "{}") -> Message:
    """One call inside an assistant row; the arguments are JSON text."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def tool_row(call_id: str, content: str, name: str = "") -> Message:
    """The result of a tool call."""
    row: Message = {"role": "tool", "tool_call_id": call_id, "content": content}
    return {**row, "name": name} if name else row


def uid_source(seed: int | None = None) -> Callable[[], str]:
    """A maker of row uids, 32 hex digits each: random, or the same series for the same seed."""
    if seed is None:
        return lambda: uuid.uuid4().hex
    numbers = count()
    return lambda: hashlib.sha256(f"{seed}:{next(numbers)}".encode()).hexdigest()[:32]


def copy_rows(rows: Iterable[Message]) -> list[Message]:
    """Rows that share nothing with the given ones that could be edited."""
    return [_copy(row) for row in rows]


def text_of(row: Message) -> str:
    """The text of a row: its string content, or its text parts, one a line."""
    content = row.get("content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    texts = [part.get("text") for part in parts if isinstance(part, dict)]
    return "\n".join(text for text in texts if isinstance(text, str))


def calls_of(row: Message) -> list[Message]:
    """The tool calls of an assistant row that carry an id."""
    calls = row.get("tool_calls") if row.get("role") == "assistant" else None
    calls = calls if isinstance(calls, list) else []
    return [call for call in calls if isinstance(call, dict) and isinstance(call.get("id"), str) and call["id"]]


def estimate_tokens(rows: Iterable[Message]) -> int:
    """A rough size: a quarter of the characters, one for each CJK character, a flat rate for a picture."""
    return sum(_ROW_TOKENS + _estimate(row.get("content")) + _estimate(row.get("tool_calls")) for row in rows)


def units(rows: Sequence[Message]) -> list[list[Message]]:
    """The rows in pieces that must stay together: a tool call batch with its results, or a single row."""
    pieces: list[list[Message]] = []
    for row in rows:
        if row.get("role") == "tool" and pieces and calls_of(pieces[-1][0]):
            pieces[-1].append(row)
        else:
            pieces.append([row])
    return pieces


def sanitize(rows: Sequence[Message]) -> list[Message]:
    """A valid request made from any rows; a valid one comes back equal."""
    known = [_with_text(row) for row in strip_durable_keys(rows) if str(row.get("role")) in _ROLES]
    return fill_empty(merge_user_rows(pair_tool_rows(_demote_later_system_rows(known))))


def strip_durable_keys(rows: Iterable[Message]) -> list[Message]:
    """The rows without the keys that only the host's own storage knows."""
    return [{key: row[key] for key in row if key not in DURABLE_KEYS and not key.startswith("_")} for row in rows]


def pair_tool_rows(rows: Sequence[Message]) -> list[Message]:
    """Each call directly followed by one result: orphans are dropped, unanswered calls get a stub.

    An id that an earlier batch used is given a number, since strict providers refuse it twice in one request.
    """
    paired: list[Message] = []
    taken: set[str] = set()
    for unit in units(rows):
        if unit[0].get("role") == "assistant":
            paired += _paired_batch(unit, taken)
        elif unit[0].get("role") != "tool":
            paired.append(unit[0])
    return paired


def merge_user_rows(rows: Iterable[Message]) -> list[Message]:
    """Adjacent user rows as one, a blank line between them: some providers want roles to alternate."""
    merged: list[Message] = []
    for row in rows:
        if merged and row.get("role") == "user" == merged[-1].get("role"):
            content = _join(merged[-1].get("content"), row.get("content"))
            merged[-1] = {**merged[-1], "content": content}
        else:
            merged.append(row)
    return merged


def fill_empty(rows: Sequence[Message]) -> list[Message]:
    """Rows with a placeholder where there is nothing, but for the last, which a model may be asked to continue."""
    filled = [_filled(row) for row in rows[:-1]]
    last = [row if row.get("role") == "assistant" else _filled(row) for row in rows[-1:]]
    return filled + last


def _with_text(row: Message) -> Message:
    """A row with its content as text where it is neither that nor a list of parts: no provider takes it."""
    content = row.get("content")
    return row if content is None or isinstance(content, str | list) else {**row, "content": str(content)}


def _paired_batch(unit: Sequence[Message], taken: set[str]) -> list[Message]:
    """A batch as it must be sent; `taken` learns its ids."""
    assistant = unit[0]
    if "tool_calls" not in assistant:
        return [assistant]
    calls: dict[str, Message] = {}
    for call in calls_of(assistant):
        if isinstance(call.get("function"), dict):
            calls.setdefault(call["id"], call)
    new_calls, new_results = [], []
    for old_id, call in calls.items():
        new_id = _free_id(old_id, taken)
        taken.add(new_id)
        new_calls.append({**call, "id": new_id})
        place = next((i for i, row in enumerate(unit) if row.get("tool_call_id") == old_id), len(unit))
        result = unit[place] if place < len(unit) else tool_row(old_id, UNANSWERED)
        new_results.append((place, {**result, "tool_call_id": new_id}))
    if not new_calls:
        return [{key: assistant[key] for key in assistant if key != "tool_calls"}]
    # Results keep the order in which they came; stubs follow.
    ordered = [row for _, row in sorted(new_results, key=lambda result: result[0])]
    return [{**assistant, "tool_calls": new_calls}, *ordered]


def _free_id(call_id: str, taken: set[str]) -> str:
    candidates = (call_id if n == 1 else f"{call_id}_{n}" for n in count(1))
    return next(candidate for candidate in candidates if candidate not in taken)


def _demote_later_system_rows(rows: Sequence[Message]) -> list[Message]:
    """System text in the middle becomes a user row: chat templates refuse it there, and its words may matter."""
    return [{**row, "role": "user"} if i and row.get("role") == "system" else row for i, row in enumerate(rows)]


def _join(first: Any, second: Any) -> Any:  # noqa: ANN401 - text or lists of parts
    if _is_blank(first) or _is_blank(second):
        return second if _is_blank(first) else first
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}\n\n{second}"
    return _parts(first) + _parts(second)


def _parts(content: Any) -> list[Any]:  # noqa: ANN401 - text or a list of parts
    return content if isinstance(content, list) else [{"type": "text", "text": str(content)}]


def _filled(row: Message) -> Message:
    needs_content = row.get("role") != "assistant" or not calls_of(row)
    return {**row, "content": NO_OUTPUT} if needs_content and _is_blank(row.get("content")) else row


def _is_blank(content: Any) -> bool:  # noqa: ANN401 - whatever stands there
    if isinstance(content, list):
        return all(isinstance(part, dict) and _is_blank(part.get("text", part.get("type"))) for part in content)
    return not content or (isinstance(content, str) and not content.strip())


def _estimate(value: Any) -> int:  # noqa: ANN401 - any JSON
    if isinstance(value, str):
        wide = 0 if value.isascii() else sum(character >= _CJK_START for character in value)
        return wide + -(-(len(value) - wide) // _CHARACTERS_PER_TOKEN)
    if isinstance(value, list):
        return sum(_estimate(part) for part in value)
    if isinstance(value, dict):
        is_media = str(value.get("type", "")) in {"image_url", "image", "input_image", "input_audio", "file"}
        return _MEDIA_TOKENS if is_media else sum(_estimate(part) for part in value.values())
    return 0


def _copy(value: Any) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(value, dict):
        return {key: _copy(part) for key, part in value.items()}
    return [_copy(part) for part in value] if isinstance(value, list) else value
