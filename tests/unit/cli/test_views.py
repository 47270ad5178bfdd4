import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.builders import make_selection
from vecctx.cli import views
from vecctx.cli.checks import Finding
from vecctx.values import Budget, Candidate, Mark, StoredMessage, StoreStats


def make_mark(message_id: int | None = 1, **changes: Any) -> Mark:
    defaults: dict[str, Any] = {"role": "user", "excerpt": "hello", "tokens": 10, "reason": "meaning"}
    return Mark(message_id=message_id, **(defaults | changes))


def test_a_selection_says_where_its_tokens_went() -> None:
    chosen = make_selection(
        used_tokens=190,
        system_tokens=10,
        current_tokens=20,
        kept=(make_mark(None, tokens=40), make_mark(None, role="assistant", tokens=20)),
        recalled=(make_mark(7, tokens=70),),
    )

    view = views.selection(chosen)

    parts = [view[f"{name}_tokens"] for name in ("system", "kept", "recalled", "current")]
    assert parts == [10, 60, 100, 20]  # the frame around the quotes is part of what is recalled
    assert sum(parts) == view["used_tokens"]
    assert view["kept_turns"] == 1


def test_what_was_recalled_comes_best_first() -> None:
    marks = (make_mark(1, score=0.2), make_mark(2, score=0.9), make_mark(3, score=0.9), make_mark(4, score=None))

    view = views.selection(make_selection(recalled=marks))

    assert [mark["message"] for mark in view["recalled"]] == [2, 3, 1, 4]


def test_a_mark_shows_date_scores_and_reason() -> None:
    mark = make_mark(5, said_at=86_400.0, score=0.5, dense=0.12345, lexical=None, reason="no room")

    assert views.mark(mark) == {
        "message": 5,
        "date": "1970-01-02",
        "role": "user",
        "tokens": 10,
        "score": 0.5,
        "meaning": 0.123,
        "words": None,
        "reason": "no room",
        "text": "hello",
    }


def test_times_that_no_calendar_has_are_not_shown() -> None:
    assert [views.day(moment) for moment in (None, 1e30, float("nan"))] == [None, None, None]


@given(st.text())
def test_every_view_can_be_written_as_utf_8(text: str) -> None:
    broken = text + "\ud800"
    message = StoredMessage(1, 1, 1, 0, "user", broken, 1, None, None, "k")
    candidate = Candidate(message, 0.5, (0, len(broken)), reason="words")
    shown = [
        views.selection(make_selection(query=broken, notes=(broken,), recalled=(make_mark(excerpt=broken),))),
        views.search(broken, [candidate], 5, [broken], 0),
        views.doctor([Finding("store", "problem", broken, broken)]),
        views.messages([{"role": "user", broken: [broken, {"text": broken}]}]),
    ]

    json.dumps(shown, ensure_ascii=False).encode()


def test_a_result_is_cut_and_says_so() -> None:
    message = StoredMessage(3, 2, 1, 0, "user", "x" * 1000, 1, 0.0, None, "k")

    cut = views.found(Candidate(message, 0.5, (10, 900)))
    short = views.found(Candidate(message, 0.5, (10, 60)))

    assert (len(cut["text"]), cut["is_whole"]) == (views.SHOWN_CHARACTERS, False)
    assert (len(short["text"]), short["is_whole"]) == (50, False)


def test_a_note_is_no_problem() -> None:
    notes = views.doctor([Finding("a", "ok", "fine"), Finding("b", "note", "later")])
    problems = views.doctor([Finding("a", "ok", "fine"), Finding("b", "problem", "broken", "mend it")])

    assert (notes["is_well"], notes["problems"]) == (True, 0)
    assert (problems["is_well"], problems["problems"]) == (False, 1)
    assert problems["checks"][1] == {"name": "b", "state": "problem", "detail": "broken", "remedy": "mend it"}


def test_sizes_are_shown_with_dates_and_roles() -> None:
    sizes = StoreStats(
        conversations=1, sessions=2, turns=3, messages=6, chunks=7, vectors=5, pending=2, selections=4, redactions=1,
        bytes_on_disk=1024, oldest_said_at=0.0, newest_said_at=86_400.0, roles={"user": 3, "assistant": 3},
    )  # fmt: skip

    view = views.stats(sizes, Path("/somewhere"))

    assert (view["store"], view["first_message"]) == ("/somewhere", "1970-01-01T00:00:00Z")
    assert (view["passages"], view["indexed_passages"], view["not_yet_indexed"]) == (7, 5, 2)
    assert view["messages_by_role"] == {"user": 3, "assistant": 3}


def test_the_budget_is_shown_with_what_limits_it() -> None:
    view = views.selection(make_selection(budget=Budget(1000, "window", 50)))

    assert (view["budget_tokens"], view["budget_limited_by"], view["overhead_tokens"]) == (1000, "window", 50)
