import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent import summary
from agent.context_engine import Message
from agent.errors import ProviderError
from agent.messages import assistant_row, estimate_tokens, tool_call, user_row
from tests.agent.support import any_rows, relaxed
from tests.fakes.provider import ScriptedModel

ROWS = [
    user_row("The database is Postgres. The weather is nice. Keep the database backups."),
    assistant_row("The database backups run nightly. Anything else?"),
    user_row("The cache is Redis."),
]


def test_sentences_keep_their_order_and_their_speaker() -> None:
    text = summary.extract("", ROWS, focus_topic=None, budget_tokens=1000)

    assert text.splitlines() == [
        "user: The database is Postgres.",
        "user: The weather is nice.",
        "user: Keep the database backups.",
        "assistant: The database backups run nightly.",
        "assistant: Anything else?",
        "user: The cache is Redis.",
    ]


def test_what_comes_back_is_kept_when_room_is_short() -> None:
    assert "backups" in summary.extract("", ROWS, focus_topic=None, budget_tokens=16)


def test_the_focus_is_kept_above_all() -> None:
    text = summary.extract("", ROWS, focus_topic="redis", budget_tokens=12)

    assert text == "user: The cache is Redis."


def test_the_summary_so_far_competes_with_the_new_rows() -> None:
    text = summary.extract("user: The port is 5432.", ROWS, focus_topic="5432", budget_tokens=14)

    assert text == "user: The port is 5432."


def test_a_sentence_that_was_said_twice_is_kept_once() -> None:
    assert summary.extract("user: Yes.", [user_row("Yes."), user_row("Yes.")], focus_topic=None, budget_tokens=99) == (
        "user: Yes."
    )


def test_tool_calls_are_named() -> None:
    rows = [assistant_row(None, [tool_call("1", "read_file")])]

    assert summary.extract("", rows, focus_topic=None, budget_tokens=99) == "assistant: called read_file"


def test_text_without_spaces_has_sentences_too() -> None:
    text = summary.extract("", [user_row("端口是五四三二。天气很好。")], focus_topic=None, budget_tokens=99)

    assert text.splitlines() == ["user: 端口是五四三二。", "user: 天气很好。"]


@relaxed
@given(any_rows, st.integers(0, 200))
def test_a_summary_keeps_to_its_budget_and_is_the_same_each_time(rows: list[Message], budget_tokens: int) -> None:
    text = summary.extract("", rows, focus_topic="deploy", budget_tokens=budget_tokens)

    assert estimate_tokens([user_row(text)]) <= budget_tokens + 4
    assert text == summary.extract("", rows, focus_topic="deploy", budget_tokens=budget_tokens)


def test_a_model_is_asked_with_the_transcript_and_the_focus() -> None:
    model = ScriptedModel([" short "])

    text = summary.ask_model(model, "m", summary.transcript_of("before", ROWS), focus_topic="redis", budget_tokens=50)

    assert text == "short"
    (body,) = model.bodies
    assert "redis" in body["messages"][0]["content"]
    assert body["messages"][1]["content"].startswith("summary so far: before\n\nuser: The database")
    assert body["max_tokens"] == 50


def test_an_empty_answer_is_no_summary() -> None:
    with pytest.raises(ProviderError):
        summary.ask_model(ScriptedModel([" "]), "m", "x", focus_topic=None, budget_tokens=50)
