"""Edits the text of a YAML file in place: what is not touched stays as it was, to the last byte."""

from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from .errors import HostError


class ConfigEditError(HostError):
    """A config file cannot be changed safely; the message says what to do by hand."""


def parsed(text: str) -> Mapping[str, Any]:
    """What a text says; nothing where it holds nothing.

    Raises:
        ConfigEditError: it is no YAML, or no mapping.
    """
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigEditError(f"it is no valid YAML ({' '.join(str(error).split())})") from error
    if content is not None and not isinstance(content, dict):
        raise ConfigEditError("it holds no mapping")
    return content or {}


def value_of(mapping: yaml.MappingNode, key: str) -> yaml.Node | None:
    """The last value of a key, which is the one that counts."""
    found = [value for name, value in mapping.value if name.value == key]
    return found[-1] if found else None


def as_first_key(text: str, mapping: yaml.MappingNode, unquoted: str, quoted: str, newline: str) -> Iterator[str]:
    """Before the first key of a mapping, in its style and depth."""
    if not mapping.value:
        yield with_node(text, mapping, f"{{{unquoted}}}")
        return
    key = mapping.value[0][0]
    new = quoted if key.style == '"' else unquoted
    ending = ", " if mapping.flow_style else newline + " " * key.start_mark.column
    yield text[: key.start_mark.index] + new + ending + text[key.start_mark.index :]


def with_node(text: str, node: yaml.Node, new: str) -> str:
    """The text with something in place of a value."""
    start, end = node.start_mark.index, node.end_mark.index
    gap = " " if text[start - 1 : start] == ":" else ""
    return text[:start] + gap + new + text[end:]


def plain(name: str) -> str:
    """The name, quoted where YAML would take it for a number or a truth value."""
    return name if yaml.safe_load(name) == name else f'"{name}"'


def ended(text: str, newline: str) -> str:
    """The text with a line end, if there is a line."""
    return text if not text or text.endswith(("\n", "\r")) else text + newline
