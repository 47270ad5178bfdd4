from hypothesis import given
from hypothesis import strategies as st

from vecctx.cli.window import sliding_window
from vecctx.values import Row

SYSTEM = {"role": "system", "content": "s"}
ASKED = {"role": "user", "content": "now"}


class WordCounter:
    def count_text(self, text: str) -> int:
        return len(text.split())

    def count_message(self, row: Row) -> int:
        return self.count_text(row["content"])


def turn(words: int) -> list[Row]:
    return [{"role": "user", "content": "word " * words}, {"role": "assistant", "content": "word " * words}]


def window(history: list[Row], budget: int) -> list[Row]:
    return sliding_window([SYSTEM], history, [ASKED], budget, WordCounter())


def test_the_newest_whole_turns_that_fit_are_sent() -> None:
    old, middle, new = turn(1), turn(2), turn(3)

    assert window([*old, *middle, *new], 2 + 6 + 4) == [SYSTEM, *middle, *new, ASKED]
    assert window([*old, *middle, *new], 2 + 6 + 3) == [SYSTEM, *new, ASKED]


def test_it_ends_at_the_first_turn_that_does_not_fit() -> None:
    small, large, newest = turn(1), turn(50), turn(1)

    assert window([*small, *large, *newest], 20) == [SYSTEM, *newest, ASKED]


def test_system_and_question_go_along_whatever_the_budget() -> None:
    assert window(turn(1), 1) == [SYSTEM, ASKED]


def test_rows_before_the_first_question_are_a_turn_of_their_own() -> None:
    greeting = {"role": "assistant", "content": "welcome"}

    assert window([greeting, *turn(1)], 5) == [SYSTEM, greeting, *turn(1), ASKED]
    assert window([greeting, *turn(1)], 4) == [SYSTEM, *turn(1), ASKED]


@given(st.lists(st.integers(0, 9), max_size=9), st.integers(2, 60))
def test_it_is_a_suffix_within_the_budget_that_a_turn_more_would_break(sizes: list[int], budget: int) -> None:
    history = [row for size in sizes for row in turn(size)]

    middle = window(history, budget)[1:-1]

    counter = WordCounter()
    used = 2 + sum(map(counter.count_message, middle))
    assert middle == history[len(history) - len(middle) :]
    assert used <= budget
    left_out = len(history) - len(middle)
    assert not left_out or used + sum(map(counter.count_message, history[left_out - 2 : left_out])) > budget
