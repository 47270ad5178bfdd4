"""The readable text of a message, whatever shape its content has."""

import json
import re
import reprlib
from collections.abc import Iterator, Mapping
from typing import Any

from vecctx.values import Row

_TEXT_KEYS = ("text", "input_text", "output_text", "refusal")
_HIDDEN_TYPES = ("thinking", "redacted_thinking", "reasoning")
"""Reasoning is signed for the turn it was thought in: it is neither searched nor recalled."""
_LETTERS = "A-Za-z0-9+/_\\-"
_BASE64_RUN = re.compile(
    # A data URL, also one that is wrapped over lines.
    rf"data:[\w.+/-]{{0,100}}(?:;[\w.=-]{{1,60}}){{0,4}};base64,[{_LETTERS}]*(?:\s*\n\s*[{_LETTERS}]{{40,}})*={{0,2}}"
    # A bare run; words, paths and names of that length do not happen.
    rf"|[A-Za-z0-9+/]{{256,}}={{0,2}}|[{_LETTERS}]{{512,}}={{0,2}}"
    # Lines of equal length, as mail and `base64` wrap them, also where the line break is escaped.
    r"|(?:[A-Za-z0-9+/]{60,76}(?:\r?\n|\\r\\n|\\n)[ \t]*){3,}[A-Za-z0-9+/]*={0,2}",
)
_BASE64_VALUE = re.compile(rf"[{_LETTERS}]{{48,}}(?:\n[{_LETTERS}]*)*={{0,2}}\s*")
_SHORTEST_RUN = 24
"""No data URL with anything in it is shorter."""
_MEDIA_KEYS = frozenset({"data", "b64_json", "file_data", "bytes"})
_DATA_MARK = "[data]"
_DEEPEST = 50
"""Levels of nesting that are looked into: nobody writes more, and Python follows no more than some hundred."""


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
    return _BASE64_RUN.sub(_DATA_MARK, text) if len(text) > _SHORTEST_RUN else text


def without_media(value: object, depth: int = 0) -> object:
    """A copy of a JSON-like value in which media are replaced by a mark; what is nested too deep becomes text."""
    if isinstance(value, str):
        return without_base64(value)
    if depth >= _DEEPEST and isinstance(value, Mapping | list | tuple):
        return _flat(value)
    if isinstance(value, Mapping):
        return {str(key): _without_data(str(key), item, depth + 1) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [without_media(item, depth + 1) for item in value]
    return value


def _without_data(key: str, value: object, depth: int) -> object:
    is_media = key in _MEDIA_KEYS and isinstance(value, str) and _BASE64_VALUE.fullmatch(value)
    return _DATA_MARK if is_media else without_media(value, depth)


def _flat(value: object) -> str:
    """A nested value as JSON, or shortened where even that goes too deep."""
    try:
        return without_base64(json.dumps(value, ensure_ascii=False, default=str))
    except (RecursionError, ValueError):
        return reprlib.repr(value)


def _pieces(content: object, depth: int = 0) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif depth >= _DEEPEST and isinstance(content, Mapping | list | tuple):
        yield _flat(content)
    elif isinstance(content, Mapping):
        yield from _part_pieces(content, depth)
    elif isinstance(content, list | tuple):
        for part in content:
            yield from _pieces(part, depth + 1)
    elif content is not None:
        yield str(content)


def _part_pieces(part: Mapping[str, Any], depth: int) -> Iterator[str]:
    kind = str(part.get("type") or "")
    if kind in _HIDDEN_TYPES:
        return
    if kind == "tool_use":
        yield f"[call {part.get('name') or ''} {_json(part.get('input'))}]"
        return
    texts = [text for key in _TEXT_KEYS if (text := _text_value(part.get(key))) is not None]
    yield from texts
    for key in ("content", "output"):
        if isinstance(part.get(key), str | list | tuple | Mapping):
            yield from _pieces(part[key], depth + 1)
            texts.append("")
    if not texts:
        yield f"[{kind.removeprefix('input_').removesuffix('_url') or 'part'}]"


def _text_value(value: object) -> str | None:
    """The text under a part's key: a string, or a mapping that holds it as its value."""
    inner = value.get("value") if isinstance(value, Mapping) else value
    return inner if isinstance(inner, str) else None


def _call_text(call: Mapping[str, Any]) -> str:
    name, arguments = call_names(call)
    return f"[call {name} {arguments}]"


def _json(value: object) -> str:
    return "" if value is None else json.dumps(without_media(value), ensure_ascii=False, sort_keys=True, default=str)
