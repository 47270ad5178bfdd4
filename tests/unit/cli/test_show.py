from typing import Any

import pytest

from tests.builders import make_selection
from vecctx.cli import show, views
from vecctx.values import Budget, Mark


@pytest.fixture(autouse=True)
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")


def make_view(**changes: Any) -> views.View:
    kept = (Mark(None, "user", "hello", 100, "recent"), Mark(None, "assistant", "hi", 100, "recent"))
    recalled = (Mark(4, "user", "my cat is called Minka", 300, "meaning and words", 0.91, said_at=0.0),)
    defaults: dict[str, Any] = {
        "budget": Budget(1000, "budget_tokens"), "used_tokens": 750, "system_tokens": 100, "current_tokens": 100,
        "kept": kept, "recalled": recalled, "left_out_rows": 12, "reused_tokens": 150, "elapsed_ms": 12.3,
    }  # fmt: skip
    return views.selection(make_selection(**(defaults | changes)))


def test_a_person_sees_where_the_budget_went(capsys: pytest.CaptureFixture[str]) -> None:
    show.show_budget(make_view())

    assert capsys.readouterr().out == (
        "  tokens    750 of 1,000; the budget is what budget_tokens says\n"
        "            [ssssssss===============##########################>>>>>>>>...................]\n"
        "            s system 100   = kept 200   # recalled 350   > this turn 100   . free 250\n"
        "  kept      1 recent turn word for word (2 messages)\n"
        "  recalled  1 older message that may matter for this question, quoted by date\n"
        "  left out  12 messages of the history as they are; all stay in the store, word for word\n"
        "  cache     150 tokens (20%) begin like the request before: the provider's cache has them\n"
        "  time      chosen in 12 ms\n"
    )


def test_a_first_request_recalls_and_reuses_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    show.show_budget(make_view(recalled=(), reused_tokens=0, notes=("nothing is asked",)))

    out = capsys.readouterr().out
    assert "  recalled  nothing: no older message that is not here already seems to matter\n" in out
    assert "  cache     0 tokens begin like a request before\n" in out
    assert "  notes     nothing is asked\n" in out


def test_a_request_over_its_budget_has_a_full_bar(capsys: pytest.CaptureFixture[str]) -> None:
    view = make_view(used_tokens=3000, system_tokens=1000, current_tokens=2000, kept=(), recalled=())

    show.show_budget(view)

    out = capsys.readouterr().out
    assert f"[{'s' * 25}{'>' * 51}]" in out
    assert ". free 0" in out


def test_recalled_messages_are_shown_with_date_score_and_reason(capsys: pytest.CaptureFixture[str]) -> None:
    show.show_marks(make_view()["recalled"])

    assert capsys.readouterr().out == (
        "  id  date        who   tokens  score  found by       text\n"
        "   4  1970-01-01  user     300   0.91  meaning+words  my cat is called Minka\n"
    )


@pytest.mark.parametrize("columns", [20, 40, 80, 100])
def test_the_whole_bar_fits_the_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))

    show.show_budget(make_view())

    bar = next(text for text in capsys.readouterr().out.splitlines() if "[s" in text or "[=" in text)
    assert bar.endswith(".]")
    assert len(bar) <= columns


def test_nothing_is_recalled_where_there_is_no_room(capsys: pytest.CaptureFixture[str]) -> None:
    lost = (Mark(4, "user", "my cat is called Minka", 300, "no room", 0.91),)

    show.show_budget(make_view(recalled=(), dropped=lost))
    show.show_budget(make_view(recalled=(), used_tokens=2000))

    assert capsys.readouterr().out.count("  recalled  nothing: the budget leaves no room for it\n") == 2


def test_a_request_that_was_held_says_so_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    show.show_budget(make_view(notes=("held",)))

    assert "  notes     held: as it was chosen for this question before\n" in capsys.readouterr().out


def test_of_many_recalled_messages_the_best_are_shown_and_the_rest_counted(capsys: pytest.CaptureFixture[str]) -> None:
    marks = views.selection(make_selection(recalled=(Mark(4, "user", "Minka", 300, "recent"),) * 5))["recalled"]

    show.show_recalled(marks, 2)
    show.show_recalled((), 2)

    out = capsys.readouterr().out
    assert out.count("Minka") == 2
    assert out.startswith("  recalled, best first (3 more are not shown)\n")
