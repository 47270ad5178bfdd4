"""The same turn gets the same bytes, and more behind them."""

from hypothesis import given
from hypothesis import strategies as st

from tests import weird
from tests.weird import Row, assistant, user
from vecctx.pack.hold import held_spans, hold, turn_key

HISTORY = [user("a"), assistant("b"), user("c"), assistant("d"), user("e"), assistant("f")]
SPANS = ((0, 2), (4, 6))


def test_spans_are_found_again_in_the_same_history() -> None:
    assert held_spans(hold("turn", HISTORY, SPANS, "block"), HISTORY) == SPANS


def test_rows_that_came_before_the_history_move_the_spans() -> None:
    held = hold("turn", HISTORY, SPANS, None)

    assert held_spans(held, [user("older"), assistant("older"), *HISTORY]) == ((2, 4), (6, 8))


def test_a_change_of_a_kept_row_refuses_them() -> None:
    held = hold("turn", HISTORY, SPANS, None)

    assert held_spans(held, [*HISTORY[:5], assistant("changed")]) is None
    assert held_spans(held, [{**HISTORY[0], "name": "x"}, *HISTORY[1:]]) is None
    assert held_spans(held, [*HISTORY, assistant("more")]) is None


def test_a_change_of_a_row_that_was_not_kept_does_not_matter() -> None:
    held = hold("turn", HISTORY, SPANS, None)

    assert held_spans(held, [*HISTORY[:2], user("other"), assistant("words"), *HISTORY[4:]]) == SPANS


def test_a_history_that_got_shorter_refuses_them() -> None:
    held = hold("turn", HISTORY, SPANS, None)

    assert held_spans(held, HISTORY[2:]) is None
    assert held_spans(held, []) is None


def test_the_hosts_private_keys_do_not_matter() -> None:
    held = hold("turn", HISTORY, SPANS, None)

    assert held_spans(held, [{**row, "_db_persisted": True} for row in HISTORY]) == SPANS


def test_nothing_kept_is_held_too() -> None:
    held = hold("turn", HISTORY, (), "block")

    assert held_spans(held, HISTORY) == ()
    assert held_spans(held, []) == ()
    assert held.block == "block"


@given(weird.transcripts(), st.data())
def test_whatever_is_held_is_found_again(rows: list[Row], data: st.DataObject) -> None:
    bounds = sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=6, unique=True)))
    spans = tuple(zip(bounds[::2], bounds[1::2], strict=False))

    assert held_spans(hold("turn", rows, spans, None), rows) == spans


def test_a_turn_is_named_by_what_is_said_and_what_it_follows() -> None:
    names = {turn_key("say", "before"), turn_key("say", "other"), turn_key("other", "before"), turn_key("say", "")}

    assert len(names) == 4
    assert turn_key("say", "before") == turn_key("say", "before")
