"""The tools that the model can call: search what was said, and read a message with its neighbours."""

import json
import sys
from collections.abc import Callable, Sequence
from typing import Any

from vecctx.ports import Parts
from vecctx.selection import find
from vecctx.turns.render import date_of
from vecctx.values import Candidate, StoredMessage

MAX_RESULTS = 20
MAX_NEIGHBOURS = 10
_DEFAULT_RESULTS = 5
_DEFAULT_NEIGHBOURS = 2
MAX_CHARACTERS = 20_000
"""Of the message that is read, at a time: a result is part of its turn, which is never cut."""
_SHOWN_CHARACTERS = 600
"""Of each other message; `vecctx_expand` gives the whole."""


def schemas() -> list[dict[str, Any]]:
    """Name, description and parameters of each tool."""
    return [
        {
            "name": "vecctx_search",
            "description": "Search all that was said earlier in this conversation, also what left the context.",
            "parameters": {
                "type": "object",
                "properties": {
                    "query": {"type": "string", "description": "What to look for."},
                    "limit": {"type": "integer", "description": f"How many messages, 1 to {MAX_RESULTS}; default 5."},
                },
                "required": ["query"],
            },
        },
        {
            "name": "vecctx_expand",
            "description": "Read an earlier message in full, with the beginnings of the messages around it.",
            "parameters": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer", "description": "The message's id, from vecctx_search."},
                    "around": {"type": "integer", "description": f"Neighbours on each side, 0 to {MAX_NEIGHBOURS}."},
                    "start": {"type": "integer", "description": "Character to read a long message from; default 0."},
                },
                "required": ["id"],
            },
        },
    ]


def call(name: str, arguments: object, scope: Sequence[int], parts: Parts) -> str:
    """The result of a tool as JSON. Wrong arguments and ids of other conversations are answered, never raised."""
    function = _TOOLS.get(name)
    if function is None:
        return error(f"unknown tool {name!r}; there are: {', '.join(_TOOLS)}")
    if not isinstance(arguments, dict):
        return error("the arguments are no object")
    return function(arguments, scope, parts)


def error(problem: str) -> str:
    """An error as a tool's answer."""
    return json.dumps({"error": problem})


def search(query: str, limit: int, scope: Sequence[int], parts: Parts) -> list[dict[str, Any]]:
    """The best messages for a query, best first, as they are shown to models and people."""
    found, _ = find(query, scope, parts)
    return [
        {
            **shown(candidate.message, *_excerpt(candidate)),
            "score": round(candidate.score, 3),
            "reason": candidate.reason,
        }
        for candidate in found[:limit]
    ]


def shown(message: StoredMessage, start: int = 0, length: int = _SHOWN_CHARACTERS) -> dict[str, Any]:
    """A message as it is shown: so many characters from `start`."""
    said_at = message.said_at
    text = message.text[start : start + length]
    return {
        "id": message.message_id,
        "role": message.role,
        "date": date_of(said_at) if said_at is not None else None,
        "text": text.encode("utf-8", "replace").decode(),
        "is_whole": len(text) == len(message.text),
        "characters": len(message.text),
    }


def _excerpt(candidate: Candidate) -> tuple[int, int]:
    """Start and length of what is shown of a message: its beginning, or the part that was found further behind."""
    start, end = candidate.best
    return (start, end - start) if end > _SHOWN_CHARACTERS else (0, _SHOWN_CHARACTERS)


def _search(arguments: dict[str, Any], scope: Sequence[int], parts: Parts) -> str:
    query = arguments.get("query")
    if not isinstance(query, str) or not query.strip():
        return error("query must be a text")
    limit = _between(arguments.get("limit"), 1, MAX_RESULTS, _DEFAULT_RESULTS)
    return json.dumps({"results": search(query, limit, scope, parts)}, ensure_ascii=False)


def _expand(arguments: dict[str, Any], scope: Sequence[int], parts: Parts) -> str:
    try:
        message_id = int(arguments.get("id") or 0)
    except (TypeError, ValueError, OverflowError):
        return error("id must be a whole number")
    around = _between(arguments.get("around"), 0, MAX_NEIGHBOURS, _DEFAULT_NEIGHBOURS)
    messages = parts.store.around(scope, message_id, around, around)
    if not messages:
        return error(f"there is no message {message_id} in this conversation")
    start = _between(arguments.get("start"), 0, sys.maxsize, 0)
    whole = {message_id: (start, MAX_CHARACTERS)}
    shown_messages = [shown(message, *whole.get(message.message_id, ())) for message in messages]
    return json.dumps({"messages": shown_messages}, ensure_ascii=False)


def _between(value: object, low: int, high: int, default: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        return default
    return min(max(value, low), high)


_TOOLS: dict[str, Callable[[dict[str, Any], Sequence[int], Parts], str]] = {
    "vecctx_search": _search,
    "vecctx_expand": _expand,
}
