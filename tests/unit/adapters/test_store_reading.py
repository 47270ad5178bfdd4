"""What every store owes its callers: messages, words and selections come back as they went in."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import (
    append,
    make_chunk,
    make_message,
    make_selection,
    make_turn,
    pending_ids,
)
from tests.fakes.clock import FakeClock
from tests.fakes.store import FakeStore
from vecctx.adapters.sqlite_store import SqliteStore
from vecctx.errors import StoreError
from vecctx.ports import Store
from vecctx.values import Budget, Chunk, Held, Mark, Turn

TERMS = [
    *(
        "src/app.py:42",
        "c++",
        "c",
        "v1.2.3",
        "v1.2",
        "my-proxy",
        "my",
        "foo_bar",
        "昨晚",
        "昨",
        "에러코드",
        "🧵",
        '"',
        "*",
    ),
    *(
        "NEAR(",
        "AND",
        "and",
        "o'neil",
        "Straße",
        "STRASSE",
        "É",
        "é",
        "e",
        "\u200d",
        "a\0b",
        "\ud83d",
        "¬",
        "¬41¬",
        "A",
        "^",
        "{",
    ),
]


def texts_found(store: Store, conversation_id: int, word: str, limit: int = 10) -> list[str]:
    scores = store.word_scores([conversation_id], [word], limit)[word]
    places = store.places(list(scores))
    return [places[chunk_id].message.text for chunk_id in scores]


class TestReading:
    def test_messages_of_other_conversations_are_left_out(self, store: Store) -> None:
        mine, theirs = store.open_conversation("ann", "s1"), store.open_conversation("bob", "s1")
        own = append(store, mine, make_turn("one", "two"))
        foreign = append(store, theirs, make_turn("secret"))

        found = store.messages([mine], [*reversed(own), *foreign, 999, -1, 10**30])

        assert [message.message_id for message in found] == list(own)
        assert store.messages([], own) == ()

    def test_neighbours_come_in_order_and_stay_in_the_conversation(self, store: Store) -> None:
        mine, theirs = store.open_conversation("ann", "s1"), store.open_conversation("bob", "s1")
        ids = append(store, mine, make_turn("0", "1"), make_turn("2", "3"))
        append(store, theirs, make_turn("secret"))

        assert [message.text for message in store.around([mine], ids[2], 1, 9)] == ["1", "2", "3"]
        assert [message.text for message in store.around([mine], ids[0], 5, 0)] == ["0"]
        assert store.around([theirs], ids[2], 1, 1) == ()
        assert store.around([mine], 10**30, 1, 1) == ()

    def test_chunks_lead_to_their_place_in_a_message(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        text = "hello there"
        append(
            store, conversation_id, Turn((make_message(text, chunks=(Chunk(0, 6, ("hello",)), make_chunk(text, 6))),))
        )
        ids = pending_ids(store)

        places = store.places([*reversed(ids), -1, 10**30])

        assert [(chunk_id, place.start, place.end) for chunk_id, place in places.items()] == [
            *((ids[0], 0, 6), (ids[1], 6, 11))
        ]
        assert {place.message.text for place in places.values()} == {text}

    def test_messages_are_found_where_they_stand(self, store: Store) -> None:
        mine, theirs = store.open_conversation("ann", "s1"), store.open_conversation("bob", "s1")
        append(store, mine, make_turn("0", "1"))
        append(store, theirs, make_turn("0'"))

        found = store.at([(mine, 1), (theirs, 0), (theirs, 1), (mine, -1), (99, 0)])

        assert {spot: message.text for spot, message in found.items()} == {(mine, 1): "1", (theirs, 0): "0'"}
        assert store.at([]) == {}

    def test_chunks_are_counted(self, store: Store) -> None:
        mine, theirs = store.open_conversation("ann", "s1"), store.open_conversation("bob", "s1")
        append(store, mine, make_turn("one", "two"), make_turn(""))
        append(store, theirs, make_turn("three"))

        assert [store.chunk_count(scope) for scope in ([mine], [mine, theirs], [], [99])] == [2, 3, 0, 0]


class TestWords:
    @pytest.mark.parametrize("term", TERMS)
    def test_a_term_finds_its_message_and_no_other(self, store: Store, term: str) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        append(
            store,
            conversation_id,
            *(Turn((make_message(other, chunks=(Chunk(0, 1, (other, "same")),)),)) for other in TERMS),
        )

        assert texts_found(store, conversation_id, term) == [term]

    def test_each_word_is_scored_by_itself_and_best_first(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        long = "red " + "and many other words that make it a worse hit " * 3
        append(store, conversation_id, *(make_turn(text) for text in (long, "red dog", "a tree", "a leaf")))
        ids = pending_ids(store)

        found = store.word_scores([conversation_id], ["red", "dog", "nowhere"], 10)

        assert {word: list(scores) for word, scores in found.items()} == {
            "red": [ids[1], ids[0]],
            "dog": [ids[1]],
            "nowhere": [],
        }
        assert found["red"][ids[1]] > found["red"][ids[0]] > 0

    def test_ties_go_to_the_earlier_chunk_also_at_the_limit(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        append(store, conversation_id, *(make_turn("ok") for _ in range(20)))

        assert list(store.word_scores([conversation_id], ["ok"], 5)["ok"]) == pending_ids(store)[:5]

    def test_other_conversations_are_filtered_before_the_limit(self, store: Store) -> None:
        sessions = [store.open_conversation("ann", f"s{number}") for number in range(3)]
        for conversation_id in (sessions[0], sessions[2]):
            append(store, conversation_id, *(make_turn("ok ok ok") for _ in range(9)))
        append(store, sessions[1], make_turn("ok and many other words that make it a worse hit"))

        assert len(texts_found(store, sessions[1], "ok", limit=1)) == 1
        assert len(store.word_scores([sessions[0], sessions[2]], ["ok"], 99)["ok"]) == 18

    def test_nothing_to_find_is_no_hit(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        append(store, conversation_id, make_turn("ok"))

        assert store.word_scores([], ["ok"], 5) == {"ok": {}}
        assert store.word_scores([conversation_id], ["ok"], 0) == {"ok": {}}
        assert store.word_scores([conversation_id], ["ok"], -1) == {"ok": {}}
        assert store.word_scores([conversation_id], [""], 5) == {}
        assert store.word_scores([conversation_id], [], 5) == {}


class TestSelections:
    def test_a_selection_comes_back_equal(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        sent = make_selection(
            conversation_id,
            "key\ud83d\0",
            query="lone \ud83d",
            budget=Budget(10, "window", 2),
            kept=(Mark(1, "user", "x", 3, "recent"), Mark(None, "tool", "\0", 4, "recent", 0.5, 0.25, 2.0, 12.5)),
            dropped=(Mark(2, "assistant", "y", 5, "budget", score=1 / 3),),
            notes=("held", "cut"),
            elapsed_ms=1.5,
            held=Held("key", ((5, 3), (2, 1)), "digest", "block"),
        )

        number = store.record_selection(sent)

        found = store.selection(number)
        assert found is not None
        assert found.selection_id == number
        assert found.created_at == FakeClock().now()
        assert found == replace(sent, selection_id=number, created_at=found.created_at)

    def test_the_newest_selection_is_given_where_no_number_is(self, store: Store) -> None:
        mine, theirs = store.open_conversation("ann", "s1"), store.open_conversation("bob", "s1")
        store.record_selection(make_selection(mine, query="first"))
        store.record_selection(make_selection(mine, query="second"))
        store.record_selection(make_selection(theirs, query="third"))

        assert [getattr(store.selection(owner=owner), "query", None) for owner in ("ann", "bob", "eve", None)] == [
            *("second", "third", None, "third")
        ]

    def test_anothers_selection_is_as_unknown_as_none(self, store: Store) -> None:
        theirs = store.open_conversation("bob", "s1")
        number = store.record_selection(make_selection(theirs))

        assert store.selection(number, owner="ann") is None
        assert store.selection(number + 1) is None
        assert store.selection(10**30) is None
        assert store.selection(-(10**30)) is None

    def test_the_selection_of_a_turn_is_the_last_one_sent_for_it(self, store: Store) -> None:
        mine, theirs = store.open_conversation("ann", "s1"), store.open_conversation("ann", "s2")
        store.record_selection(make_selection(mine, "turn", query="first"))
        store.record_selection(make_selection(mine, "turn", query="second"))
        store.record_selection(make_selection(mine, "other", query="third"))

        found = store.selection_of_turn(mine, "turn")

        assert found is not None
        assert found.query == "second"
        assert store.selection_of_turn(theirs, "turn") is None

    def test_scores_may_be_numpys_numbers(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        mark = Mark(1, "user", "x", 3, "meaning", score=float(np.float32(0.5)), dense=np.float32(0.5))  # type: ignore[arg-type] # the point

        found = store.selection(store.record_selection(make_selection(conversation_id, recalled=(mark,))))

        assert found is not None
        assert found.recalled[0].dense == 0.5

    def test_a_selection_of_no_conversation_is_refused(self, store: Store) -> None:
        with pytest.raises(StoreError):
            store.record_selection(make_selection(99))


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Store, Store]]:
    with SqliteStore(tmp_path_factory.mktemp("words") / "store.db", FakeClock()) as real:
        yield real, FakeStore()


TEXT = st.text(st.characters(codec=None, exclude_categories=()), min_size=1, max_size=12)
WORDS = st.lists(TEXT.filter(lambda word: not any(letter.isspace() for letter in word)), min_size=1, max_size=4)


@given(st.lists(WORDS, min_size=1, max_size=6), st.data())
def test_a_word_finds_exactly_the_messages_that_hold_it(
    both: tuple[Store, Store], chunks: list[list[str]], data: st.DataObject
) -> None:
    asked = data.draw(st.sampled_from([word for words in chunks for word in words]))
    turns = [Turn((make_message("x", chunks=(Chunk(0, 1, tuple(words)),)),)) for words in chunks]
    found = []
    for store in both:
        conversation_id = store.open_conversation("ann", f"s{len(store.conversations_of(None))}")
        append(store, conversation_id, *turns)
        places = store.places(list(store.word_scores([conversation_id], [asked], 99)[asked]))
        found.append(sorted(place.message.position for place in places.values()))

    assert found == [[number for number, words in enumerate(chunks) if asked in words]] * 2
