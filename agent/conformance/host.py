"""What the suite takes from the host: the one place that reaches out of this package."""

# ruff: noqa: TID252 - relative, since the host also goes under other names than `agent`

from ..config import BUILT_IN_ENGINE, HostConfig
from ..context_engine import ContextEngine, Message, resolve_model_threshold
from ..hooks import inherits, is_message_list
from ..loop import Agent
from ..messages import (
    DURABLE_KEYS,
    assistant_row,
    calls_of,
    copy_rows,
    estimate_tokens,
    strip_durable_keys,
    text_of,
    tool_call,
    tool_row,
    user_row,
)
from ..plugin_context import PluginError
from ..plugins import built_in_engine, installed_plugins, load_plugin, within_seconds
from ..testing import Reply, ScriptedModel, call
from ..tools import Tool

__all__ = [
    "BUILT_IN_ENGINE",
    "DURABLE_KEYS",
    "Agent",
    "ContextEngine",
    "HostConfig",
    "Message",
    "PluginError",
    "Reply",
    "ScriptedModel",
    "Tool",
    "assistant_row",
    "built_in_engine",
    "call",
    "calls_of",
    "copy_rows",
    "estimate_tokens",
    "inherits",
    "installed_plugins",
    "is_message_list",
    "load_plugin",
    "resolve_model_threshold",
    "strip_durable_keys",
    "text_of",
    "tool_call",
    "tool_row",
    "user_row",
    "within_seconds",
]
