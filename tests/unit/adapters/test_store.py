"""What every store owes its callers: conversations, turns, sizes."""

import pytest

from tests.builders import (
    IDENTITY,
    append,
    make_message,
    make_selection,
    make_turn,
    make_vectors,
    pending_ids,
)
from vecctx.errors import StoreError
from vecctx.ports import Store
from vecctx.values import Turn

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
            append(store, conversation_id, *(Turn((make_message(uid=f"u{number}"),)) for number in range(count)))

        assert store.holding("ann", ["u0", "u1", "u2", "u0", "\ud83d"], []) == {few: 1, most: 2}
        assert store.holding("ann", ["u9"], ["nothing"]) == {}
        assert store.holding("ann", [], []) == {}

    def test_rows_are_counted_by_key_too(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        append(store, conversation_id, Turn((make_message(key="k1", uid="u1"),)), Turn((make_message(key="k1"),)))

        assert store.holding("ann", [], ["k1", "k2"]) == {conversation_id: 1}
        assert store.holding("ann", ["u1"], ["k1"]) == {conversation_id: 2}

    def test_thousands_of_rows_can_be_asked_for(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        append(store, conversation_id, Turn((make_message(uid="u2999"),)), Turn((make_message(uid="u0"),)))

        assert store.holding("ann", [f"u{number}" for number in range(3000)], []) == {conversation_id: 2}


class TestTurns:
    def test_messages_come_back_as_they_went_in(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        message = make_message("Grüße 🧵", uid="u1", said_at=12.5, tokens=7)

        (message_id,) = append(store, conversation_id, Turn((message,)))

        (stored,) = store.messages([conversation_id], [message_id])
        assert (stored.text, stored.role, stored.key, stored.uid) == ("Grüße 🧵", "user", message.key, "u1")
        assert (stored.said_at, stored.tokens, stored.position) == (12.5, 7, 0)
        assert stored.conversation_id == conversation_id

    @pytest.mark.parametrize("text", [*ODD_STRINGS, "x\ud83d\0y", "\udc00" * 3, "b'bytes'", "line\r\nline", "1e400"])
    def test_any_text_survives(self, store: Store, text: str) -> None:
        conversation_id = store.open_conversation("ann", "s1")

        ids = append(store, conversation_id, Turn((make_message(text, key=text, uid=text),)))

        (stored,) = store.messages([conversation_id], ids)
        assert (stored.text, stored.key, stored.uid) == (text, text, text)
        assert store.known(conversation_id)[0].key == text
        assert store.holding("ann", [text], [text]) == {conversation_id: 2}

    def test_known_is_in_order_and_can_be_cut_to_the_newest(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        ids = append(store, conversation_id, make_turn("one", "two"), make_turn("three"))

        assert [known.message_id for known in store.known(conversation_id)] == list(ids)
        assert [known.message_id for known in store.known(conversation_id, newest=2)] == list(ids[1:])
        assert len(store.known(conversation_id, newest=9)) == 3
        assert store.known(conversation_id, newest=0) == ()
        assert store.known(99) == ()

    def test_positions_run_on_in_each_conversation(self, store: Store) -> None:
        first, second = (store.open_conversation("ann", session) for session in ("s1", "s2"))
        append(store, first, make_turn("one", "two"))
        append(store, second, make_turn("other"))
        ids = append(store, first, make_turn("three"))

        assert store.messages([first], ids)[0].position == 2

    def test_each_turn_from_a_user_is_a_turn_of_its_own(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        ids = append(store, conversation_id, make_turn("one", "two"), make_turn("three"))

        turns = [message.turn_id for message in store.messages([conversation_id], ids)]
        assert turns[0] == turns[1] != turns[2]

    def test_a_turn_without_a_user_continues_the_last_one(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        first = append(store, conversation_id, make_turn("one", "two"))
        other = store.open_conversation("ann", "s2")
        append(store, other, make_turn("in between"))
        later = append(store, conversation_id, make_turn("three", role="assistant"))

        assert len({message.turn_id for message in store.messages([conversation_id], first + later)}) == 1

    def test_a_first_turn_without_a_user_opens_one(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        other = store.open_conversation("ann", "s2")
        ids = append(store, conversation_id, make_turn("hello", role="assistant"))
        others = append(store, other, make_turn("hello", role="assistant"))

        (mine,), (theirs,) = store.messages([conversation_id], ids), store.messages([other], others)
        assert mine.turn_id != theirs.turn_id

    def test_the_same_words_twice_are_two_messages(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")

        ids = append(store, conversation_id, make_turn("ok"), make_turn("ok"))

        assert len(set(ids)) == 2

    def test_empty_turns_leave_no_trace(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")

        assert append(store, conversation_id, Turn(())) == ()
        assert append(store, conversation_id) == ()
        assert store.stats(IDENTITY).turns == 0

    def test_a_writer_that_was_overtaken_writes_nothing(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        (first,) = append(store, conversation_id, make_turn("one"))
        append(store, conversation_id, make_turn("two"))

        for behind in (None, first, 99):
            assert store.add_turns(conversation_id, [make_turn("three")], behind=behind, redactions=1) is None
        assert len(store.known(conversation_id)) == 2
        assert store.stats(IDENTITY).redactions == 0

    def test_a_conversation_that_does_not_exist_is_refused(self, store: Store) -> None:
        with pytest.raises(StoreError, match="99"):
            append(store, 99, make_turn())


class TestStats:
    def test_sizes_are_those_of_what_went_in(self, store: Store) -> None:
        conversation_id = store.open_conversation("ann", "s1")
        store.open_conversation("ann", "s2", "s1")
        first = Turn((make_message("one", said_at=5.0), make_message("", "assistant", said_at=9.0)))
        append(store, conversation_id, first, make_turn("three"), redactions=2)
        append(store, conversation_id, redactions=1)
        store.add_vectors(IDENTITY, pending_ids(store)[:1], make_vectors(1))
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
