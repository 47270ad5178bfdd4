from typing import Any

import pytest

from agent.context_engine import Message
from agent.context_view import describe
from agent.messages import assistant_row, estimate_tokens, tool_call, tool_row, user_row
from tests.agent.support import PlainEngine, chat

SYSTEM: Message = {"role": "system", "content": "be kind"}


class Telling(PlainEngine):
    """Tells what the test wants."""

    selection: Any = None
    status: Any = None

    def get_status(self) -> dict[str, Any]:
        return {**super().get_status(), **(self.status or {})}

    def describe_last_selection(self) -> Any:
        if isinstance(self.selection, BaseException):
            raise self.selection
        return self.selection


def made(selection: Any = None, status: Any = None) -> Telling:
    engine = Telling()
    engine.selection, engine.status = selection, status
    engine.update_model("m", 1000)
    return engine


def test_the_host_counts_for_any_engine() -> None:
    engine, rows = PlainEngine(), chat(3)
    engine.update_model("m", 1000)

    lines = describe(engine, rows, [SYSTEM, *rows[2:5]], 250).splitlines()
    left_out = estimate_tokens(rows[:2])

    assert lines == [
        "engine        plain, compressed 0 times",
        "window        [##########....................|.........] 25 %",
        "              250 of 1,000 tokens sent; compresses from 750",
        f"conversation  6 messages, about {estimate_tokens(rows)} tokens",
        f"last request  4 messages, 3 of 5 from the conversation (without {left_out} tokens)",
    ]


def test_a_row_counts_as_sent_if_it_was_merged_and_not_if_another_call_was() -> None:
    rows = [
        user_row("one"),
        assistant_row(None, [tool_call("a", "read")]),
        tool_row("a", "same"),
        assistant_row(None, [tool_call("b", "read")]),
        tool_row("b", "same"),
    ]
    request = [user_row("recalled\n\none"), *rows[3:]]

    assert "3 of 5" in describe(PlainEngine(), rows, request, 5)


def test_a_row_in_the_request_stands_for_one_of_its_equals() -> None:
    rows = [user_row("again"), assistant_row("yes")] * 3 + [user_row("more")]

    assert "4 of 7" in describe(PlainEngine(), rows, [user_row("again\n\nagain"), *rows[-2:]], 5)


def test_before_the_first_request_nothing_is_claimed() -> None:
    lines = describe(PlainEngine(), [], [], 0).splitlines()

    assert lines[-1] == "last request  none yet"
    assert "unknown window" in lines[1]


def test_an_engine_that_can_tell_is_heard() -> None:
    recalled = {"role": "user", "text": "the key lies\nin vault 7", "tokens": 9, "score": 0.8151, "reason": "fits"}
    selection = {"kept": 12, "recalled": [recalled, "a text"], "dropped": [{"text": f"no {n}"} for n in range(9)]}
    status: dict[str, Any] = {"budget_tokens": 800, "problem": None, "last_notes": []}

    lines = describe(made(selection, status), chat(1), chat(1), 5).splitlines()

    assert lines[5:] == [
        "kept          12 messages",
        "recalled      2 messages",
        "              user (9 tokens, score 0.82, fits): the key lies in vault 7",
        "              a text",
        "dropped       9 messages",
        *[f"              message: no {n}" for n in range(5)],
        "              and 4 more",
        "budget tokens 800",
    ]


@pytest.mark.parametrize(
    "selection",
    [None, [], "text", {"kept": {"a": 1}, "recalled": None, "dropped": [None, 5]}, {1: 2}, ValueError(), SystemExit()],
)
def test_an_engine_that_tells_nonsense_breaks_nothing(selection: Any) -> None:
    assert describe(made(selection), chat(1), chat(1), 5).startswith("engine")


@pytest.mark.parametrize(("columns", "widest"), [("60", 60), ("300", 100)])
def test_no_line_is_wider_than_the_screen(columns: str, widest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    selection = {"recalled": [{"text": "long " * 99, "reason": "why " * 99}], "other_" * 30: "x" * 300}

    assert max(len(line) for line in describe(made(selection), chat(1), chat(1), 5).splitlines()) == widest
