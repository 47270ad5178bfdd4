import copy

from agent.caching import MARKER_KEY, mark, unmark
from agent.messages import user_row
from tests.agent.support import chat


def test_the_system_row_and_the_last_three_are_marked() -> None:
    rows = [{"role": "system", "content": "s"}, *chat(3)]

    marked = mark(rows)

    assert [i for i, row in enumerate(marked) if MARKER_KEY in row] == [0, 4, 5, 6]


def test_marks_are_on_copies_and_come_off_again() -> None:
    rows = chat(2)
    before = copy.deepcopy(rows)

    marked = mark(rows)

    assert rows == before
    assert unmark(marked) == rows
    assert [row["content"] for row in marked] == [row["content"] for row in rows]


def test_a_short_request_is_marked_whole() -> None:
    assert all(MARKER_KEY in row for row in mark([user_row("a")]))
