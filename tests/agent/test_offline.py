from typing import Any

import pytest

from agent.context_engine import Message
from agent.messages import assistant_row, tool_row, user_row
from agent.offline import MARK, OfflineModel
from agent.provider import message_of

TOOLS = [{"type": "function", "function": {"name": name}} for name in ("clock", "calculator")]


def asked(*rows: Message, tools: Any = ()) -> Message:
    return message_of(OfflineModel().complete({"messages": [*rows], "tools": tools}))


def said(*rows: Message) -> str:
    text: str = asked(*rows)["content"]
    return text


def test_it_quotes_the_message_that_fits_best() -> None:
    rows = [
        user_row("The deploy key lies in vault 7. Lunch is at noon."),
        assistant_row("Noted."),
        user_row("The cat sleeps."),
        assistant_row("Noted."),
        user_row("Where is the deploy key?"),
    ]

    assert said(*rows) == f'{MARK} Message 1 of 5 (user) says: "The deploy key lies in vault 7."'


def test_it_quotes_what_was_recalled_above_the_question() -> None:
    row = user_row("From earlier:\nThe deploy key lies in vault 7.\n\nWhere is the deploy key?")

    assert "vault 7" in said(row)


def test_it_says_that_nothing_fits() -> None:
    assert said(user_row("The cat sleeps."), user_row("Where is the deploy key?")) == (
        f"{MARK} Nothing in the 2 messages that I was sent is about that."
    )


def test_it_does_not_quote_the_same_question_or_itself() -> None:
    question = user_row("Where is the deploy key?")
    own = assistant_row(f"{MARK} the deploy key. The deploy key")
    recalled = user_row(f"Earlier:\n{MARK} the deploy key\nThe deploy key: vault 7\n\n{question['content']}")

    assert "vault 7" in said(user_row("The deploy key: vault 7"), question, own, question)
    assert "vault 7" in said(recalled)


def test_the_newer_of_two_that_fit_holds() -> None:
    rows = [user_row("The port is 80."), user_row("The port is 81."), user_row("Which port?")]

    assert "81" in said(*rows)


def test_chinese_has_no_spaces_and_is_found_too() -> None:
    rows = [user_row("部署密钥在七号保险库。猫在睡觉。"), user_row("今天下雨。"), user_row("部署密钥在哪里？")]

    assert "七号" in said(*rows)


@pytest.mark.parametrize("text", ["", "?", "the"])
def test_a_question_without_words_has_an_answer(text: str) -> None:
    assert "Nothing" in said(user_row("a fact"), user_row(text))


@pytest.mark.parametrize(
    ("text", "name", "arguments"),
    [
        ("what is 2 + 3*4?", "calculator", '{"expression": "2 + 3*4"}'),
        ("(1+2)/3", "calculator", '{"expression": "(1+2)/3"}'),
        ("What time is it?", "clock", "{}"),
    ],
)
def test_it_calls_the_tools_that_it_has(text: str, name: str, arguments: str) -> None:
    (called,) = asked(user_row(text), tools=TOOLS)["tool_calls"]

    assert called["function"] == {"name": name, "arguments": arguments}
    assert "tool_calls" not in asked(user_row(text))


@pytest.mark.parametrize("text", ["is 2026 - the year - over?", "version 1.2", "42"])
def test_numbers_alone_are_no_arithmetic(text: str) -> None:
    assert "tool_calls" not in asked(user_row(text), tools=TOOLS)


def test_it_reports_what_a_tool_said() -> None:
    assert said(user_row("2+3"), tool_row("c1", "5")) == f"{MARK} The tool says: 5"
