"""Changes `context.engine` in the text of a `config.yaml`, and `plugins.enabled` where it must, but nothing besides."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import yaml

from .yaml_text import ConfigEditError, as_first_key, ended, parsed, plain, value_of, with_node


def write_engine(path: Path, name: str, *, plugin: str = "") -> bool:
    """Make a file name an engine, and list `plugin` as enabled; False if it does already. A missing file is made.

    Raises:
        ConfigEditError: the file cannot be read, written or changed safely; it is as it was.
    """
    try:
        # Not universal newlines: what the file has must come back as it is.
        old = path.read_bytes().decode("utf-8") if path.exists() else ""
        new = with_engine(old, name)
        new = with_enabled(new, plugin) if plugin else new
        if new != old:
            _replace(path.resolve(), new.encode("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigEditError(f"{path}: {error}") from error
    except ConfigEditError as error:
        enable = f" and list {plugin} in plugins.enabled" if plugin else ""
        raise ConfigEditError(f"{path}: {error}; set context.engine to {name}{enable} by hand") from error
    return new != old


def with_engine(text: str, name: str) -> str:
    """The text of a config that names an engine, the rest as it was to the last byte.

    Raises:
        ConfigEditError: no edit of this text changes the engine and nothing else.
    """
    before = parsed(text)
    if _engine_of(before) == name:
        return text
    for candidate in _candidates(text, name):
        if _says(candidate, name, before):
            return candidate
    raise ConfigEditError("its form leaves no safe place to change")


def with_enabled(text: str, plugin: str) -> str:
    """The text of a config that lists a plugin in `plugins.enabled`, the rest as it was to the last byte.

    Raises:
        ConfigEditError: no edit of this text adds the plugin and nothing else.
    """
    old, rest = _enabled_of(parsed(text))
    if plugin in old:
        return text
    for candidate in _enabling_candidates(text, plugin):
        if _enabled_of(_parsed_or_nothing(candidate)) == ([plugin, *old], rest):
            return candidate
    raise ConfigEditError(f"its form leaves no safe place to add {plugin} to plugins.enabled")


def _candidates(text: str, name: str) -> Iterator[str]:
    """Edits that may be right, the likeliest first; whether they are is found out by parsing them."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    newline = "\r\n" if "\r\n" in text else "\n"
    if not isinstance(root, yaml.MappingNode) or not root.value:
        yield from _in_empty_file(text, root, name, newline)
        return
    context = value_of(root, "context")
    if context is None:
        yield from _as_new_block(text, root, name, newline)
    elif isinstance(context, yaml.MappingNode):
        engine = value_of(context, "engine")
        if engine is None:
            yield from as_first_key(text, context, f"engine: {plain(name)}", f'"engine": "{name}"', newline)
        elif isinstance(engine, yaml.ScalarNode):
            yield with_node(text, engine, _in_style_of(text, engine, name))
    elif isinstance(context, yaml.ScalarNode):
        yield from _as_first_value(text, root, context, name, newline)


def _in_empty_file(text: str, root: yaml.Node | None, name: str, newline: str) -> Iterator[str]:
    """Nothing but comments, or `{}`."""
    block = f"context:{newline}  engine: {plain(name)}"
    yield ended(text, newline) + block + newline
    if root is not None:
        yield with_node(text, root, block)
        yield with_node(text, root, f"{{context: {{engine: {plain(name)}}}}}")


def _as_new_block(text: str, root: yaml.MappingNode, name: str, newline: str) -> Iterator[str]:
    """At the end of the file, where people look for what was added; else before its first key."""
    first = root.value[0][0].start_mark
    indent = " " * first.column
    block = f"context:{newline}{indent}  engine: {plain(name)}{newline}{indent}"
    if not root.flow_style:
        yield ended(text, newline) + indent + block.rstrip(" ")
        yield text[: first.index] + block + text[first.index :]
        return
    yield from as_first_key(
        text, root, f"context: {{engine: {plain(name)}}}", f'"context": {{"engine": "{name}"}}', newline
    )


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
            + f"engine: {plain(name)}"
            + text[line_end:]
        )
    if not context.value and not root.flow_style:
        yield text[:line_end] + newline + indent + f"engine: {plain(name)}" + text[line_end:]
    yield with_node(text, context, f"{{engine: {plain(name)}}}")


def _enabling_candidates(text: str, plugin: str) -> Iterator[str]:
    """Edits of a file with something in it that may add a plugin."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    assert isinstance(root, yaml.MappingNode), "it names an engine"
    newline = "\r\n" if "\r\n" in text else "\n"
    item, quoted = plain(plugin), f'"enabled": ["{plugin}"]'
    block = value_of(root, "plugins")
    if block is None and root.flow_style:
        yield from as_first_key(text, root, f"plugins: {{enabled: [{item}]}}", f'"plugins": {{{quoted}}}', newline)
    elif block is None:
        indent = " " * root.value[0][0].start_mark.column
        yield ended(text, newline) + f"{indent}plugins:{newline}{indent}  enabled: [{item}]{newline}"
    elif isinstance(block, yaml.MappingNode):
        enabled = value_of(block, "enabled")
        if enabled is None:
            yield from as_first_key(text, block, f"enabled: [{item}]", quoted, newline)
        else:
            yield _with_item(text, enabled, plugin, newline)
    else:
        yield with_node(text, block, f"{{enabled: [{item}]}}")


def _with_item(text: str, sequence: yaml.Node, plugin: str, newline: str) -> str:
    """A list with one more in front, in its style; in place of nothing a new list."""
    if not isinstance(sequence, yaml.SequenceNode) or not sequence.value:
        return with_node(text, sequence, f"[{plain(plugin)}]")
    first = sequence.value[0]
    item = f'"{plugin}"' if isinstance(first, yaml.ScalarNode) and first.style == '"' else plain(plugin)
    if sequence.flow_style:
        return f"{text[: first.start_mark.index]}{item}, {text[first.start_mark.index :]}"
    start = sequence.start_mark
    return f"{text[: start.index]}- {item}{newline}{' ' * start.column}{text[start.index :]}"


def _in_style_of(text: str, scalar: yaml.ScalarNode, name: str) -> str:
    """The name quoted as the old one was."""
    old = text[scalar.start_mark.index : scalar.end_mark.index]
    if scalar.style in {'"', "'"}:
        return f"{scalar.style}{name}{scalar.style}"
    return plain(name) + old[len(old.rstrip()) :]


def _engine_of(content: Mapping[str, Any]) -> object:
    context = content.get("context")
    return context.get("engine") if isinstance(context, dict) else None


def _enabled_of(content: Mapping[str, Any]) -> tuple[list[Any], str]:
    """The enabled plugins, and everything else as text."""
    plugins = content.get("plugins")
    block = plugins if isinstance(plugins, dict) else {}
    enabled = block.get("enabled") or []
    others = {key: block[key] for key in block if key != "enabled" or not isinstance(enabled, list)}
    rest = {key: content[key] for key in content if key != "plugins"}
    kept = others if block or not plugins else plugins
    return (enabled if isinstance(enabled, list) else []), repr((rest, kept))


def _says(text: str, name: str, before: Mapping[str, Any]) -> bool:
    """Whether a text names the engine, and says all else as before."""
    after = _parsed_or_nothing(text)
    return _engine_of(after) == name and _rest(after) == _rest(before)


def _parsed_or_nothing(text: str) -> Mapping[str, Any]:
    try:
        return parsed(text)
    except ConfigEditError:
        return {}


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
