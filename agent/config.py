"""The host's settings, read from `config.yaml`."""

import logging
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

logger = logging.getLogger(__name__)

BUILT_IN_ENGINE = "compressor"
_PLUGIN_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class CompressionConfig:
    """The block `compression`."""

    enabled: bool = True
    threshold: float = 0.75
    """Share of the window from which the built-in engine compresses."""
    protect_first_n: int = 3
    protect_last_n: int = 6
    context_timeout_seconds: float = 120.0
    """How long the host waits for compress(); 0 runs it on the turn's own thread."""
    in_place: bool = True
    """False gives the session a new id at each compaction."""
    model_thresholds: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class HostConfig:
    """What the host takes from a config file."""

    engine: str = BUILT_IN_ENGINE
    """The setting `context.engine`."""
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    """The block `context.<engine>`; engines from plugins read it themselves."""
    compression: CompressionConfig = field(default_factory=CompressionConfig)
    plugin_timeout_seconds: float = _PLUGIN_TIMEOUT_SECONDS
    """The setting `plugins.load_timeout_seconds`: how long a plugin may take to load; 0 waits for ever."""
    enabled_plugins: tuple[str, ...] = ()
    """The setting `plugins.enabled`: entry points that may hold an engine of another name than their own."""


def load_config(path: Path) -> HostConfig:
    """The settings in a file; whatever is wrong in it is told in one warning and takes its default."""
    problems: list[str] = []
    config = _parse(_read(path, problems), problems)
    if problems:
        logger.warning("%s: %s; defaults are used for these", path, "; ".join(problems))
    return config


def _read(path: Path, problems: list[str]) -> Mapping[str, Any]:
    if not path.exists():
        return {}
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        problems.append(f"cannot be read ({' '.join(str(error).split())})")
        return {}
    return _mapping(content, "the file", problems)


def _parse(content: Mapping[str, Any], problems: list[str]) -> HostConfig:
    context = _mapping(content.get("context"), "context", problems)
    engine = context.get("engine") or BUILT_IN_ENGINE
    if not isinstance(engine, str):
        problems.append(f"context.engine is {engine!r}, expected a name")
        engine = BUILT_IN_ENGINE
    options = _mapping(context.get(engine), f"context.{engine}", problems)
    compression = _mapping(content.get("compression"), "compression", problems)
    plugins = _mapping(content.get("plugins"), "plugins", problems)
    seconds, enabled = _parse_plugin_timeout(plugins, problems), _parse_enabled(plugins, problems)
    return HostConfig(engine, options, _parse_compression(compression, problems), seconds, enabled)


def _parse_enabled(block: Mapping[str, Any], problems: list[str]) -> tuple[str, ...]:
    names = block.get("enabled")
    if isinstance(names, list) and all(isinstance(name, str) for name in names):
        return tuple(names)
    if names is not None:
        problems.append(f"plugins.enabled is {names!r}, expected a list of names")
    return ()


def _parse_plugin_timeout(block: Mapping[str, Any], problems: list[str]) -> float:
    value = block.get("load_timeout_seconds")
    if value is not None and _is_seconds(value):
        return float(value)
    if value is not None:
        problems.append(f"plugins.load_timeout_seconds is {value!r}, expected a number of seconds")
    return _PLUGIN_TIMEOUT_SECONDS


def _parse_compression(block: Mapping[str, Any], problems: list[str]) -> CompressionConfig:
    values = {}
    for item in fields(CompressionConfig):
        value = block.get(item.name)
        if value is None:
            continue
        if _fits(item.name, value):
            values[item.name] = value
        else:
            problems.append(f"compression.{item.name} is {value!r}, expected {_EXPECTED[item.name]}")
    return CompressionConfig(**values)


_EXPECTED = {
    "enabled": "true or false",
    "threshold": "a share of the window between 0 and 1",
    "protect_first_n": "a number of messages",
    "protect_last_n": "a number of messages",
    "context_timeout_seconds": "a number of seconds",
    "in_place": "true or false",
    "model_thresholds": "shares between 0 and 1 by model name",
}


def _fits(name: str, value: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    if name in {"enabled", "in_place"}:
        return isinstance(value, bool)
    if name == "model_thresholds":
        return isinstance(value, dict) and all(isinstance(k, str) and _is_share(v) for k, v in value.items())
    if name == "threshold":
        return _is_share(value)
    if name == "context_timeout_seconds":
        return _is_seconds(value)
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_seconds(value: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _is_share(value: Any) -> bool:  # noqa: ANN401 - whatever YAML holds
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value <= 1


def _mapping(value: Any, name: str, problems: list[str]) -> Mapping[str, Any]:  # noqa: ANN401 - whatever YAML holds
    if value is None:
        return {}
    if not isinstance(value, dict):
        problems.append(f"{name} is {value!r}, expected a mapping")
        return {}
    return value
