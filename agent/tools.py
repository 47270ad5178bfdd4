"""The tools that a model can call: the host's own and the engine's."""

import json
import logging
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from .context_engine import ContextEngine, Message
from .messages import copy_rows

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool of the host: `run` gets the arguments as keywords; what it returns becomes JSON unless it is text."""

    name: str
    description: str
    run: Callable[..., Any]
    parameters: dict[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})

    def schema(self) -> dict[str, Any]:
        """Name, description and parameters."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


class ToolRegistry:
    """Routes tool calls. A name that the host has is never the engine's."""

    def __init__(self, host_tools: Iterable[Tool], engine: ContextEngine) -> None:
        self._host_tools = {tool.name: tool for tool in host_tools}
        self._engine = engine
        self._engine_schemas: dict[str, dict[str, Any]] = {}
        self._told: set[str] = set()
        self.refresh()

    def refresh(self) -> None:
        """Ask the engine for its tools again; a name that is taken is told once."""
        schemas = [_flat(schema) for schema in self._ask_engine()]
        self._engine_schemas = {schema["name"]: schema for schema in schemas if self._is_free(schema["name"])}

    def schemas(self) -> list[dict[str, Any]]:
        """All tools as a provider wants them."""
        flat = [tool.schema() for tool in self._host_tools.values()] + list(self._engine_schemas.values())
        return [{"type": "function", "function": schema} for schema in flat]

    def call(self, call: Message, messages: list[Message]) -> str:
        """The result of a model's call; whatever goes wrong is a JSON error that the model can read."""
        function = call.get("function") or {}
        name = str(function.get("name"))
        try:
            arguments = json.loads(function.get("arguments") or "{}")
        except (ValueError, TypeError) as error:
            return _error(f"arguments of {name!r} are no JSON: {error}")
        if not isinstance(arguments, dict):
            return _error(f"arguments of {name!r} must be a JSON object")
        return self._run(name, arguments, messages)

    def _run(self, name: str, arguments: dict[str, Any], messages: list[Message]) -> str:
        try:
            if name in self._host_tools:
                result = self._host_tools[name].run(**arguments)
            elif name in self._engine_schemas:
                result = self._on_fresh_thread(name, arguments, copy_rows(messages))
            else:
                return _error(f"there is no tool {name!r}")
            return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a tool is someone else's code, and some of it calls exit()
            logger.warning("tool %s failed: %r", name, error)
            return _error(f"{name} failed: {error}")

    def _on_fresh_thread(self, name: str, arguments: dict[str, Any], messages: list[Message]) -> str:
        """The result of an engine's tool, which gets a thread of its own: engines must not count on the turn's."""
        with ThreadPoolExecutor(1, thread_name_prefix="tool") as executor:
            return executor.submit(self._engine.handle_tool_call, name, arguments, messages=messages).result()

    def _ask_engine(self) -> list[dict[str, Any]]:
        try:
            return list(self._engine.get_tool_schemas())
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # the engine is someone else's code, and some of it calls exit()
            logger.warning("get_tool_schemas of context engine %s failed: %r", self._engine.name, error)
            return []

    def _is_free(self, name: str) -> bool:
        if name in self._host_tools and name not in self._told:
            self._told.add(name)
            logger.warning("tool %s of context engine %s is left out: the host has one", name, self._engine.name)
        return bool(name) and name not in self._host_tools


def _flat(schema: object) -> dict[str, Any]:
    """An engine's schema without the wrapping that providers want; nameless if it is no schema."""
    inner = schema.get("function", schema) if isinstance(schema, dict) else {}
    try:
        json.dumps(inner)
    except (TypeError, ValueError, RecursionError):
        return {"name": ""}
    return inner if isinstance(inner, dict) and isinstance(inner.get("name"), str) else {"name": ""}


def _error(problem: str) -> str:
    return json.dumps({"error": problem}, ensure_ascii=False)
