import pytest

from agent.messages import user_row
from agent.testing import Reply, ScriptedModel, call, run_conversation
from tests.agent.support import PlainEngine, make_agent


def test_a_script_is_followed_line_by_line() -> None:
    model = ScriptedModel(["one", Reply(calls=[call("c", "read", path="x")])])

    first, second = (model.complete({"messages": []})["choices"][0] for _ in range(2))

    assert (first["message"]["content"], first["finish_reason"]) == ("one", "stop")
    assert second["finish_reason"] == "tool_calls"
    assert second["message"]["tool_calls"][0]["function"] == {"name": "read", "arguments": '{"path": "x"}'}


def test_a_function_may_write_the_script() -> None:
    model = ScriptedModel(lambda body: body["messages"][-1]["content"].upper())

    assert model.complete({"messages": [user_row("hi")]})["choices"][0]["message"]["content"] == "HI"


def test_an_exception_in_the_script_is_raised() -> None:
    with pytest.raises(ValueError, match="down"):
        ScriptedModel([ValueError("down")]).complete({"messages": []})


def test_a_script_that_is_over_says_so() -> None:
    with pytest.raises(AssertionError, match="over"):
        ScriptedModel([]).complete({"messages": []})


def test_usage_is_counted_unless_it_is_scripted() -> None:
    model = ScriptedModel(["ok", Reply("ok", usage={"prompt_tokens": 9})])

    assert model.complete({"messages": [user_row("abcd")]})["usage"] == {
        "prompt_tokens": 5,
        "completion_tokens": 5,
        "total_tokens": 10,
    }
    assert model.complete({"messages": []})["usage"] == {"prompt_tokens": 9}


def test_what_is_recorded_does_not_change_any_more() -> None:
    body = {"messages": [user_row("a")]}
    model = ScriptedModel(["ok"])

    model.complete(body)
    body["messages"][0]["content"] = "edited"

    assert model.requests == [[user_row("a")]]


def test_a_conversation_is_run_turn_by_turn() -> None:
    agent, model = make_agent(PlainEngine(), ["a", "b"])

    assert run_conversation(agent, ["1", "2"]) == ["a", "b"]
    assert [row["content"] for row in model.requests[1][1:]] == ["1", "a", "2"]
