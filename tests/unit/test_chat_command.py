import json
from typing import Any

import pytest

from vecctx.chat_command import answer


class FakeEngine:
    """An engine that has served."""

    def __init__(self, **status: Any) -> None:
        self.status = {
            "problem": None, "last_selection_tokens": 3210, "budget_tokens": 32_000, "last_notes": [],
        } | status  # fmt: skip
        self.chosen: dict[str, Any] = {}
        self.results: dict[str, Any] = {"results": []}
        self.calls: list[tuple[str, dict[str, Any]]] = []

    def get_status(self) -> dict[str, Any]:
        return self.status

    def describe_last_selection(self) -> dict[str, Any]:
        return self.chosen

    def handle_tool_call(self, name: str, args: dict[str, Any]) -> str:
        self.calls.append((name, args))
        return json.dumps(self.results)


def mark(text: str, **changes: Any) -> dict[str, Any]:
    return {"text": text, "role": "user", "tokens": 10, "score": None, "reason": "recent"} | changes


@pytest.mark.parametrize("text", ["", "status", "  status  "])
def test_the_status_says_what_the_last_request_took(text: str) -> None:
    assert answer(text, FakeEngine(last_notes=["the deadline passed"])) == (
        "vecctx serves this conversation.\n"
        "The last request took 3,210 of 32,000 tokens; /vecctx why shows what is in it.\n"
        "note: the deadline passed"
    )


def test_an_engine_that_stands_aside_says_why() -> None:
    said = answer("", FakeEngine(problem="setting 'scope' is 'x'"))

    assert "stands aside" in said
    assert said.endswith("setting 'scope' is 'x'")


def test_before_the_first_request_there_is_nothing_to_tell() -> None:
    engine = FakeEngine(last_selection_tokens=None)

    assert "nothing for the last request yet" in answer("status", engine)
    assert "Nothing was chosen" in answer("why", engine)


def test_why_sums_up_what_was_kept_and_shows_what_was_recalled_and_dropped() -> None:
    engine = FakeEngine()
    engine.chosen = {
        "kept": [mark("hello"), mark("hi")],
        "recalled": [mark("my cat\nis \x1b[31mMinka", score=0.914, reason="meaning")],
        "dropped": [mark(f"lot {number}") for number in range(12)],
    }

    said = answer("why", engine).splitlines()

    assert said[:4] == [
        "Kept as they were: 2 messages of 20 tokens, the newest turns.",
        "Recalled: 1 message of 10 tokens.",
        "  user, meaning 0.91: my cat is [31mMinka",
        "Not sent: 12 messages of 120 tokens, the next best that found no room.",
    ]
    assert said[-1] == "  and 2 more"


def test_why_does_not_list_what_is_not_there() -> None:
    engine = FakeEngine()
    engine.chosen = {"kept": [mark("hello")], "recalled": [], "dropped": []}

    assert answer("why", engine) == ("Kept as they were: 1 message of 10 tokens, the newest turns.\nRecalled: nothing.")


def test_a_search_looks_only_where_the_conversations_own_tool_looks() -> None:
    engine = FakeEngine()
    engine.results = {"results": [{"id": 7, "date": None, "role": "user", "text": "x" * 500}]}

    said = answer("search the  bucket", engine)

    assert engine.calls == [("vecctx_search", {"query": "the  bucket", "limit": 10})]
    assert said.startswith("Found, best first:\n  7  undated  user: xxx")
    assert len(said) < 220
    assert "Nothing was found" in answer("search y", FakeEngine())


def test_a_search_that_fails_or_asks_nothing_is_answered() -> None:
    engine = FakeEngine()
    engine.results = {"error": "the store cannot be read now"}

    assert answer("search x", engine) == "The search failed: the store cannot be read now"
    assert "/vecctx search TEXT" in answer("search  ", engine)


def test_help_needs_no_engine_and_an_unknown_word_gets_it() -> None:
    assert answer("help", None).count("/vecctx") == 4
    assert answer("sttaus", FakeEngine()).startswith("There is no /vecctx sttaus.\n/vecctx status")


@pytest.mark.parametrize("text", ["", "why", "search x"])
def test_where_the_engine_is_not_known_nothing_is_shown(text: str) -> None:
    assert answer(text, None).startswith("No conversation that vecctx serves can be seen from here.")
