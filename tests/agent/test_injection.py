from typing import Any

import pytest

from agent.injection import SENT_KEY, injected_text, sent_content
from agent.messages import user_row
from tests.agent.support import ListeningEngine, PlainEngine, make_agent


def test_a_hooks_text_goes_with_the_message_and_the_durable_row_keeps_what_was_said() -> None:
    engine = ListeningEngine()
    agent, model = make_agent(engine, pre_llm_call=[lambda **_: "It is Monday.", lambda **_: {"context": "It rains."}])

    agent.run_turn("hi")

    assert model.requests[0][-1]["content"] == "hi\n\nIt is Monday.\n\nIt rains."
    assert agent.history[0]["content"] == "hi"
    (seen,) = engine.told("select_context")
    assert seen["incoming_message"]["content"] == "hi"


def test_later_requests_repeat_the_same_bytes() -> None:
    days = iter(["Monday", "Tuesday"])
    agent, model = make_agent(PlainEngine(), pre_llm_call=[lambda **_: next(days)])

    agent.run_turn("one")
    agent.run_turn("two")

    contents = [row["content"] for row in model.requests[1] if row["role"] == "user"]
    assert contents == ["one\n\nMonday", "two\n\nTuesday"]
    assert not any(SENT_KEY in row for row in model.requests[1])


def test_a_hook_is_asked_once_a_turn_with_a_copy_of_what_came_before() -> None:
    calls: list[dict[str, Any]] = []

    def hook(**details: Any) -> None:
        calls.append(dict(details, rows=len(details["conversation_history"])))
        details["conversation_history"].clear()

    agent, _ = make_agent(PlainEngine(), pre_llm_call=[hook], platform="web", model="m")
    agent.run_turn("one")
    agent.run_turn("two")

    assert len(agent.history) == 4
    assert [(call["user_message"], call["is_first_turn"], call["rows"]) for call in calls] == [
        ("one", True, 0),
        ("two", False, 2),
    ]
    assert (calls[0]["session_id"], calls[0]["model"], calls[0]["platform"]) == ("s1", "m", "web")


@pytest.mark.parametrize("answer", [None, "", "  ", 7, {}, {"context": None}, {"other": "x"}])
def test_what_is_no_text_adds_nothing(answer: Any) -> None:
    agent, model = make_agent(PlainEngine(), pre_llm_call=[lambda **_: answer])

    agent.run_turn("hi")

    assert model.requests[0][-1]["content"] == "hi"
    assert SENT_KEY not in agent.history[0]


def test_a_broken_hook_adds_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def broken(**_: Any) -> str:
        raise SystemExit(1)

    assert injected_text([broken, lambda **_: "still here"], []) == "still here"
    assert "pre_llm_call" in caplog.text


def test_a_row_that_was_changed_since_is_sent_as_it_is_now() -> None:
    row = {**user_row("short"), SENT_KEY: "a long message\n\nadded"}

    assert sent_content(row)["content"] == "short"
