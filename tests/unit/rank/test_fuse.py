"""Two lists into one order."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecctx.rank.fuse import LIST_LENGTH, best_of, best_places, fuse
from vecctx.values import Hit, Place, Spot, StoredMessage

SPOTS = st.tuples(st.integers(1, 2), st.integers(0, 8))
SCORES = st.dictionaries(SPOTS, st.sampled_from([0.1, 0.25, 0.5, 0.9]))


def place(position: int, start: int = 0) -> Place:
    message = StoredMessage(position + 1, 1, 1, position, "user", "text", 1, None, None, "key")
    return Place(message, start, start + 4)


def shuffled(scores: dict[Spot, float], seed: int) -> dict[Spot, float]:
    pairs = list(scores.items())
    random.Random(seed).shuffle(pairs)
    return dict(pairs)


@given(SCORES, SCORES, st.floats(0, 1), st.integers())
def test_the_order_of_the_input_does_not_matter(
    meaning: dict[Spot, float], words: dict[Spot, float], share: float, seed: int
) -> None:
    assert fuse(meaning, words, share) == fuse(shuffled(meaning, seed), shuffled(words, seed), share)


@given(SCORES, SCORES, st.floats(0, 1))
def test_every_message_of_either_list_is_there_once_best_first(
    meaning: dict[Spot, float], words: dict[Spot, float], share: float
) -> None:
    found = fuse(meaning, words, share)

    assert sorted(one.spot for one in found) == sorted(meaning.keys() | words.keys())
    order = [(-round(one.score, 6), one.spot) for one in found]
    assert order == sorted(order)
    assert all(-1e-9 <= one.score <= 1 + 1e-9 for one in found)


def test_ties_are_broken_by_where_a_message_stands() -> None:
    found = fuse({}, {(2, 0): 1.0, (1, 7): 1.0, (1, 3): 1.0}, 0.5)

    assert [one.spot for one in found] == [(1, 3), (1, 7), (2, 0)]


def test_the_score_is_the_weighted_sum_of_both_lists() -> None:
    found = {one.spot[1]: one for one in fuse({(1, 0): 0.8, (1, 1): 0.2}, {(1, 1): 6.0, (1, 2): 3.0}, 0.25)}

    assert {spot: one.score for spot, one in found.items()} == pytest.approx({0: 0.75, 1: 0.25, 2: 0.125})
    assert (found[1].dense, found[1].lexical) == (0.2, 6.0)
    assert {spot: one.reason for spot, one in found.items()} == {0: "meaning", 1: "meaning and words", 2: "words"}


@pytest.mark.parametrize(("share", "first"), [(0.0, (1, 0)), (1.0, (1, 1))])
def test_the_weight_decides_which_list_leads(share: float, first: Spot) -> None:
    assert fuse({(1, 0): 0.9, (1, 1): 0.1}, {(1, 1): 2.0, (1, 0): 1.0}, share)[0].spot == first


def test_scores_that_differ_by_rounding_alone_are_ties() -> None:
    assert [one.spot for one in fuse({}, {(1, 5): 1.0, (1, 2): 1.0 - 1e-9}, 1.0)] == [(1, 2), (1, 5)]


def test_nothing_found_is_no_order() -> None:
    assert fuse({}, {}, 0.5) == ()


def test_of_a_long_list_the_best_count() -> None:
    found = fuse({}, {(1, number): float(number) for number in range(LIST_LENGTH + 50)}, 1.0)

    assert len(found) == LIST_LENGTH
    assert min(one.spot[1] for one in found) == 50


def test_a_message_counts_by_its_best_chunk() -> None:
    places = {1: place(0), 2: place(0, 4), 3: place(1)}
    hits = [Hit(1, 0.2), Hit(2, 0.7), Hit(3, -0.5), Hit(99, 1.0)]

    assert best_of(hits, places) == {(1, 0): 0.7, (1, 1): -0.5}
    assert best_of(hits[::-1], places) == best_of(hits, places)


def test_a_message_stands_for_the_chunk_that_answers_best_by_both_arms() -> None:
    """An identifier in a long log was quoted by another chunk, which was a little closer in meaning."""
    places = {1: place(0, start=0), 2: place(0, start=500), 3: place(1, start=0)}

    found = best_places([Hit(1, 0.2), Hit(2, 0.1), Hit(3, 0.3)], [Hit(2, 9.0)], places)

    assert found == {(1, 0): places[2], (1, 1): places[3]}
