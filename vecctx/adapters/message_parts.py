"""What a message's content costs: its text, its pictures, and whatever else is in it."""

import json
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field

_TEXT_KEYS = ("text", "thinking", "input_text", "refusal")
_COUNTED_KEYS = frozenset({*_TEXT_KEYS, "content", "type"})
# Tuples and not sets: a host may put anything under "type", and a list cannot be looked up in a set.
_FREE_TYPES = ("text", "input_text", "output_text", "thinking", "refusal", "tool_result", "redacted_thinking")
_CALL_TYPES = ("tool_use",)
_MEDIA_TYPES = (
    *("image", "image_url", "input_image", "audio", "audio_url", "input_audio"),
    *("video", "video_url", "file", "input_file", "document"),
)
# Gemini's parts name no type, and some hosts drop it: the key that holds the media gives it away.
_MEDIA_KEYS = frozenset(
    {"image_url", "inlineData", "inline_data", "fileData", "file_data", "input_audio", "mimeType", "mime_type"}
)
# A data URL, or base64 with or without line breaks.
_ENCODED = re.compile(r"data:[\w.+-]+/|([A-Za-z0-9+/=_-]{60,}\s?){4}")
# Deeper than any host nests; past it a content is text, so that no input can exhaust the stack.
_DEEPEST = 12


@dataclass(slots=True)
class Parts:
    """The countable pieces of one content."""

    texts: list[str] = field(default_factory=list)
    """Joined by a newline they are the readable text."""
    media: int = 0
    """Pictures, sounds and files, whatever their shape."""
    extra: list[str] = field(default_factory=list)
    """Text that counts without being readable: the tool calls among the parts, values of parts without a type."""
    unknown: list[str] = field(default_factory=list)
    """For each part of an unknown type the JSON of its values, encoded media left out."""


def read_parts(content: object) -> Parts:
    """The pieces of a content of any shape; encoded media are never text."""
    parts = Parts()
    _read(content, parts, 0)
    return parts


def as_json(value: object) -> str:
    """A value as JSON; what JSON cannot hold as a short description."""
    try:
        return json.dumps(value, default=repr)
    except (TypeError, ValueError, RecursionError):
        return reprlib.repr(value)


def _read(content: object, parts: Parts, depth: int) -> None:
    if isinstance(content, str):
        parts.texts.append(content)
    elif depth >= _DEEPEST and isinstance(content, Mapping | list):
        parts.texts.append(as_json(content))
    elif isinstance(content, Mapping):
        _read_part(content, parts, depth)
    elif isinstance(content, list):
        for part in content:
            _read(part, parts, depth + 1)
    elif content is not None:
        parts.texts.append(str(content))


def _read_part(part: Mapping[str, object], parts: Parts, depth: int) -> None:
    for key in _TEXT_KEYS:
        value = part.get(key)
        if isinstance(value, str):
            parts.texts.append(value)
    kind = part.get("type")
    _read_nested(part.get("content"), parts, depth + 1)
    if _is_media(part):
        parts.media += 1
    elif kind in _CALL_TYPES:
        parts.extra.append(f"{part.get('name')} {as_json(part.get('input'))}")
    elif kind not in _FREE_TYPES:
        _read_unknown(part, parts, depth)


def _read_nested(content: object, parts: Parts, depth: int) -> None:
    before = len(parts.texts)
    _read(content, parts, depth)
    if isinstance(content, list) and len(parts.texts) == before:
        parts.texts.append("")  # the newline that joins it is sent all the same


def _read_unknown(part: Mapping[str, object], parts: Parts, depth: int) -> None:
    rest = {key: _without_media(value, parts, depth + 1) for key, value in part.items() if key not in _COUNTED_KEYS}
    if part.get("type") is not None:
        parts.unknown.append(as_json(rest))
    elif rest:
        parts.extra.append(as_json(rest))


def _without_media(value: object, parts: Parts, depth: int) -> object:
    """The value as a model could read it; the media in it are counted and left out."""
    if depth >= _DEEPEST:
        return reprlib.repr(value)
    if isinstance(value, Mapping):
        if _is_media(value):
            parts.media += 1
            return None
        return {key: _without_media(inner, parts, depth + 1) for key, inner in value.items()}
    if isinstance(value, list):
        return [_without_media(inner, parts, depth + 1) for inner in value]
    is_encoded = isinstance(value, bytes | bytearray) or (isinstance(value, str) and _ENCODED.match(value) is not None)
    return None if is_encoded else value


def _is_media(part: Mapping[str, object]) -> bool:
    return part.get("type") in _MEDIA_TYPES or not _MEDIA_KEYS.isdisjoint(part)
