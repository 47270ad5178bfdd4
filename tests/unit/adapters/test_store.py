"""What every store owes its callers."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import IDENTITY, make_chunk, make_message, make_selection, make_turn, make_vectors
from tests.fakes.clock import FakeClock
from tests.fakes.store import FakeStore
from vecctx.adapters.sqlite_store import SqliteStore
from vecctx.errors import StoreError
from vecctx.ports import Store
from vecctx.values import Budget, Chunk, Held, Identity, Mark, Turn

if TYPE_CHECKING:
    from vecctx.values import FloatArray

OTHER_IDENTITY = Identity(model="other", revision="1", dimensions=4)

ODD_STRINGS = [
    "o'neil",
    "../../x",
    "x" * 300,
    "🧵",
    "agent:main:discord:thread:1",
    "vt-firmware",
    "\ud83d",
    "a\0b",
    "",
    "?#%",
]

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


@pytest.fixture(params=["sqlite", "fake"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened: Store = SqliteStore(tmp_path / "store.db", FakeClock()) if request.param == "sqlite" else FakeStore()
    yield opened
    opened.close()


def chunk_ids_of(store: Store) -> list[int]:
    return [chunk.chunk_id for chunk in store.pending(IDENTITY, 1_000_000)]


def add(store: Store, conversation_id: int, turns: Sequence[Turn], *, redactions: int = 0) -> tuple[int, ...]:
    newest = store.known(conversation_id, 1)
    behind = newest[0].message_id if newest else None
    added = store.add_turns(conversation_id, turns, behind=behind, redactions=redactions)
    assert added is not None
    return added


def texts_found(store: Store, conversation_id: int, word: str, limit: int = 10) -> list[str]:
    scores = store.word_scores([conversation_id], [word], limit)[word]
    places = store.places(list(scores))
    return [places[chunk_id].message.text for chunk_id in scores]


class TestConversations:
    def test_a_session_keeps_its_conversation(self, store: Store) -> None:
        first = store.open_conversation("ann", "s1")

        assert store.open_conversation("ann", "s1") == first
        assert store.conversation_of("ann", "s1") == first

    def test_an_unknown_session_has_none(self, store: Store) -> None:
        assert store.conversation_of("ann", "s1") is None

    def test_the_same_session_name_of_two_owners_is_two_conversations(self, store: Store) -> None:
        anns = store.open_conversation("ann", "main")

        assert store.open_conversation("bob", "main") != anns
        assert store.conversations_of("ann") == (anns,)
        assert len(store.conversations_of(None)) == 2
        assert store.conversations_of("eve") == ()

    def test_a_session_with_a_known_parent_joins_the_parents(self, store: Store) -> None:
        parent = store.open_conversation("ann", "s1")

        assert store.open_conversation("ann", "s2", "s1") == parent
        assert store.open_conversation("ann", "s3", "s2") == parent

    def test_a_parent_of_another_owner_is_no_parent(self, store: Store) -> None:
        parent = store.open_conversation("ann", "s1")

        assert store.open_conversation("bob", "s2", "s1") != parent

    def test_a_known_session_stays_where_it_is_whatever_parent_it_names(self, store: Store) -> None:
        store.open_conversation("ann", "s1")
        own = store.open_conversation("ann", "s2")

        assert store.open_conversation("ann", "s2", "s1") == own

    @pytest.mark.parametrize("name", ODD_STRINGS)
    def test_any_string_names_an_owner_and_a_session(self, store: Store, name: str) -> None:
        conversation_id = store.open_conversation(name, name)
        store.open_conversation(name + "x", name)

        assert store.conversation_of(name, name) == conversation_id
        assert store.conversations_of(name) == (conversation_id,)

    def test_rows_are_counted_by_conversation_of_the_owner(self, store: Store) -> None:
        few, most = (store.open_conversation("ann", session) for session in ("s1", "s2"))
        foreign = store.open_conversation("bob", "s1")
        for conversation_id, count in ((few, 1), (most, 2), (foreign, 3)):
            add(store, conversation_id, [Turn((make_message(uid=f"u{number}"),)) for number in range(count)])

        assert store.holding("ann", ["u0", "u1", "u2", "u0", "\ud83d"], []) == {few: 1, most: 2}
        assert store.holding("ann", ["u9"], ["nothing"]) == {}
        assert store.holding("ann", [], []) == {}

    def test_rows_are_counted_by_key_too(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        add(store, conversation_id, [Turn((make_message(key="k1", uid="u1"),)), Turn((make_message(key="k1"),))])

        assert store.holding("ann", [], ["k1", "k2"]) == {conversation_id: 1}
        assert store.holding("ann", ["u1"], ["k1"]) == {conversation_id: 2}

    def test_thousands_of_rows_can_be_asked_for(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        add(store, conversation_id, [Turn((make_message(uid="u2999"),)), Turn((make_message(uid="u0"),))])

        assert store.holding("ann", [f"u{number}" for number in range(3000)], []) == {conversation_id: 2}


class TestTurns:
    def test_messages_come_back_as_they_went_in(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        message = make_message("Grüße 🧵", uid="u1", said_at=12.5, tokens=7)

        (message_id,) = add(store, conversation_id, [Turn((message,))])

        (stored,) = store.messages([conversation_id], [message_id])
        assert (stored.text, stored.role, stored.key, stored.uid) == ("Grüße 🧵", "user", message.key, "u1")
        assert (stored.said_at, stored.tokens, stored.position) == (12.5, 7, 0)
        assert stored.conversation_id == conversation_id

    @pytest.mark.parametrize("text", [*ODD_STRINGS, "x\ud83d\0y", "\udc00" * 3, "b'bytes'", "line\r\nline", "1e400"])
    def test_any_text_survives(self, store: Store, text: str) -> None:
        conversation_id = store.open_conversation("ann", "s1")

        ids = add(store, conversation_id, [Turn((make_message(text, key=text, uid=text),))])

        (stored,) = store.messages([conversation_id], ids)
        assert (stored.text, stored.key, stored.uid) == (text, text, text)
        assert store.known(conversation_id)[0].key == text
        assert store.holding("ann", [text], [text]) == {conversation_id: 2}

    def test_known_is_in_order_and_can_be_cut_to_the_newest(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        ids = add(store, conversation_id, [make_turn("one", "two"), make_turn("three")])

        assert [known.message_id for known in store.known(conversation_id)] == list(ids)
        assert [known.message_id for known in store.known(conversation_id, newest=2)] == list(ids[1:])
        assert len(store.known(conversation_id, newest=9)) == 3
        assert store.known(conversation_id, newest=0) == ()
        assert store.known(99) == ()

    def test_positions_run_on_in_each_conversation(self, store: Store) -> None:
        first, second = (store.open_conversation("ann", session) for session in ("s1", "s2"))
        add(store, first, [make_turn("one", "two")])
        add(store, second, [make_turn("other")])
        ids = add(store, first, [make_turn("three")])

        assert store.messages([first], ids)[0].position == 2

    def test_each_turn_from_a_user_is_a_turn_of_its_own(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        ids = add(store, conversation_id, [make_turn("one", "two"), make_turn("three")])

        turns = [message.turn_id for message in store.messages([conversation_id], ids)]
        assert turns[0] == turns[1] != turns[2]

    def test_a_turn_without_a_user_continues_the_last_one(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        first = add(store, conversation_id, [make_turn("one", "two")])
        other = store.open_conversation("ann", "s2")
        add(store, other, [make_turn("in between")])
        later = add(store, conversation_id, [make_turn("three", role="assistant")])

        assert len({message.turn_id for message in store.messages([conversation_id], first + later)}) == 1

    def test_a_first_turn_without_a_user_opens_one(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        other = store.open_conversation("ann", "s2")
        ids = add(store, conversation_id, [make_turn("hello", role="assistant")])
        others = add(store, other, [make_turn("hello", role="assistant")])

        (mine,), (theirs,) = store.messages([conversation_id], ids), store.messages([other], others)
        assert mine.turn_id != theirs.turn_id

    def test_the_same_words_twice_are_two_messages(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")

        ids = add(store, conversation_id, [make_turn("ok"), make_turn("ok")])

        assert len(set(ids)) == 2

    def test_empty_turns_leave_no_trace(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")

        assert add(store, conversation_id, [Turn(())]) == ()
        assert add(store, conversation_id, []) == ()
        assert store.stats(IDENTITY).turns == 0

    def test_a_writer_that_was_overtaken_writes_nothing(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        (first,) = add(store, conversation_id, [make_turn("one")])
        add(store, conversation_id, [make_turn("two")])

        for behind in (None, first, 99):
            assert store.add_turns(conversation_id, [make_turn("three")], behind=behind, redactions=1) is None
        assert len(store.known(conversation_id)) == 2
        assert store.stats(IDENTITY).redactions == 0

    def test_a_conversation_that_does_not_exist_is_refused(self, store: Store) -> None:
        with pytest.raises(StoreError, match="99"):
            add(store, 99, [make_turn()])


class TestReading:
    def test_messages_of_other_conversations_are_left_out(self, store: Store) -> None:
        mine, theirs = store.open_conversation("ann", "s1"), store.open_conversation("bob", "s1")
        own = add(store, mine, [make_turn("one", "two")])
        foreign = add(store, theirs, [make_turn("secret")])

        found = store.messages([mine], [*reversed(own), *foreign, 999, -1, 10**30])

        assert [message.message_id for message in found] == list(own)
        assert store.messages([], own) == ()

    def test_neighbours_come_in_order_and_stay_in_the_conversation(self, store: Store) -> None:
        mine, theirs = store.open_conversation("ann", "s1"), store.open_conversation("bob", "s1")
        ids = add(store, mine, [make_turn("0", "1"), make_turn("2", "3")])
        add(store, theirs, [make_turn("secret")])

        assert [message.text for message in store.around([mine], ids[2], 1, 9)] == ["1", "2", "3"]
        assert [message.text for message in store.around([mine], ids[0], 5, 0)] == ["0"]
        assert store.around([theirs], ids[2], 1, 1) == ()
        assert store.around([mine], 10**30, 1, 1) == ()

    def test_chunks_lead_to_their_place_in_a_message(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        text = "hello there"
        add(
            store, conversation_id, [Turn((make_message(text, chunks=(Chunk(0, 6, ("hello",)), make_chunk(text, 6))),))]
        )
        ids = chunk_ids_of(store)

        places = store.places([*reversed(ids), -1, 10**30])

        assert [(chunk_id, place.start, place.end) for chunk_id, place in places.items()] == [
            *((ids[0], 0, 6), (ids[1], 6, 11))
        ]
        assert {place.message.text for place in places.values()} == {text}

    def test_messages_are_found_where_they_stand(self, store: Store) -> None:
        mine, theirs = store.open_conversation("ann", "s1"), store.open_conversation("bob", "s1")
        add(store, mine, [make_turn("0", "1")])
        add(store, theirs, [make_turn("0'")])

        found = store.at([(mine, 1), (theirs, 0), (theirs, 1), (mine, -1), (99, 0)])

        assert {spot: message.text for spot, message in found.items()} == {(mine, 1): "1", (theirs, 0): "0'"}
        assert store.at([]) == {}

    def test_chunks_are_counted(self, store: Store) -> None:
        mine, theirs = store.open_conversation("ann", "s1"), store.open_conversation("bob", "s1")
        add(store, mine, [make_turn("one", "two"), make_turn("")])
        add(store, theirs, [make_turn("three")])

        assert [store.chunk_count(scope) for scope in ([mine], [mine, theirs], [], [99])] == [2, 3, 0, 0]


class TestWords:
    @pytest.mark.parametrize("term", TERMS)
    def test_a_term_finds_its_message_and_no_other(self, store: Store, term: str) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        add(
            store,
            conversation_id,
            [Turn((make_message(other, chunks=(Chunk(0, 1, (other, "same")),)),)) for other in TERMS],
        )

        assert texts_found(store, conversation_id, term) == [term]

    def test_each_word_is_scored_by_itself_and_best_first(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        long = "red " + "and many other words that make it a worse hit " * 3
        add(store, conversation_id, [make_turn(text) for text in (long, "red dog", "a tree", "a leaf")])
        ids = chunk_ids_of(store)

        found = store.word_scores([conversation_id], ["red", "dog", "nowhere"], 10)

        assert {word: list(scores) for word, scores in found.items()} == {
            "red": [ids[1], ids[0]],
            "dog": [ids[1]],
            "nowhere": [],
        }
        assert found["red"][ids[1]] > found["red"][ids[0]] > 0

    def test_ties_go_to_the_earlier_chunk_also_at_the_limit(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        add(store, conversation_id, [make_turn("ok") for _ in range(20)])

        assert list(store.word_scores([conversation_id], ["ok"], 5)["ok"]) == chunk_ids_of(store)[:5]

    def test_other_conversations_are_filtered_before_the_limit(self, store: Store) -> None:
        sessions = [store.open_conversation("ann", f"s{number}") for number in range(3)]
        for conversation_id in (sessions[0], sessions[2]):
            add(store, conversation_id, [make_turn("ok ok ok") for _ in range(9)])
        add(store, sessions[1], [make_turn("ok and many other words that make it a worse hit")])

        assert len(texts_found(store, sessions[1], "ok", limit=1)) == 1
        assert len(store.word_scores([sessions[0], sessions[2]], ["ok"], 99)["ok"]) == 18

    def test_nothing_to_find_is_no_hit(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        add(store, conversation_id, [make_turn("ok")])

        assert store.word_scores([], ["ok"], 5) == {"ok": {}}
        assert store.word_scores([conversation_id], ["ok"], 0) == {"ok": {}}
        assert store.word_scores([conversation_id], ["ok"], -1) == {"ok": {}}
        assert store.word_scores([conversation_id], [""], 5) == {}
        assert store.word_scores([conversation_id], [], 5) == {}


class TestVectors:
    def test_chunks_are_pending_until_they_have_a_vector(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        add(store, conversation_id, [make_turn("one", "two"), make_turn("three")])
        ids = chunk_ids_of(store)

        store.add_vectors(IDENTITY, ids[:2], make_vectors(2))

        assert chunk_ids_of(store) == ids[2:]
        assert store.pending_count(IDENTITY) == 1
        assert store.pending_count(OTHER_IDENTITY) == 3
        assert store.pending(IDENTITY, 0) == ()

    def test_pending_chunks_come_oldest_first_across_conversations(self, store: Store) -> None:
        first, second = (store.open_conversation("ann", session) for session in ("s1", "s2"))
        add(store, second, [make_turn("one")])
        add(store, first, [make_turn("two")])
        add(store, second, [make_turn("three")])

        assert [chunk.text for chunk in store.pending(IDENTITY, 2)] == ["one", "two"]

    def test_vectors_out_of_order_leave_the_gap_pending(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        add(store, conversation_id, [make_turn(text) for text in ("one", "two", "three")])
        ids = chunk_ids_of(store)

        store.add_vectors(IDENTITY, [ids[1]], make_vectors(1))
        add(store, conversation_id, [make_turn("four")])

        assert [chunk.text for chunk in store.pending(IDENTITY, 9)] == ["one", "three", "four"]

    def test_a_pending_chunk_brings_the_text_around_it(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        text = "hello there"
        long = make_message(text, chunks=(Chunk(0, 6, ("hello",)), make_chunk(text, 6)))
        add(store, conversation_id, [make_turn("one", "two"), Turn((long, make_message("reply", "assistant")))])

        chunks = store.pending(IDENTITY, 9)

        assert [chunk.text for chunk in chunks] == ["one", "two", "hello ", "there", "reply"]
        assert [chunk.before for chunk in chunks] == ["", "one", "two", "two", text]
        assert [chunk.after for chunk in chunks] == ["two", "", "reply", "reply", ""]
        assert [chunk.role for chunk in chunks] == ["user", "assistant", "user", "user", "assistant"]

    def test_vectors_come_back_in_the_order_of_commits(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        add(store, conversation_id, [make_turn(text) for text in ("one", "two", "three")])
        ids, vectors = chunk_ids_of(store), make_vectors(3)
        store.add_vectors(IDENTITY, [ids[2], ids[0]], vectors[[2, 0]])
        first = store.vectors_since(conversation_id, IDENTITY, 0)
        store.add_vectors(IDENTITY, [ids[1]], vectors[[1]])

        second = store.vectors_since(conversation_id, IDENTITY, first.sequence)

        assert first.chunk_ids.tolist() == [ids[2], ids[0]]
        assert second.chunk_ids.tolist() == [ids[1]]
        np.testing.assert_allclose(first.vectors, vectors[[2, 0]], atol=1e-3)
        assert (str(first.vectors.dtype), str(first.chunk_ids.dtype)) == ("float32", "int64")
        assert second.generation == first.generation

    def test_nothing_new_is_an_empty_batch_at_the_same_place(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")

        batch = store.vectors_since(conversation_id, IDENTITY, 7)

        assert (batch.sequence, batch.vectors.shape, batch.chunk_ids.shape) == (7, (0, 4), (0,))

    def test_zero_rows_are_done_but_never_given_out(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        add(store, conversation_id, [make_turn("one", "two")])
        ids = chunk_ids_of(store)

        store.add_vectors(IDENTITY, ids, np.array([[1, 0, 0, 0], [0, 0, 0, 0]], dtype=np.float32))

        batch = store.vectors_since(conversation_id, IDENTITY, 0)
        assert batch.chunk_ids.tolist() == ids[:1]
        assert store.pending_count(IDENTITY) == 0
        assert store.vectors_since(conversation_id, IDENTITY, batch.sequence).chunk_ids.tolist() == []

    def test_a_chunk_that_has_a_vector_keeps_it_and_an_unknown_one_is_passed_over(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        add(store, conversation_id, [make_turn("one")])
        ids, vectors = chunk_ids_of(store), make_vectors(3)
        store.add_vectors(IDENTITY, ids, vectors[:1])

        store.add_vectors(IDENTITY, [*ids, ids[0] + 999], vectors[1:])

        batch = store.vectors_since(conversation_id, IDENTITY, 0)
        assert batch.chunk_ids.tolist() == ids
        np.testing.assert_allclose(batch.vectors, vectors[:1], atol=1e-3)

    def test_vectors_of_another_identity_or_conversation_never_mix_in(self, store: Store) -> None:
        mine, theirs = store.open_conversation("ann", "s1"), store.open_conversation("bob", "s1")
        add(store, mine, [make_turn("one")])
        add(store, theirs, [make_turn("secret")])
        ids = chunk_ids_of(store)
        store.add_vectors(IDENTITY, ids, make_vectors(2))

        assert store.vectors_since(mine, IDENTITY, 0).chunk_ids.tolist() == ids[:1]
        assert store.vectors_since(mine, OTHER_IDENTITY, 0).chunk_ids.tolist() == []

    @pytest.mark.parametrize("vectors", [make_vectors(2), make_vectors(1, dimensions=3), make_vectors(1) * np.nan])
    def test_vectors_that_do_not_fit_are_refused(self, store: Store, vectors: "FloatArray") -> None:
        conversation_id = store.open_conversation("ann", "s1")
        add(store, conversation_id, [make_turn("one")])

        with pytest.raises(StoreError, match="finite"):
            store.add_vectors(IDENTITY, chunk_ids_of(store), vectors)

        assert store.pending_count(IDENTITY) == 1

    def test_the_mark_names_the_vectors_up_to_a_place(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        add(store, conversation_id, [make_turn("one", "two")])
        ids = chunk_ids_of(store)
        empty = store.vectors_mark(conversation_id, IDENTITY, 99)
        store.add_vectors(IDENTITY, ids[:1], make_vectors(1))
        place = store.vectors_since(conversation_id, IDENTITY, 0).sequence
        before = store.vectors_mark(conversation_id, IDENTITY, place)
        store.add_vectors(IDENTITY, ids[1:], make_vectors(1))

        assert store.vectors_mark(conversation_id, IDENTITY, place) == before
        assert len({empty, before, store.vectors_mark(conversation_id, IDENTITY, place + 1)}) == 3


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


class TestStats:
    def test_sizes_are_those_of_what_went_in(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        store.open_conversation("ann", "s2", "s1")
        first = Turn((make_message("one", said_at=5.0), make_message("", "assistant", said_at=9.0)))
        add(store, conversation_id, [first, make_turn("three")], redactions=2)
        add(store, conversation_id, [], redactions=1)
        store.add_vectors(IDENTITY, chunk_ids_of(store)[:1], make_vectors(1))
        store.record_selection(make_selection(conversation_id))

        stats = store.stats(IDENTITY)

        assert (stats.conversations, stats.sessions, stats.turns, stats.messages) == (1, 2, 2, 3)
        assert (stats.chunks, stats.vectors, stats.pending, stats.selections, stats.redactions) == (2, 1, 1, 1, 3)
        assert (stats.oldest_said_at, stats.newest_said_at) == (5.0, 9.0)
        assert stats.roles == {"user": 2, "assistant": 1}

    def test_a_new_store_is_empty_and_sound(self, store: Store) -> None:
        assert store.stats(IDENTITY).messages == 0
        assert store.stats(IDENTITY).oldest_said_at is None
        assert store.check() == ()


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()

    with pytest.raises(StoreError, match="closed"):
        store.known(1)
    with pytest.raises(StoreError, match="closed"):
        store.open_conversation("ann", "s1")


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
        add(store, conversation_id, turns)
        places = store.places(list(store.word_scores([conversation_id], [asked], 99)[asked]))
        found.append(sorted(place.message.position for place in places.values()))

    assert found == [[number for number, words in enumerate(chunks) if asked in words]] * 2
