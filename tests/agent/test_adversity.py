"""Engines whose hooks answer anything, and models that do: no request is invalid, no turn breaks."""

import json
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agent import context_view
from agent.caching import unmark
from agent.config import CompressionConfig, HostConfig
from agent.context_engine import Message
from agent.errors import ContextOverflowError, ProviderError, TurnInterruptedError
from agent.loop import Agent
from agent.messages import assistant_row, copy_rows, tool_call, tool_row, user_row
from agent.tools import Tool
from tests.agent.support import ListeningEngine, any_rows, problems

Draw = Callable[..., Any]


class NoTruth:
    """Nothing that a host may do with an answer works with this one."""

    def __bool__(self, *_other: object) -> bool:
        raise ValueError("no truth")

    __iter__ = __eq__ = __bool__
    __hash__ = None  # type: ignore[assignment]


LOOP: Message = {"role": "user"}
LOOP["content"] = [LOOP]
FAILURES = [RuntimeError("x"), SystemExit(3), MemoryError(), TimeoutError(), ProviderError("an engine's own")]
NO_SCHEMA = [{"name": "t", "parameters": object()}]
ODD: list[Any] = [
    None,
    5,
    "text",
    [],
    (),
    NoTruth(),
    [5],
    [{}],
    [{"name": ["x"]}],
    [{"name": "t", "parameters": object()}],
]
YES_NO = [True, False, None, NoTruth(), *FAILURES]
ODD_ROWS: list[list[Any]] = [
    [{"role": "user", "content": object()}],
    [{"role": ["user"]}, {"content": "no role"}, {5: "no key", "role": "user"}],
    [{"role": "assistant", "tool_calls": "x"}, user_row({"no": "text"}), {"role": "tool", "tool_call_id": 7}],
    [assistant_row(None, [tool_call("q", "r"), {"id": "f", "function": None}]), tool_row("f", "x"), user_row("end")],
    [LOOP],
]
ODD_MESSAGES: list[Any] = [
    {"content": 5},
    {"content": None, "tool_calls": 5},
    {"content": [{"type": "text", "text": "x"}], "_private": 1},
    {"tool_calls": [{"id": "w"}, 5, {"id": 7}]},
    {"role": "user", "content": "x", "tool_calls": [{"id": "v", "function": {"name": 5, "arguments": {"a": 1}}}]},
]


class Nasty(ListeningEngine):
    """Draws what it answers."""

    def __init__(self, draw: Draw) -> None:
        super().__init__()
        self.draw = draw

    def any_of(self, answers: list[Any]) -> Any:
        answer = self.draw(st.sampled_from(answers))
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def select_context(self, request_messages: list[Message], **details: Any) -> Any:
        system, rest = [dict(row) for row in request_messages[:1]], request_messages[1:]
        for row in request_messages + details["conversation_messages"]:
            row["content"] = "edited"
        if self.draw(st.booleans()):
            return system + self.draw(any_rows)
        choices = [None, rest, system, system + rest[-2:], system + rest + rest, system + rest[::-1]]
        return self.any_of([*choices, *[system + rows for rows in ODD_ROWS], *ODD, *FAILURES])

    def should_compress(self, prompt_tokens: int | None = None) -> Any:
        attribute = self.draw(st.sampled_from(["context_length", "protect_first_n", "threshold_tokens", "other"]))
        setattr(self, attribute, self.draw(st.sampled_from([None, "x", float("nan"), -5, 10])))
        return self.any_of(YES_NO)

    def should_compress_info(self, prompt_tokens: int | None = None) -> Any:
        return self.any_of([(False, None), (False, 5), (True, "reason"), *ODD, *FAILURES])

    def should_compress_preflight(self, messages: list[Message]) -> Any:
        return self.any_of(YES_NO)

    def should_defer_preflight_to_real_usage(self, prompt_tokens: int) -> Any:
        return self.any_of(YES_NO)

    def has_content_to_compress(self, messages: list[Message]) -> Any:
        return self.any_of(YES_NO)

    def prune_tool_results_only(self, messages: list[Message], current_tokens: int | None = None) -> Any:
        pruned = self.draw(st.one_of(any_rows, st.sampled_from([messages, *ODD_ROWS, *ODD])))
        return self.any_of([(pruned, 0), (pruned, 1), (pruned, NoTruth()), *ODD, *FAILURES])

    def compress(self, messages: list[Message], *args: Any, **more: Any) -> Any:
        if self.draw(st.booleans()):
            return self.draw(any_rows)
        return self.any_of([messages, messages[-2:], messages * 2, *ODD_ROWS, *ODD, *FAILURES])

    def get_automatic_compaction_status_message(self, **context: Any) -> Any:
        return self.any_of([*ODD, *FAILURES])

    def get_tool_schemas(self) -> Any:
        return self.any_of([[{"name": "t"}, {"name": "echo"}], *ODD, *FAILURES])

    def handle_tool_call(self, name: str, args: dict[str, Any], **context: Any) -> Any:
        return self.any_of(["{}", b"x", *ODD, *FAILURES])

    def tell(self, hook: str, detail: Any = None) -> None:
        if self.draw(st.integers(0, 4)) == 0:
            raise FAILURES[self.draw(st.integers(0, len(FAILURES) - 1))]


class NastyModel:
    """Refuses an invalid request, and draws its answer to a valid one."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.asked = 0

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        rows = unmark(body["messages"])
        assert set(problems(rows)) <= {"the last row is neither the user's nor a tool's"}, rows
        assert json.dumps(body)
        self.asked += 1
        calls = [tool_call(f"c{self.asked}", name) for name in ("echo", "t", "unknown")]
        failures = [ProviderError("r", is_retryable=True), ProviderError("f"), TurnInterruptedError("half")]
        overflows = [ContextOverflowError("o", window_tokens=window) for window in (None, 50, 5_000)]
        messages = [assistant_row("fine"), assistant_row("", calls), *ODD_MESSAGES, *failures, *overflows]
        message = self.draw(st.sampled_from(messages))
        if isinstance(message, Exception):
            raise message
        usage = self.draw(st.sampled_from([None, {}, [1], {"prompt_tokens": "many"}, {"prompt_tokens": 10**6}]))
        (answer,) = copy_rows([{"choices": [{"message": message}], "usage": usage}])
        return answer


@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_whatever_an_engine_and_a_model_do_each_turn_ends_and_each_request_is_valid(data: st.DataObject) -> None:
    draw: Draw = data.draw
    engine = Nasty(draw)
    compression = CompressionConfig(
        context_timeout_seconds=draw(st.sampled_from([0, 60])), in_place=draw(st.booleans())
    )
    agent = Agent(
        NastyModel(draw),
        engine=engine,
        config=HostConfig(compression=compression),
        context_length=draw(st.sampled_from([60, 1_000, 100_000])),
        history=draw(any_rows),
        tools=[Tool("echo", "", lambda: "echo")],
        wait=lambda _seconds: None,
    )
    for text in draw(st.lists(st.sampled_from(["hi", "", "long " * 300, "/compress", "/new", "/model"]), max_size=5)):
        if text == "/compress":
            agent.compress("focus")
        elif text == "/new":
            agent.new_session()
        elif text == "/model":
            agent.set_model("other")
        else:
            agent.run_turn(text)
            assert all(isinstance(row["message_uid"], str) for row in agent.history)
        assert context_view.describe(engine, agent.history, [], 5)
    agent.close()
