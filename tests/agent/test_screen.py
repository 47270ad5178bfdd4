import io
import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.screen import NoteHandler, Screen, bar, one_line, table, width


def make_screen() -> tuple[Screen, io.StringIO, io.StringIO]:
    out, err = io.StringIO(), io.StringIO()
    return Screen(out, err), out, err


def test_a_remark_in_the_middle_of_an_answer_gets_a_line_of_its_own() -> None:
    screen, out, err = make_screen()

    screen.stream("hel")
    screen.note("look\nhere")
    screen.stream("lo\n")
    screen.end_line()
    screen.say("done")

    assert out.getvalue() == "hel\nlo\ndone\n"
    assert err.getvalue() == "look here\n"


def test_a_model_cannot_control_the_terminal() -> None:
    screen, out, _ = make_screen()

    screen.stream("a\x1b[2Jb\x07\x9bc\td\n")

    assert out.getvalue() == "a[2Jbc\td\n"


def test_what_a_stream_cannot_write_is_replaced() -> None:
    raw = io.BytesIO()
    screen = Screen(io.TextIOWrapper(raw, encoding="ascii"), io.StringIO())

    screen.say("naïve \ud800 日本")

    assert raw.getvalue() == b"na?ve ? ??\n"


def test_a_warning_is_one_line_without_its_traceback() -> None:
    screen, _, err = make_screen()
    logger = logging.getLogger("a plugin of this test")
    handler = NoteHandler(screen)
    logger.addHandler(handler)

    logger.warning("%s\n%s", "two", "lines", exc_info=ValueError("x"))
    logger.warning("%s of three", "one")
    logger.info("not shown")
    handler.emit(logging.LogRecord("x", logging.ERROR, "", 0, "wrong %d", ("number",), None))
    logger.removeHandler(handler)

    assert err.getvalue().splitlines() == ["warning: two lines", "warning: one of three", "error: wrong %d"]


def test_a_long_text_is_cut() -> None:
    assert one_line("word " * 200, 10) == "word word…"


@pytest.mark.parametrize(
    ("used", "limit", "mark", "drawn"),
    [
        (0, 100, 0, "." * 40),
        (1, 100, 0, "#" + "." * 39),
        (50, 100, 75, "#" * 20 + "." * 10 + "|" + "." * 9),
        (500, 100, 0, "#" * 40),
        (5, 0, 0, "?" * 40),
    ],
)
def test_a_bar_shows_the_share_and_the_mark(used: int, limit: int, mark: int, drawn: str) -> None:
    assert bar(used, limit, mark) == f"[{drawn}]"


@given(st.lists(st.tuples(st.text(max_size=9), st.text()), min_size=1, max_size=5))
def test_each_row_of_a_table_is_one_line_that_fits(rows: list[tuple[str, str]]) -> None:
    lines = table(rows).split("\n")

    assert len(lines) == len(rows)
    assert all(len(line) <= width() for line in lines)
