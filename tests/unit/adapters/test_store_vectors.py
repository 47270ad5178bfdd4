"""What every store owes its callers: chunks wait for vectors, and vectors come back in order."""

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.builders import (
    IDENTITY,
    append,
    make_chunk,
    make_message,
    make_turn,
    make_vectors,
    pending_ids,
)
from vecctx.errors import StoreError
from vecctx.ports import Store
from vecctx.values import Chunk, Identity, Turn

if TYPE_CHECKING:
    from vecctx.values import FloatArray

OTHER_IDENTITY = Identity(model="other", revision="1", dimensions=4)


def test_chunks_are_pending_until_they_have_a_vector(store: Store) -> None:
    conversation_id = store.open_conversation("ann", "s1")
    append(store, conversation_id, make_turn("one", "two"), make_turn("three"))
    ids = pending_ids(store)

    store.add_vectors(IDENTITY, ids[:2], make_vectors(2))

    assert pending_ids(store) == ids[2:]
    assert store.pending_count(IDENTITY) == 1
    assert store.pending_count(OTHER_IDENTITY) == 3
    assert store.pending(IDENTITY, 0) == ()


def test_pending_chunks_come_oldest_first_across_conversations(store: Store) -> None:
    first, second = (store.open_conversation("ann", session) for session in ("s1", "s2"))
    append(store, second, make_turn("one"))
    append(store, first, make_turn("two"))
    append(store, second, make_turn("three"))

    assert [chunk.text for chunk in store.pending(IDENTITY, 2)] == ["one", "two"]


def test_vectors_out_of_order_leave_the_gap_pending(store: Store) -> None:
    conversation_id = store.open_conversation("ann", "s1")
    append(store, conversation_id, *(make_turn(text) for text in ("one", "two", "three")))
    ids = pending_ids(store)

    store.add_vectors(IDENTITY, [ids[1]], make_vectors(1))
    append(store, conversation_id, make_turn("four"))

    assert [chunk.text for chunk in store.pending(IDENTITY, 9)] == ["one", "three", "four"]


def test_a_pending_chunk_brings_the_text_around_it(store: Store) -> None:
    conversation_id = store.open_conversation("ann", "s1")
    text = "hello there"
    long = make_message(text, chunks=(Chunk(0, 6, ("hello",)), make_chunk(text, 6)))
    append(store, conversation_id, make_turn("one", "two"), Turn((long, make_message("reply", "assistant"))))

    chunks = store.pending(IDENTITY, 9)

    assert [chunk.text for chunk in chunks] == ["one", "two", "hello ", "there", "reply"]
    assert [chunk.before for chunk in chunks] == ["", "one", "two", "two", text]
    assert [chunk.after for chunk in chunks] == ["two", "", "reply", "reply", ""]
    assert [chunk.role for chunk in chunks] == ["user", "assistant", "user", "user", "assistant"]


def test_vectors_come_back_in_the_order_of_commits(store: Store) -> None:
    conversation_id = store.open_conversation("ann", "s1")
    append(store, conversation_id, *(make_turn(text) for text in ("one", "two", "three")))
    ids, vectors = pending_ids(store), make_vectors(3)
    store.add_vectors(IDENTITY, [ids[2], ids[0]], vectors[[2, 0]])
    first = store.vectors_since(conversation_id, IDENTITY, 0)
    store.add_vectors(IDENTITY, [ids[1]], vectors[[1]])

    second = store.vectors_since(conversation_id, IDENTITY, first.sequence)

    assert first.chunk_ids.tolist() == [ids[2], ids[0]]
    assert second.chunk_ids.tolist() == [ids[1]]
    np.testing.assert_allclose(first.vectors, vectors[[2, 0]], atol=1e-3)
    assert (str(first.vectors.dtype), str(first.chunk_ids.dtype)) == ("float32", "int64")
    assert second.generation == first.generation


def test_nothing_new_is_an_empty_batch_at_the_same_place(store: Store) -> None:
    conversation_id = store.open_conversation("ann", "s1")

    batch = store.vectors_since(conversation_id, IDENTITY, 7)

    assert (batch.sequence, batch.vectors.shape, batch.chunk_ids.shape) == (7, (0, 4), (0,))


def test_zero_rows_are_done_but_never_given_out(store: Store) -> None:
    conversation_id = store.open_conversation("ann", "s1")
    append(store, conversation_id, make_turn("one", "two"))
    ids = pending_ids(store)

    store.add_vectors(IDENTITY, ids, np.array([[1, 0, 0, 0], [0, 0, 0, 0]], dtype=np.float32))

    batch = store.vectors_since(conversation_id, IDENTITY, 0)
    assert batch.chunk_ids.tolist() == ids[:1]
    assert store.pending_count(IDENTITY) == 0
    assert store.vectors_since(conversation_id, IDENTITY, batch.sequence).chunk_ids.tolist() == []


def test_a_chunk_that_has_a_vector_keeps_it_and_an_unknown_one_is_passed_over(store: Store) -> None:
    conversation_id = store.open_conversation("ann", "s1")
    append(store, conversation_id, make_turn("one"))
    ids, vectors = pending_ids(store), make_vectors(3)
    store.add_vectors(IDENTITY, ids, vectors[:1])

    store.add_vectors(IDENTITY, [*ids, ids[0] + 999], vectors[1:])

    batch = store.vectors_since(conversation_id, IDENTITY, 0)
    assert batch.chunk_ids.tolist() == ids
    np.testing.assert_allclose(batch.vectors, vectors[:1], atol=1e-3)


def test_vectors_of_another_identity_or_conversation_never_mix_in(store: Store) -> None:
    mine, theirs = store.open_conversation("ann", "s1"), store.open_conversation("bob", "s1")
    append(store, mine, make_turn("one"))
    append(store, theirs, make_turn("secret"))
    ids = pending_ids(store)
    store.add_vectors(IDENTITY, ids, make_vectors(2))

    assert store.vectors_since(mine, IDENTITY, 0).chunk_ids.tolist() == ids[:1]
    assert store.vectors_since(mine, OTHER_IDENTITY, 0).chunk_ids.tolist() == []


@pytest.mark.parametrize("vectors", [make_vectors(2), make_vectors(1, dimensions=3), make_vectors(1) * np.nan])
def test_vectors_that_do_not_fit_are_refused(store: Store, vectors: "FloatArray") -> None:
    conversation_id = store.open_conversation("ann", "s1")
    append(store, conversation_id, make_turn("one"))

    with pytest.raises(StoreError, match="finite"):
        store.add_vectors(IDENTITY, pending_ids(store), vectors)

    assert store.pending_count(IDENTITY) == 1


def test_the_mark_names_the_vectors_up_to_a_place(store: Store) -> None:
    conversation_id = store.open_conversation("ann", "s1")
    append(store, conversation_id, make_turn("one", "two"))
    ids = pending_ids(store)
    empty = store.vectors_mark(conversation_id, IDENTITY, 99)
    store.add_vectors(IDENTITY, ids[:1], make_vectors(1))
    place = store.vectors_since(conversation_id, IDENTITY, 0).sequence
    before = store.vectors_mark(conversation_id, IDENTITY, place)
    store.add_vectors(IDENTITY, ids[1:], make_vectors(1))

    assert store.vectors_mark(conversation_id, IDENTITY, place) == before
    assert len({empty, before, store.vectors_mark(conversation_id, IDENTITY, place + 1)}) == 3
