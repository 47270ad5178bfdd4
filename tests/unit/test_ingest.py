"""The write path stores every message once, in order, whatever the host hands over."""

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests import weird
from tests.builders import IDENTITY, make_vectors
from tests.fakes.clock import FakeClock
from tests.fakes.store import FakeStore
from tests.weird import Row, assistant, user
from vecctx import ingest
from vecctx.adapters.sqlite_store import SqliteStore
from vecctx.ports import Store
from vecctx.turns.content import text_of_row
from vecctx.turns.identity import is_synthetic, key_of
from vecctx.values import Turn

SUMMARY = user("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted.\nThey named a bucket.")
HOST_NOTE = user("Remember what is still open: the todo list.")


class WordCounter:
    """A TokenCounter that counts words."""

    def count_text(self, text: str) -> int:
        return len(text.split())

    def count_message(self, row: Any) -> int:
        return 4 + self.count_text(text_of_row(row))


@pytest.fixture(params=["fake", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store = FakeStore() if request.param == "fake" else SqliteStore(tmp_path / "store.db", FakeClock())
    yield made
    made.close()


def hand_over(
    rows: Sequence[Row], store: Store, conversation_id: int = 1, *, redacts: bool = True, said_at: float | None = None
) -> ingest.Ingested:
    return ingest.ingest(rows, conversation_id, store=store, counter=WordCounter(), redacts=redacts, said_at=said_at)


def opened(store: Store, session: str = "s1") -> int:
    return store.open_conversation("", session)


def stored_keys(store: Store, conversation_id: int = 1) -> list[str]:
    return [row.key for row in store.known(conversation_id)]


def keys(rows: Sequence[Row]) -> list[str]:
    return [key_of(row) for row in rows if not is_synthetic(row)]


def turn(number: int) -> list[Row]:
    return [user(f"question {number}"), assistant(f"answer {number}")]


def talk(*numbers: int) -> list[Row]:
    return [row for number in numbers for row in turn(number)]


def bounds_of_turns(rows: Sequence[Row]) -> list[int]:
    """Where a transcript can end behind a completed turn."""
    return [n for n in range(1, len(rows)) if rows[n].get("role") == "user"] + [len(rows)]


# The promise: whatever a growing transcript holds is stored once and in order.


@given(weird.transcripts(), st.data())
def test_a_growing_transcript_is_stored_once_and_in_order_however_it_is_cut(
    rows: list[Row], data: st.DataObject
) -> None:
    assume(rows)
    store = FakeStore()
    opened(store)
    ends = data.draw(st.lists(st.sampled_from(bounds_of_turns(rows)), max_size=5).map(sorted))

    for end in [*ends, len(rows)]:
        hand_over(rows[:end], store)

    assert stored_keys(store) == keys(rows)


@given(weird.transcripts(), st.data())
def test_feeding_again_or_a_stale_copy_adds_nothing(rows: list[Row], data: st.DataObject) -> None:
    assume(rows)
    store = FakeStore()
    opened(store)
    hand_over(rows, store)

    stale = rows[: data.draw(st.sampled_from(bounds_of_turns(rows)))]

    assert hand_over(stale, store) == ingest.Ingested()
    assert hand_over(rows, store) == ingest.Ingested()
    assert stored_keys(store) == keys(rows)


@given(st.integers(2, 30), st.integers(2, 30), st.integers(0, 6), st.booleans(), st.booleans())
def test_a_compacted_tail_with_new_turns_adds_only_the_new_turns(
    total: int, kept: int, added: int, has_note: bool, has_uids: bool
) -> None:
    kept = min(kept, total)
    whole = talk(*range(total + added))
    whole = weird.with_uids(whole) if has_uids else whole
    store = FakeStore()
    opened(store)
    hand_over(whole[: 2 * total], store)

    tail = [SUMMARY, *([HOST_NOTE] if has_note else []), *whole[2 * (total - kept) :]]
    for end in range(len(tail) - 2 * added, len(tail) + 1, 2):
        hand_over(tail[:end], store)
        hand_over(tail[:end], store)

    # A note that nobody marked may be stored, once, where it was first seen.
    assert stored_keys(store).count(key_of(HOST_NOTE)) <= has_note
    assert [key for key in stored_keys(store) if key != key_of(HOST_NOTE)] == keys(whole)


@given(weird.transcripts(odd=False))
def test_uids_or_none_the_same_messages_are_stored(rows: list[Row]) -> None:
    assume(rows)
    plain, named = FakeStore(), FakeStore()
    for store in (plain, named):
        opened(store)
    hand_over(rows, plain)
    hand_over(weird.with_uids(rows), named)

    assert stored_keys(plain) == stored_keys(named) == keys(rows)


@given(weird.transcripts(max_turns=4))
def test_both_stores_take_the_same_rows(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    fake = FakeStore()
    real = SqliteStore(tmp_path_factory.mktemp("store") / "store.db", FakeClock())
    for store in (fake, real):
        opened(store)
        hand_over(rows, store)

    assert real.known(1) == fake.known(1)
    assert [message.text for message in messages_of(real)] == [message.text for message in messages_of(fake)]
    real.close()


def messages_of(store: Store, conversation_id: int = 1) -> tuple[Any, ...]:
    ids = [row.message_id for row in store.known(conversation_id)]
    return store.messages((conversation_id,), ids)


# Cases by name.


def test_a_repeated_ok_is_a_message_of_its_own(store: Store) -> None:
    opened(store)
    rows: list[Row] = []
    for _ in range(12):
        rows += [user("ok"), assistant("done")]
        hand_over(rows, store)

    assert stored_keys(store) == keys(rows)


def test_a_second_ok_after_a_restart_is_kept(tmp_path: Path) -> None:
    rows = [user("ok"), assistant("done")]
    for count in (1, 2):
        with_restart = SqliteStore(tmp_path / "store.db", FakeClock())
        opened(with_restart)
        hand_over(rows * count, with_restart)
        found = stored_keys(with_restart)
        with_restart.close()

    assert found == keys(rows * 2)


def test_a_missed_turn_is_caught_up_by_the_next_hand_over(store: Store) -> None:
    opened(store)
    hand_over(talk(1, 2), store)

    hand_over(talk(1, 2, 3, 4), store)

    assert stored_keys(store) == keys(talk(1, 2, 3, 4))


def test_the_whole_list_after_a_compaction_adds_nothing(store: Store) -> None:
    """A host ends the old session with the list from before the compaction."""
    opened(store)
    hand_over(talk(*range(20)), store)
    hand_over([SUMMARY, *talk(18, 19, 20)], store)

    hand_over(talk(*range(20)), store)

    assert stored_keys(store) == keys(talk(*range(21)))


def test_a_rewind_stores_the_new_branch_even_where_an_answer_comes_again(store: Store) -> None:
    """The answer "done" of the new branch was taken for the old branch's."""
    opened(store)
    hand_over([*turn(1), user("drop the table"), assistant("done")], store)

    hand_over([*turn(1), user("keep the table"), assistant("done")], store)

    added = [user("keep the table"), assistant("done")]
    assert stored_keys(store) == keys([*turn(1), user("drop the table"), assistant("done"), *added])


def test_a_tail_of_repeated_turns_is_told_from_new_ones_by_uids(store: Store) -> None:
    opened(store)
    rows = weird.with_uids([user("ok"), assistant("done")] * 10)
    hand_over(rows[:16], store)

    hand_over([SUMMARY, *rows[10:]], store)

    assert stored_keys(store) == keys(rows)


def test_a_pruned_tool_result_with_a_known_uid_is_not_stored_again(store: Store) -> None:
    opened(store)
    rows = weird.with_uids([user("read"), *weird.batch(1), assistant("read")])
    hand_over(rows, store)

    pruned = [{**row, "content": "[old output cleared]"} if row["role"] == "tool" else row for row in rows]
    new = {**user("and now?"), "message_uid": "new"}
    hand_over([*pruned, new], store)

    assert stored_keys(store) == keys([*rows, new])


def test_a_users_edit_with_a_known_uid_is_stored_once(store: Store) -> None:
    """The edit of one of the newest rows went unseen, and an edit seen beside its first version was stored anew."""
    opened(store)
    rows = weird.with_uids(talk(1, 2))
    hand_over(rows, store)

    edited = [{**rows[0]}, rows[1], {**rows[2], "content": "question 2, in other words"}, rows[3]]
    for transcript in (edited, rows, edited):
        hand_over(transcript, store)

    assert stored_keys(store) == [*keys(rows), key_of(edited[2])]


def test_a_row_that_merges_known_rows_is_not_stored_again(store: Store) -> None:
    opened(store)
    first, second = weird.with_uids([user("a"), user("b")])
    hand_over([first, second, {**assistant("c"), "message_uid": "u3"}], store)

    merged = {**first, "content": "a\nb", "_absorbed_message_uids": ["uid0001"]}
    hand_over([merged, {**assistant("c"), "message_uid": "u3"}, {**user("d"), "message_uid": "u4"}], store)

    assert stored_keys(store) == keys([user("a"), user("b"), assistant("c"), user("d")])


def test_a_row_gets_its_uid_late_and_stays_the_same_row(store: Store) -> None:
    opened(store)
    rows = talk(1, 2, 3)
    hand_over(rows[:4], store)

    hand_over(weird.with_uids(rows), store)
    hand_over(weird.with_uids(rows), store)

    assert stored_keys(store) == keys(rows)


def test_summaries_notices_and_own_frames_are_passed_over(store: Store) -> None:
    opened(store)
    rows = [
        SUMMARY,
        {**user("short"), "_compressed_summary": True},
        {**user("model changed"), "display_kind": "notice"},
        {"role": "system", "content": "be brief"},
        *turn(1),
    ]

    hand_over(rows, store)

    assert stored_keys(store) == keys(turn(1))


def test_a_faster_writer_is_seen_and_nothing_is_stored_twice() -> None:
    class Raced(FakeStore):
        """A store into which another process writes turn 1 first, once."""

        def add_turns(self, conversation_id: int, turns: Sequence[Turn], **more: Any) -> tuple[int, ...] | None:
            if not self.known(conversation_id):
                super().add_turns(conversation_id, turns[:1], behind=None)
            return super().add_turns(conversation_id, turns, **more)

    store = Raced()
    opened(store)

    hand_over(talk(1, 2), store)

    assert stored_keys(store) == keys(talk(1, 2))


def test_secrets_are_replaced_before_anything_is_written(store: Store) -> None:
    opened(store)
    secrets = list(weird.SECRETS.values())
    arguments = '{"password": "two words"}'
    rows = [user(f"keys: {' '.join(secrets)}"), weird.calls(weird.call(arguments=arguments)), weird.result()]

    done = hand_over(rows, store)

    written = "".join(message.text for message in messages_of(store))
    assert not [secret for secret in (*secrets, "two words") if secret in written]
    assert done.redactions == len(secrets) + 1
    assert store.stats(IDENTITY).redactions == len(secrets) + 1


def test_without_redaction_every_word_is_kept(store: Store) -> None:
    opened(store)

    done = hand_over([user("password=hunter22")], store, redacts=False)

    assert messages_of(store)[0].text == "password=hunter22"
    assert done.redactions == 0


def test_no_picture_is_written_in_any_shape(store: Store) -> None:
    opened(store)
    hand_over(weird.image_rows(), store)

    assert not [message for message in messages_of(store) if weird.BASE64[:40] in message.text]
    for row in weird.image_rows():
        message, _ = ingest.read_row(row, counter=WordCounter(), redacts=True, said_at=None)
        assert weird.BASE64[:40] not in message.payload


@pytest.mark.parametrize("stamp", [None, True, "2024-01-01", float("nan"), float("inf"), 10**400, -5, 1.7e12])
def test_a_stamp_that_is_no_time_counts_as_none(stamp: object) -> None:
    row = user("when?", timestamp=stamp)

    message, _ = ingest.read_row(row, counter=WordCounter(), redacts=True, said_at=99.0)

    assert message.said_at == 99.0


def test_a_live_turn_has_the_time_and_a_late_history_has_none(store: Store) -> None:
    opened(store)
    hand_over(talk(1, 2), store, said_at=500.0)
    hand_over(talk(1, 2, 3), store, said_at=900.0)
    hand_over([*talk(1, 2, 3), user("q", timestamp=700)], store, said_at=950.0)

    assert [message.said_at for message in messages_of(store)] == [None] * 4 + [900.0, 900.0, 700.0]


# Which conversation a transcript belongs to.


def located(rows: Sequence[Row], expected: int | None, store: Store, *, is_fresh: bool = False) -> int | None:
    return ingest.locate(rows, expected, owner="", store=store, is_fresh=is_fresh)


@given(st.integers(1, 12), st.integers(1, 12), st.booleans())
def test_a_transcript_of_another_conversation_never_lands_in_the_expected_one(
    own: int, other: int, is_stored: bool
) -> None:
    store = FakeStore()
    mine, theirs = opened(store, "mine"), opened(store, "theirs")
    hand_over(talk(*range(own)), store, mine)
    strangers = talk(*range(100, 100 + other))
    if is_stored:
        hand_over(strangers, store, theirs)

    assert located(strangers, mine, store) == (theirs if is_stored else None)
    assert located(talk(*range(own)), mine, store) == mine


def test_a_shared_greeting_does_not_outweigh_the_rest(store: Store) -> None:
    """Two matching rows were enough for the expected conversation, however many the other one held."""
    mine, theirs = opened(store, "mine"), opened(store, "theirs")
    greeting = [user("hi"), assistant("Hello! How can I help?")]
    hand_over([*greeting, *talk(1, 2, 3)], store, mine)
    hand_over([*greeting, *talk(7, 8, 9)], store, theirs)

    assert located([*greeting, *talk(7, 8, 9)], mine, store) == theirs
    assert located([*greeting, *talk(1, 2, 3)], mine, store) == mine
    assert located(greeting, mine, store) == mine
    assert located(greeting, theirs, store) == theirs


def test_uids_decide_before_content(store: Store) -> None:
    mine, theirs = opened(store, "mine"), opened(store, "theirs")
    hand_over(weird.with_uids(talk(1, 2), "mine{}".format), store, mine)
    hand_over(weird.with_uids(talk(1, 2), "theirs{}".format), store, theirs)

    assert located(weird.with_uids(talk(1, 2), "theirs{}".format), mine, store) == theirs
    assert located(weird.with_uids(talk(1, 2), "nobodys{}".format), mine, store) is None


def test_an_empty_transcript_after_history_is_a_stranger(store: Store) -> None:
    mine = opened(store, "mine")
    hand_over(talk(1), store, mine)

    assert located([], mine, store) is None
    assert located([SUMMARY], mine, store) is None
    assert located([], mine, store, is_fresh=True) == mine


def test_a_conversation_without_messages_takes_what_comes(store: Store) -> None:
    mine = opened(store, "mine")

    assert located(talk(1), mine, store) == mine
    assert located(talk(1), None, store) is None


def test_another_owners_conversation_is_never_found(store: Store) -> None:
    mine = store.open_conversation("me", "s")
    theirs = store.open_conversation("them", "s")
    hand_over(talk(1), store, mine)
    hand_over(talk(2), store, theirs)

    assert ingest.locate(talk(2), mine, owner="me", store=store, is_fresh=False) is None


def test_a_compacted_transcript_is_found_by_its_tail(store: Store) -> None:
    mine = opened(store, "mine")
    hand_over(talk(*range(30)), store, mine)

    assert located([SUMMARY, *talk(28, 29)], mine, store) == mine


def test_a_stranger_has_the_same_name_each_time() -> None:
    name = ingest.name_of_stranger("s1", [SUMMARY, *talk(4)])

    assert name == ingest.name_of_stranger("s1", [*talk(4, 5)])
    assert name != ingest.name_of_stranger("s1", talk(5))
    assert name.startswith("s1#")


# Embedding.


class CountingEmbedder:
    """An Embedder that gives a drawn unit vector for each text and notes what it was given."""

    identity = IDENTITY

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_texts(self, texts: Sequence[str]) -> Any:
        self.texts += texts
        return make_vectors(len(texts))

    def embed_query(self, text: str) -> Any:
        return make_vectors(1)[0]


def test_what_waits_is_embedded_in_batches_until_nothing_does(store: Store) -> None:
    opened(store)
    hand_over(talk(*range(5)), store)
    embedder = CountingEmbedder()

    counts = list(itertools.takewhile(bool, (ingest.embed_pending(store, embedder, 4) for _ in range(9))))

    assert counts == [4, 4, 2]
    assert embedder.texts == [str(row["content"]) for row in talk(*range(5))]
    assert store.pending_count(IDENTITY) == 0


def test_a_failed_batch_waits_for_the_next_try(store: Store) -> None:
    class Broken(CountingEmbedder):
        def embed_texts(self, texts: Sequence[str]) -> Any:
            raise RuntimeError("out of memory")

    opened(store)
    hand_over(talk(1), store)

    with pytest.raises(RuntimeError):
        ingest.embed_pending(store, Broken())

    assert store.pending_count(IDENTITY) == 2
    assert ingest.embed_pending(store, CountingEmbedder()) == 2


def test_every_odd_message_is_stored_and_embedded(store: Store) -> None:
    """One message that cannot be read would stop the conversation's storing for good."""
    opened(store)
    rows = [*weird.odd_rows(), weird.huge_row("word ")]

    hand_over(rows, store)
    while ingest.embed_pending(store, CountingEmbedder(), 1000):
        pass

    assert stored_keys(store) == keys(rows)
