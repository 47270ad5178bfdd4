"""What neighbours lend."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecctx.rank.boost import NEAR_WEIGHTS, lend
from vecctx.values import Spot

SCORES = st.dictionaries(st.tuples(st.integers(1, 2), st.integers(0, 9)), st.floats(0, 10))


def test_a_score_is_lent_to_those_one_and_two_places_away() -> None:
    near, far = NEAR_WEIGHTS

    assert lend({(1, 5): 1.0}) == {(1, 3): far, (1, 4): near, (1, 5): 1.0, (1, 6): near, (1, 7): far}


def test_nothing_stands_before_the_first_message() -> None:
    assert min(position for _, position in lend({(1, 0): 1.0})) == 0


def test_the_first_message_gets_its_share_too() -> None:
    near, far = NEAR_WEIGHTS

    assert lend({(1, 1): 1.0})[1, 0] == near
    assert lend({(1, 2): 1.0})[1, 0] == far


def test_conversations_do_not_lend_to_each_other() -> None:
    assert {conversation for conversation, _ in lend({(2, 5): 1.0})} == {2}


def test_what_two_neighbours_lend_adds_up() -> None:
    assert lend({(1, 4): 1.0, (1, 6): 2.0})[1, 5] == pytest.approx(NEAR_WEIGHTS[0] * 3)


@given(SCORES)
def test_no_score_falls_and_the_order_of_the_input_does_not_matter(scores: dict[Spot, float]) -> None:
    raised = lend(scores)

    assert all(raised[spot] >= score for spot, score in scores.items())
    assert lend(dict(sorted(scores.items(), reverse=True))) == raised
