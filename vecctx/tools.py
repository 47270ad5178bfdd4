"""The tools that the model can call: search what was said, and read a message with its neighbours."""

import json
from collections.abc import Callable, Sequence
from typing import Any

from vecctx.ports import Parts
from vecctx.selection import find
from vecctx.turns.render import date_of
from vecctx.values import StoredMessage

MAX_RESULTS = 20
MAX_NEIGHBOURS = 10
_DEFAULT_RESULTS = 5
_DEFAULT_NEIGHBOURS = 2
_SHOWN_CHARACTERS = 600
"""Of each message in a list; `vecctx_expand` gives the whole."""


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
            "description": "Read an earlier message in full, with the messages around it.",
            "parameters": {
                "type": "object",
                "properties": {
                    "id": {"type": "integer", "description": "The message's id, from vecctx_search."},
                    "around": {"type": "integer", "description": f"Neighbours on each side, 0 to {MAX_NEIGHBOURS}."},
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
        {**shown(candidate.message), "score": round(candidate.score, 3), "reason": candidate.reason}
        for candidate in found[:limit]
    ]


def shown(message: StoredMessage, characters: int | None = _SHOWN_CHARACTERS) -> dict[str, Any]:
    """A message as it is shown."""
    said_at = message.said_at
    text = message.text if characters is None else message.text[:characters]
    return {
        "id": message.message_id,
        "role": message.role,
        "date": date_of(said_at) if said_at is not None else None,
        "text": text.encode("utf-8", "replace").decode(),
        "is_whole": len(text) == len(message.text),
    }


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
    is_possible = 0 < message_id < 2**63
    messages = parts.store.around(scope, message_id, around, around) if is_possible else ()
    if not messages:
        return error(f"there is no message {message_id} in this conversation")
    return json.dumps({"messages": [shown(message, None) for message in messages]}, ensure_ascii=False)


def _between(value: object, low: int, high: int, default: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        return default
    return min(max(value, low), high)


_TOOLS: dict[str, Callable[[dict[str, Any], Sequence[int], Parts], str]] = {
    "vecctx_search": _search,
    "vecctx_expand": _expand,
}
