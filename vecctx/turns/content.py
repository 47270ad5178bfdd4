"""The readable text of a message, whatever shape its content has."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from vecctx.values import Row

_TEXT_KEYS = ("text", "input_text", "output_text", "refusal")
_HIDDEN_TYPES = ("thinking", "redacted_thinking", "reasoning")
"""Reasoning is signed for the turn it was thought in: it is neither searched nor recalled."""
_BASE64_RUN = re.compile(r"(?:data:[\w.+/-]+;base64,)[A-Za-z0-9+/=\s]{64,}|[A-Za-z0-9+/]{512,}={0,2}")


def text_of_row(row: Row) -> str:
    """What a message says: its text, a mark for each picture or file, and its tool calls."""
    pieces = [text_of_content(row.get("content")), *map(_call_text, calls_of(row))]
    return without_base64("\n".join(piece for piece in pieces if piece))


def text_of_content(content: object) -> str:
    """All readable text of a content: a string, a list of parts, one part, or nothing."""
    return "\n".join(piece for piece in _pieces(content) if piece)


def calls_of(row: Row) -> tuple[Mapping[str, Any], ...]:
    """The tool calls of an assistant message that have the shape of calls."""
    calls = row.get("tool_calls")
    return tuple(call for call in calls if isinstance(call, Mapping)) if isinstance(calls, list | tuple) else ()


def call_names(call: Mapping[str, Any]) -> tuple[str, str]:
    """Name and arguments of a call, as text."""
    function = call.get("function")
    function = function if isinstance(function, Mapping) else {}
    arguments = function.get("arguments")
    return str(function.get("name") or ""), arguments if isinstance(arguments, str) else _json(arguments)


def is_empty(row: Row) -> bool:
    """Whether a message holds neither text nor media nor calls."""
    return not text_of_content(row.get("content")).strip() and not calls_of(row)


def without_base64(text: str) -> str:
    """The text with long base64 runs replaced by a mark: they are no words, and cost like a book."""
    return _BASE64_RUN.sub("[data]", text) if len(text) > 64 else text  # noqa: PLR2004 - shorter than any run


def _pieces(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, Mapping):
        yield from _part_pieces(content)
    elif isinstance(content, list | tuple):
        for part in content:
            yield from _pieces(part)
    elif content is not None:
        yield str(content)


def _part_pieces(part: Mapping[str, Any]) -> Iterator[str]:
    kind = str(part.get("type") or "")
    if kind in _HIDDEN_TYPES:
        return
    texts = [part[key] for key in _TEXT_KEYS if isinstance(part.get(key), str)]
    yield from texts
    for key in ("content", "output"):
        if isinstance(part.get(key), str | list | tuple | Mapping):
            yield from _pieces(part[key])
            texts.append("")
    if not texts:
        yield f"[{kind.removeprefix('input_').removesuffix('_url') or 'part'}]"


def _call_text(call: Mapping[str, Any]) -> str:
    name, arguments = call_names(call)
    return f"[call {name} {arguments}]"


def _json(value: object) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
