"""Recent turns and candidates into the budget."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecctx.pack.fill import LONG_SHARE, LONG_TOKENS, pick, reach, recent
from vecctx.values import Candidate, PastTurn, StoredMessage

DAY = 86_400.0


def candidate(
    number: int = 1,
    tokens: int = 10,
    score: float = 1.0,
    *,
    text: str = "x" * 40,
    best: tuple[int, int] = (0, 40),
    said_at: float | None = None,
) -> Candidate:
    message = StoredMessage(number, 1, 1, number, "user", text, tokens, said_at, None, f"key{number}")
    return Candidate(message, score, best)


CANDIDATES = st.lists(
    st.builds(
        lambda tokens, score, said_at, lines: (tokens, score, said_at, "line\n" * lines + "x"),
        st.integers(0, 400),
        st.sampled_from([0.1, 0.5, 0.5, 0.9, 2.0]),
        st.sampled_from([None, 0.0, 5.0, DAY, 9 * DAY]),
        st.integers(0, 30),
    ),
    max_size=12,
).map(
    lambda rows: [
        candidate(n, tokens, score, said_at=said_at, text=text, best=(0, len(text) // 2))
        for n, (tokens, score, said_at, text) in enumerate(rows)
    ]
)


@given(CANDIDATES, st.integers(-50, 800))
def test_what_is_picked_never_passes_the_room_by_its_own_estimate(candidates: list[Candidate], room: int) -> None:
    picked = pick(candidates, room)

    days = {quote.message.said_at // DAY for quote in picked.quotes if quote.message.said_at is not None}
    assert picked.tokens == sum(quote.tokens for quote in picked.quotes) + 9 * len(days)
    assert picked.tokens <= max(room, 0)


@given(CANDIDATES, st.integers(0, 800), st.integers())
def test_the_same_candidates_in_any_order_give_the_same_picks(
    candidates: list[Candidate], room: int, seed: int
) -> None:
    shuffled = candidates[:]
    random.Random(seed).shuffle(shuffled)

    assert pick(shuffled, room) == pick(candidates, room)


@given(CANDIDATES, st.integers(0, 800))
def test_every_candidate_is_picked_or_lost_with_a_reason(candidates: list[Candidate], room: int) -> None:
    picked = pick(candidates, room)

    numbers = [quote.message.message_id for quote in picked.quotes]
    numbers += [lost.message.message_id for lost, _ in picked.lost]
    assert sorted(numbers) == [one.message.message_id for one in candidates]
    assert all("no room" in reason for _, reason in picked.lost)


def test_where_all_fit_all_go() -> None:
    assert len(pick([candidate(n) for n in range(5)], 1000).quotes) == 5


def test_what_just_fits_goes() -> None:
    """A message that took nearly all of the room was reckoned as a part, and dearer than the whole."""
    needed = pick([candidate()], 1000).tokens

    assert len(pick([candidate()], needed).quotes) == 1
    assert pick([candidate()], needed - 1).quotes == ()


def test_two_short_messages_go_before_a_long_one_with_a_slightly_better_score() -> None:
    picked = pick([candidate(1, 800, 1.0), candidate(2, 90, 0.9), candidate(3, 90, 0.9)], 2100)

    assert [quote.message.message_id for quote in picked.quotes] == [2, 3, 1]


def test_tiny_messages_are_not_preferred_to_short_ones() -> None:
    picked = pick([candidate(1, 2, 0.5), candidate(2, 90, 0.6)], 1000)

    assert [quote.message.message_id for quote in picked.quotes] == [2, 1]


def test_ties_go_by_the_message_number() -> None:
    assert [quote.message.message_id for quote in pick([candidate(n) for n in (3, 1, 2)], 30).quotes] == [1, 2]


def test_a_message_longer_than_the_room_is_quoted_by_the_part_that_was_found() -> None:
    text = "filler " * 1000 + "the code is 4711." + " filler" * 1000
    start = text.index("the code")

    (quote,) = pick([candidate(1, 2000, text=text, best=(start, start + 17))], 300).quotes

    assert text[quote.start : quote.end] == "the code is 4711."
    assert quote.tokens < 20


@pytest.mark.parametrize(
    ("room", "most"), [(1000, int(LONG_SHARE * 1000)), (10_000, LONG_TOKENS)], ids=["by the share", "by the length"]
)
def test_a_message_is_whole_as_long_as_it_leaves_room_for_others(room: int, most: int) -> None:
    def picked_part(tokens: int) -> tuple[int, int]:
        (quote,) = pick([candidate(1, tokens - 2, text="x" * 5000, best=(100, 200))], room).quotes
        return quote.start, quote.end

    assert picked_part(most) == (0, 5000)
    assert picked_part(most + 1) == (100, 200)


def test_what_is_to_be_a_part_is_quoted_as_one_however_short() -> None:
    (quote,) = pick([replace(candidate(1, 10, best=(5, 20)), is_part=True)], 1000).quotes

    assert (quote.start, quote.end) == (5, 20)


def test_a_part_that_does_not_fit_either_is_lost_and_a_smaller_one_still_goes() -> None:
    picked = pick([candidate(1, 5000, 2.0, best=(0, 40)), candidate(2, 10, 0.1)], 60)

    assert [quote.message.message_id for quote in picked.quotes] == [2]
    assert [lost.message.message_id for lost, _ in picked.lost] == [1]


def test_a_day_is_paid_for_once() -> None:
    one_day = pick([candidate(n, said_at=n) for n in range(3)], 1000)
    three_days = pick([candidate(n, said_at=n * DAY) for n in range(3)], 1000)
    undated = pick([candidate(n) for n in range(3)], 1000)

    assert three_days.tokens - one_day.tokens == 2 * (one_day.tokens - undated.tokens) > 0


# Recent turns.


def turns(*sizes: int, unsound: frozenset[int] = frozenset()) -> list[PastTurn]:
    """Turns newest first; a size is how many rows a turn has."""
    end = sum(sizes)
    found = []
    for number, size in enumerate(sizes):
        found.append(PastTurn(end - size, end, number not in unsound))
        end -= size
    return found


def rows_as_tokens(turn: PastTurn) -> int:
    return turn.end - turn.start


TURNS = st.lists(st.tuples(st.integers(1, 30), st.booleans()), max_size=10).map(
    lambda rows: turns(*(size for size, _ in rows), unsound=frozenset(n for n, (_, odd) in enumerate(rows) if odd))
)


@given(TURNS, st.integers(-5, 200), st.integers(0, 100))
def test_recent_turns_stay_in_the_room_in_order_and_apart(past: list[PastTurn], room: int, newest: int) -> None:
    found = recent(past, rows_as_tokens, room, newest)

    assert found.tokens == sum(end - start for start, end in found.spans)
    assert found.tokens <= max(room, newest, 0)
    flat = [bound for span in found.spans for bound in span]
    assert flat == sorted(flat)
    assert all(start < end for start, end in found.spans)


@given(TURNS, st.integers(0, 200), st.integers(0, 50))
def test_more_room_never_keeps_fewer_turns(past: list[PastTurn], room: int, more: int) -> None:
    small, large = recent(past, rows_as_tokens, room), recent(past, rows_as_tokens, room + more)

    assert large.spans[len(large.spans) - len(small.spans) :] == small.spans


@given(TURNS, st.integers(0, 200))
def test_nothing_sound_is_missing_between_the_kept_turns(past: list[PastTurn], room: int) -> None:
    found = recent(past, rows_as_tokens, room)
    sound = [(turn.start, turn.end) for turn in past if turn.is_sound]

    assert list(reversed(found.spans)) == sound[: len(found.spans)]


def test_the_very_newest_turn_may_take_more() -> None:
    past = turns(50, 10)

    assert recent(past, rows_as_tokens, 40).spans == ()
    assert recent(past, rows_as_tokens, 40, newest_room=50).spans == ((10, 60),)


def test_turns_that_cannot_be_sent_are_named_up_to_where_the_room_ends() -> None:
    past = turns(5, 5, 5, 100, 5, unsound=frozenset({1, 4}))

    found = recent(past, rows_as_tokens, 20)

    assert found.spans == ((105, 110), (115, 120))
    assert found.left == (past[1],)


def test_the_very_newest_turn_is_named_where_it_is_too_long() -> None:
    past = turns(50, 10)

    assert recent(past, rows_as_tokens, 40).left == (past[0],)
    assert recent(turns(10, 50), rows_as_tokens, 40).left == ()


@given(TURNS, st.integers(0, 200))
def test_reach_finds_every_turn_that_recent_could_keep(past: list[PastTurn], room: int) -> None:
    found, is_all = reach(iter(past), rows_as_tokens, room)

    assert recent(found, rows_as_tokens, room) == recent(past[: len(found)], rows_as_tokens, room)
    assert recent(found, rows_as_tokens, room).spans == recent(past, rows_as_tokens, room).spans
    assert is_all == (sum(rows_as_tokens(turn) for turn in past if turn.is_sound) <= room)
    assert bool(found) == bool(past)


def test_reach_reads_no_further_than_needed() -> None:
    read: list[PastTurn] = []

    def one_by_one() -> Iterator[PastTurn]:
        for turn in turns(*[10] * 1000):
            read.append(turn)
            yield turn

    found, is_all = reach(one_by_one(), rows_as_tokens, 55)

    assert (len(found), is_all, len(read)) == (5, False, 6)
