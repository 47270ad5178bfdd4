import json
import threading
from typing import Any

import pytest

from agent.context_engine import Message
from agent.messages import tool_call, user_row
from agent.tools import Tool, ToolRegistry
from tests.agent.support import PlainEngine


class Searching(PlainEngine):
    def __init__(self, *names: str, wrapped: bool = False) -> None:
        super().__init__()
        self.schemas = [{"name": name, "description": "d", "parameters": {"type": "object"}} for name in names]
        if wrapped:
            self.schemas = [{"type": "function", "function": schema} for schema in self.schemas]

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        return self.schemas

    def handle_tool_call(self, name: str, args: dict[str, Any], **context: Any) -> str:
        context["messages"].clear()
        return json.dumps({"engine": name, **args})


def echo(text: str = "") -> dict[str, str]:
    return {"host": text}


HOST_TOOL = Tool("echo", "says it again", echo)


def answer(registry: ToolRegistry, call: Message, rows: list[Message] | None = None) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(registry.call(call, rows or []))
    return result


@pytest.mark.parametrize("wrapped", [False, True])
def test_both_kinds_of_tools_are_offered_and_routed(wrapped: bool) -> None:
    registry = ToolRegistry([HOST_TOOL], Searching("search", wrapped=wrapped))

    assert [schema["function"]["name"] for schema in registry.schemas()] == ["echo", "search"]
    assert answer(registry, tool_call("1", "echo", '{"text": "hi"}')) == {"host": "hi"}
    assert answer(registry, tool_call("2", "search", '{"query": "q"}')) == {"engine": "search", "query": "q"}


def test_a_hosts_tool_wins_and_that_is_said_once(caplog: pytest.LogCaptureFixture) -> None:
    registry = ToolRegistry([HOST_TOOL], Searching("echo"))
    registry.refresh()

    assert [schema["function"]["description"] for schema in registry.schemas()] == ["says it again"]
    assert answer(registry, tool_call("1", "echo")) == {"host": ""}
    assert len(caplog.records) == 1


@pytest.mark.parametrize(
    "call",
    [
        tool_call("1", "unknown"),
        tool_call("1", "echo", "{"),
        tool_call("1", "echo", "[1]"),
        tool_call("1", "echo", '{"wrong": 1}'),
        {"id": "1"},
    ],
)
def test_whatever_is_wrong_with_a_call_is_a_json_error(call: Message) -> None:
    assert "error" in answer(ToolRegistry([HOST_TOOL], PlainEngine()), call)


def test_an_engine_tool_that_raises_is_a_json_error() -> None:
    class Raising(Searching):
        def handle_tool_call(self, name: str, args: dict[str, Any], **context: Any) -> str:
            raise RuntimeError("no index")

    assert "no index" in answer(ToolRegistry([], Raising("search")), tool_call("1", "search"))["error"]


def test_an_engine_tool_cannot_edit_the_history() -> None:
    rows = [user_row("a")]

    answer(ToolRegistry([], Searching("search")), tool_call("1", "search"), rows)

    assert rows == [user_row("a")]


def test_an_engine_tool_runs_on_a_thread_of_its_own() -> None:
    class Naming(Searching):
        def handle_tool_call(self, name: str, args: dict[str, Any], **context: Any) -> str:
            return json.dumps({"is_same": threading.current_thread() is threading.main_thread()})

    assert answer(ToolRegistry([], Naming("search")), tool_call("1", "search")) == {"is_same": False}


NO_JSON = {"name": "x", "parameters": object()}


@pytest.mark.parametrize("schemas", [None, ["text"], [{"description": "nameless"}], [{"name": ["x"]}], [NO_JSON]])
def test_unusable_schemas_offer_nothing(schemas: Any) -> None:
    engine = Searching()
    engine.schemas = schemas

    assert ToolRegistry([], engine).schemas() == []
