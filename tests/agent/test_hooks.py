import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from agent.context_engine import ContextEngine, Message
from agent.hooks import EngineHooks, inherits
from agent.messages import assistant_row, tool_call, user_row
from tests.agent.support import ListeningEngine, PlainEngine, chat

SYSTEM: Message = {"role": "system", "content": "be kind"}
REQUEST = [SYSTEM, *chat(2), user_row("now")]


class Selecting(PlainEngine):
    def __init__(self, choose: Callable[[list[Message]], Any]) -> None:
        super().__init__()
        self.choose = choose

    def select_context(self, request_messages: list[Message], **details: Any) -> list[Message] | None:
        selection: list[Message] | None = self.choose(request_messages)
        return selection


def select(engine: ContextEngine, request: list[Message]) -> list[Message]:
    return EngineHooks(engine).select(request, request[1:], request[-1], 1000)


def test_a_usable_selection_is_taken() -> None:
    engine = Selecting(lambda request: [request[0], request[-1]])

    assert select(engine, copy.deepcopy(REQUEST)) == [SYSTEM, user_row("now")]


@pytest.mark.parametrize(
    "choose",
    [
        lambda _request: [],
        tuple,
        lambda request: [*request, "text"],
        lambda _request: "text",
        lambda request: request[1:],
        lambda request: [{"role": "system", "content": "be rude"}, *request[1:]],
        lambda request: [*request[:3], {"role": "system", "content": "more"}, *request[3:]],
        lambda request: [*request[:-1], {"role": "tool", "content": "x"}, request[-1]],
        lambda request: 1 / 0,
        lambda request: request.clear() or 1 / 0,
        lambda request: [*request, {"role": "user", "content": b"bytes"}],
        lambda request: [*request, {"role": "user", "content": "x", 5: "y"}],
    ],
    ids=[
        "empty",
        "tuple",
        "no dict",
        "text",
        "no system",
        "other system",
        "two systems",
        "no id",
        "raises",
        "edits",
        "no JSON",
        "no key",
    ],
)
def test_an_unusable_selection_leaves_the_request_and_is_told_once(
    choose: Callable[[list[Message]], Any], caplog: pytest.LogCaptureFixture
) -> None:
    request = copy.deepcopy(REQUEST)

    assert select(Selecting(choose), request) is request
    assert request == REQUEST
    (record,) = caplog.records
    assert "select_context" in record.getMessage()
    assert "plain" in record.getMessage()


def test_none_leaves_the_request_and_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    request = copy.deepcopy(REQUEST)

    assert select(Selecting(lambda _request: None), request) is request
    assert caplog.records == []


def test_a_system_message_is_not_invented_where_the_request_has_none() -> None:
    request = [user_row("now")]

    assert select(Selecting(lambda rows: [SYSTEM, *rows]), request) is request


def test_an_engine_that_edits_what_it_is_handed_changes_nothing() -> None:
    class Vandal(PlainEngine):
        def select_context(self, request_messages: list[Message], **details: Any) -> None:
            for rows in (request_messages, details["conversation_messages"], [details["incoming_message"]]):
                for row in rows:
                    row["content"][0]["text"] = "edited"
                rows.clear()

        def on_turn_complete(self, messages: list[Message], usage: Any = None, **meta: Any) -> None:
            messages[0]["content"][0]["text"] = "edited"
            usage["prompt_tokens"] = -5

        def on_session_end(self, session_id: str, messages: list[Message]) -> None:
            messages[0]["content"].clear()

        def should_compress_preflight(self, messages: list[Message]) -> bool:
            messages.clear()
            return False

    rows = [user_row([{"type": "text", "text": "a"}])]
    usage = {"prompt_tokens": 3}
    hooks = EngineHooks(Vandal())

    hooks.select(rows, rows, rows[0], 10)
    hooks.turn_complete(rows, usage)
    hooks.session_end("s", rows)
    hooks.should_compress_preflight(rows)

    assert rows == [user_row([{"type": "text", "text": "a"}])]
    assert usage == {"prompt_tokens": 3}


def test_a_selection_is_out_of_the_engines_reach() -> None:
    kept: list[Message] = []

    def keep(request: list[Message]) -> list[Message]:
        kept.extend(request)
        return request

    selection = select(Selecting(keep), copy.deepcopy(REQUEST))
    kept[0]["content"] = "edited later"

    assert selection == REQUEST


def test_an_engine_without_a_selection_costs_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent.hooks.copy_rows", lambda _rows: pytest.fail("copied for nothing"))
    request = [user_row("a")]

    assert select(PlainEngine(), request) is request
    EngineHooks(PlainEngine()).turn_complete(request, None)


def test_inheritance_is_seen_by_identity() -> None:
    assert inherits(PlainEngine(), "select_context")
    assert not inherits(ListeningEngine(), "select_context")


class Broken(PlainEngine):
    """Every hook raises."""

    def __getattribute__(self, name: str) -> Any:
        if hasattr(ContextEngine, name) and callable(getattr(ContextEngine, name)) and not name.startswith("_"):
            return self._refuse
        if name == "bind_session_state":
            return self._refuse
        return super().__getattribute__(name)

    def _refuse(self, *_args: Any, **_kwargs: Any) -> Any:
        raise RuntimeError("broken")


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (lambda hooks, rows: hooks.select(rows, rows, rows[0], 1), chat(1)),
        (lambda hooks, rows: hooks.turn_complete(rows, None), None),
        (lambda hooks, _rows: hooks.update_from_response({}), None),
        (lambda hooks, _rows: hooks.should_compress(1), False),
        (lambda hooks, _rows: hooks.no_compression_reason(1), None),
        (lambda hooks, rows: hooks.should_compress_preflight(rows), False),
        (lambda hooks, _rows: hooks.should_defer(1), False),
        (lambda hooks, rows: hooks.has_content_to_compress(rows), True),
        (lambda hooks, rows: hooks.prune(rows, 1), chat(1)),
        (lambda hooks, _rows: hooks.status_message("compress", "wait"), None),
        (lambda hooks, _rows: hooks.update_model("m", 1), None),
        (lambda hooks, _rows: hooks.bind("s"), None),
        (lambda hooks, _rows: hooks.session_start("s", model="m"), None),
        (lambda hooks, rows: hooks.session_end("s", rows), None),
        (lambda hooks, _rows: hooks.session_reset(), None),
    ],
)
def test_a_hook_that_raises_is_told_once_and_the_turn_goes_on(
    call: Callable[[EngineHooks, list[Message]], Any], answer: Any, caplog: pytest.LogCaptureFixture
) -> None:
    rows = chat(1)

    assert call(EngineHooks(Broken()), rows) == answer
    assert rows == chat(1)
    (record,) = caplog.records
    assert "plain" in record.getMessage()
    assert "broken" in record.getMessage()


def test_an_older_engine_without_a_hook_is_not_complained_about(caplog: pytest.LogCaptureFixture) -> None:
    class Old:
        name = "old"

    hooks = EngineHooks(Old())  # type: ignore[arg-type]

    assert hooks.select(REQUEST, REQUEST, None, 1) is REQUEST
    assert not hooks.should_defer(1)
    hooks.bind("s")
    assert caplog.records == []


@pytest.mark.parametrize("answer", [None, "x", ([], 3), (["text"], 1), ([user_row("new")], 0)])
def test_a_useless_pruning_leaves_the_history(answer: Any) -> None:
    class Pruning(PlainEngine):
        def prune_tool_results_only(self, messages: list[Message], current_tokens: int | None = None) -> Any:
            return answer

    rows = chat(1)

    assert EngineHooks(Pruning()).prune(rows, 1) is rows


def test_a_useful_pruning_is_taken() -> None:
    class Pruning(PlainEngine):
        def prune_tool_results_only(
            self, messages: list[Message], current_tokens: int | None = None
        ) -> tuple[list[Message], int]:
            return [*messages[:-1], assistant_row("short")], 1

    assert EngineHooks(Pruning()).prune(chat(1), 1)[-1] == assistant_row("short")


def test_tool_rows_that_carry_an_id_pass() -> None:
    batch = [assistant_row(None, [tool_call("c", "read")]), {"role": "tool", "tool_call_id": "c", "content": "x"}]
    request = [SYSTEM, user_row("a"), *batch]

    assert select(Selecting(lambda rows: rows), request) == request


class Answering(PlainEngine):
    """Gives one answer to all that is asked with yes or no, and holds odd figures."""

    answer: Any = None
    context_length: Any = "much"

    def should_compress(self, prompt_tokens: int | None = None) -> Any:
        return self.answer

    should_compress_preflight = should_defer_preflight_to_real_usage = should_compress  # type: ignore[assignment]


def test_an_answer_without_a_truth_is_a_no_and_told(caplog: pytest.LogCaptureFixture) -> None:
    engine = Answering()
    engine.answer = np.array([1, 2])
    hooks = EngineHooks(engine)

    assert not hooks.should_compress(1)
    assert not hooks.should_compress_preflight([])
    assert not hooks.should_defer(1)
    assert [record.getMessage().count("neither yes nor no") for record in caplog.records] == [1, 1, 1]


def test_a_figure_that_is_none_counts_as_nothing() -> None:
    hooks = EngineHooks(Answering())

    assert (hooks.figure("context_length"), hooks.figure("protect_first_n"), hooks.figure("no_such")) == (0, 3, 0)
