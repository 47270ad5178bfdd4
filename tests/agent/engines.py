"""An engine that keeps every point of the conformance suite; the files beside it hold those that break one each."""

import json
from typing import Any, Self

from agent.context_compressor import ContextCompressor
from agent.context_engine import Message
from agent.messages import copy_rows

TURNS = 12


class GoodEngine(ContextCompressor):
    """Sends the last turns whole, and has one tool."""

    def __init__(self) -> None:
        super().__init__()

    def clone_for_agent(self) -> Self:
        return type(self)()

    def select_context(
        self, request_messages: list[Message], *, conversation_messages: list[Message] | None = None, **details: Any
    ) -> list[Message] | None:
        rows = conversation_messages or []
        offset = len(request_messages) - len(rows)
        starts = [n for n, row in enumerate(request_messages) if n >= offset and row["role"] == "user"]
        if len(starts) <= TURNS:
            return None
        return copy_rows([*request_messages[:offset], *request_messages[starts[-TURNS] :]])

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        parameters = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
        return [{"name": "recall", "description": "finds something", "parameters": parameters}]

    def handle_tool_call(self, name: str, args: dict[str, Any], **context: Any) -> str:
        return json.dumps({"found": [], "query": str(args.get("query"))} if name == "recall" else {"error": name})


class Selecting(GoodEngine):
    """Hands its selection through `change`."""

    def select_context(self, request_messages: list[Message], **details: Any) -> list[Message] | None:
        selection = super().select_context(request_messages, **details)
        return self.change(request_messages if selection is None else selection, details)

    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        return rows


class Compressing(GoodEngine):
    """Hands the history through `change`."""

    def compress(
        self, messages: list[Message], current_tokens: int | None = None, focus_topic: str | None = None, **more: Any
    ) -> list[Message]:
        return self.change(messages)

    def change(self, rows: list[Message]) -> list[Message]:
        return super().compress(rows)


BREAKERS: dict[str, type[GoodEngine]] = {}
"""By point the engine that breaks it."""


def breaks(point: str) -> Any:
    def register(engine: type[GoodEngine]) -> type[GoodEngine]:
        BREAKERS[point] = engine
        return engine

    return register
