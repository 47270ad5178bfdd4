"""Changes `context.engine` in the text of a `config.yaml`, and not one character besides."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import yaml

from .errors import HostError


class ConfigEditError(HostError):
    """A config file cannot be changed safely; the message says what to do by hand."""


def write_engine(path: Path, name: str) -> bool:
    """Make a file name an engine; False if it does already. A missing file is made.

    Raises:
        ConfigEditError: the file cannot be read, written or changed safely; it is as it was.
    """
    try:
        # Not universal newlines: what the file has must come back as it is.
        old = path.read_bytes().decode("utf-8") if path.exists() else ""
        new = with_engine(old, name)
        if new != old:
            _replace(path.resolve(), new.encode("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigEditError(f"{path}: {error}") from error
    except ConfigEditError as error:
        raise ConfigEditError(f"{path}: {error}; set context.engine to {name} by hand") from error
    return new != old


def with_engine(text: str, name: str) -> str:
    """The text of a config that names an engine, the rest as it was to the last byte.

    Raises:
        ConfigEditError: no edit of this text changes the engine and nothing else.
    """
    before = _parsed(text)
    if _engine_of(before) == name:
        return text
    for candidate in _candidates(text, name):
        if _says(candidate, name, before):
            return candidate
    raise ConfigEditError("its form leaves no safe place to change")


def _candidates(text: str, name: str) -> Iterator[str]:
    """Edits that may be right, the likeliest first; whether they are is found out by parsing them."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    newline = "\r\n" if "\r\n" in text else "\n"
    if not isinstance(root, yaml.MappingNode) or not root.value:
        yield from _in_empty_file(text, root, name, newline)
        return
    context = _value_of(root, "context")
    if context is None:
        yield from _as_new_block(text, root, name, newline)
    elif isinstance(context, yaml.MappingNode):
        engine = _value_of(context, "engine")
        if engine is None:
            yield from _as_first_key(text, context, f"engine: {_plain(name)}", f'"engine": "{name}"', newline)
        elif isinstance(engine, yaml.ScalarNode):
            yield _with(text, engine, _in_style_of(text, engine, name))
    elif isinstance(context, yaml.ScalarNode):
        yield from _as_first_value(text, root, context, name, newline)


def _in_empty_file(text: str, root: yaml.Node | None, name: str, newline: str) -> Iterator[str]:
    """Nothing but comments, or `{}`."""
    block = f"context:{newline}  engine: {_plain(name)}"
    yield _ended(text, newline) + block + newline
    if root is not None:
        yield _with(text, root, block)
        yield _with(text, root, f"{{context: {{engine: {_plain(name)}}}}}")


def _as_new_block(text: str, root: yaml.MappingNode, name: str, newline: str) -> Iterator[str]:
    """At the end of the file, where people look for what was added; else before its first key."""
    first = root.value[0][0].start_mark
    indent = " " * first.column
    block = f"context:{newline}{indent}  engine: {_plain(name)}{newline}{indent}"
    if not root.flow_style:
        yield _ended(text, newline) + indent + block.rstrip(" ")
        yield text[: first.index] + block + text[first.index :]
        return
    yield from _as_first_key(
        text, root, f"context: {{engine: {_plain(name)}}}", f'"context": {{"engine": "{name}"}}', newline
    )


def _as_first_key(text: str, mapping: yaml.MappingNode, plain: str, quoted: str, newline: str) -> Iterator[str]:
    """Before the first key of a mapping, in its style and depth."""
    if not mapping.value:
        yield _with(text, mapping, f"{{{plain}}}")
        return
    key = mapping.value[0][0]
    new = quoted if key.style == '"' else plain
    ending = ", " if mapping.flow_style else newline + " " * key.start_mark.column
    yield text[: key.start_mark.index] + new + ending + text[key.start_mark.index :]


def _as_first_value(
    text: str, root: yaml.MappingNode, context: yaml.ScalarNode, name: str, newline: str
) -> Iterator[str]:
    """`context:` without a value: a line below it, or in its place."""
    start, end = context.start_mark.index, context.end_mark.index
    indent = " " * (root.value[0][0].start_mark.column + 2)
    line_end = next((i for i in range(end, len(text)) if text[i] in "\r\n"), len(text))
    if context.value and not root.flow_style:
        yield (
            text[:start].rstrip(" ")
            + text[end:line_end]
            + newline
            + indent
            + f"engine: {_plain(name)}"
            + text[line_end:]
        )
    if not context.value and not root.flow_style:
        yield text[:line_end] + newline + indent + f"engine: {_plain(name)}" + text[line_end:]
    yield _with(text, context, f"{{engine: {_plain(name)}}}")


def _in_style_of(text: str, scalar: yaml.ScalarNode, name: str) -> str:
    """The name quoted as the old one was."""
    old = text[scalar.start_mark.index : scalar.end_mark.index]
    if scalar.style in {'"', "'"}:
        return f"{scalar.style}{name}{scalar.style}"
    return _plain(name) + old[len(old.rstrip()) :]


def _plain(name: str) -> str:
    """The name, quoted where YAML would take it for a number or a truth value."""
    return name if yaml.safe_load(name) == name else f'"{name}"'


def _with(text: str, node: yaml.Node, new: str) -> str:
    start, end = node.start_mark.index, node.end_mark.index
    gap = " " if text[start - 1 : start] == ":" else ""
    return text[:start] + gap + new + text[end:]


def _ended(text: str, newline: str) -> str:
    return text if not text or text.endswith(("\n", "\r")) else text + newline


def _value_of(mapping: yaml.MappingNode, key: str) -> yaml.Node | None:
    """The last value of a key, which is the one that counts."""
    found = [value for name, value in mapping.value if name.value == key]
    return found[-1] if found else None


def _parsed(text: str) -> Mapping[str, Any]:
    try:
        content = yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigEditError(f"it is no valid YAML ({' '.join(str(error).split())})") from error
    if content is not None and not isinstance(content, dict):
        raise ConfigEditError("it holds no mapping")
    return content or {}


def _engine_of(content: Mapping[str, Any]) -> object:
    context = content.get("context")
    return context.get("engine") if isinstance(context, dict) else None


def _says(text: str, name: str, before: Mapping[str, Any]) -> bool:
    """Whether a text names the engine, and says all else as before."""
    try:
        after = _parsed(text)
    except ConfigEditError:
        return False
    return _engine_of(after) == name and _rest(after) == _rest(before)


def _rest(content: Mapping[str, Any]) -> str:
    """Everything but the engine. As text, since a float that is no number equals nothing, not even itself."""
    context = content.get("context")
    others = {key: content[key] for key in content if key != "context"}
    inner = {key: context[key] for key in context if key != "engine"} if isinstance(context, dict) else context
    return repr((others, inner or None))


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that a crash leaves the old one or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, prefix=path.name, delete=False) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    try:
        if path.exists():
            Path(file.name).chmod(path.stat().st_mode & 0o7777)
        Path(file.name).replace(path)
    except OSError:
        Path(file.name).unlink()
        raise
