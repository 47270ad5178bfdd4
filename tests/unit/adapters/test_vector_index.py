"""What every vector index owes its callers."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import IDENTITY, append_with_vectors, make_turn, make_vectors, pending_ids
from tests.fakes.store import FakeStore
from tests.fakes.vector_index import FakeVectorIndex
from vecctx.adapters.faiss_index import FaissIndex
from vecctx.ports import Store, VectorIndex
from vecctx.values import Hit, Identity

if TYPE_CHECKING:
    from vecctx.values import FloatArray

MakeIndex: TypeAlias = Callable[[Store], VectorIndex]


@pytest.fixture(params=["faiss", "faiss with files", "fake"])
def make_index(request: pytest.FixtureRequest, tmp_path: Path) -> MakeIndex:
    if request.param == "fake":
        return lambda store: FakeVectorIndex(store, IDENTITY)
    least = 1 if request.param == "faiss with files" else 1_000_000
    return lambda store: FaissIndex(store, IDENTITY, tmp_path / "index", vectors_worth_a_file=least)


def axis(number: int) -> "FloatArray":
    row: FloatArray = np.eye(IDENTITY.dimensions, dtype=np.float32)[number]
    return row


def texts_of(store: Store, hits: tuple[Hit, ...]) -> list[str]:
    places = store.places([hit.chunk_id for hit in hits])
    return [places[hit.chunk_id].message.text for hit in hits]


def test_hits_are_best_first_with_their_inner_products(store: Store, make_index: MakeIndex) -> None:
    rows = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0.6, 0.8, 0, 0], [-1, 0, 0, 0]], dtype=np.float32)
    conversation_id = append_with_vectors(store, "s1", rows)

    hits = make_index(store).search([conversation_id], axis(0), 10)

    assert texts_of(store, hits) == ["1", "2", "0", "3"]
    assert [hit.score for hit in hits] == pytest.approx([1, 0.6, 0, -1], abs=1e-3)


def test_hits_equal_those_of_comparing_with_everything(store: Store, make_index: MakeIndex) -> None:
    conversation_id = append_with_vectors(store, "s1", make_vectors(500))
    index, exact = make_index(store), FakeVectorIndex(store, IDENTITY)

    for query in make_vectors(20, seed=1):
        found, expected = (searched.search([conversation_id], query, 50) for searched in (index, exact))
        assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=2e-6)
        assert {hit.chunk_id for hit in found[:40]} <= {hit.chunk_id for hit in expected}


def test_ties_go_to_the_earlier_chunk_whatever_the_order_of_commits(store: Store, make_index: MakeIndex) -> None:
    conversation_id = store.open_conversation("ann", "s1")
    store.add_turns(conversation_id, [make_turn(str(number)) for number in range(200)], behind=None)
    ids = pending_ids(store)
    store.add_vectors(IDENTITY, ids[::-1], np.tile(axis(1), (200, 1)))

    hits = make_index(store).search([conversation_id], axis(1), 5)

    assert [hit.chunk_id for hit in hits] == ids[:5]


def test_other_conversations_are_filtered_before_the_limit(store: Store, make_index: MakeIndex) -> None:
    mine = append_with_vectors(store, "mine", np.array([[0.6, 0.8, 0, 0]], dtype=np.float32))
    theirs = append_with_vectors(store, "theirs", np.tile(axis(0), (30, 1)))
    index = make_index(store)

    assert [hit.score for hit in index.search([mine], axis(0), 1)] == pytest.approx([0.6], abs=1e-3)
    assert len(index.search([mine, theirs, theirs], axis(0), 99)) == 31
    assert index.search([], axis(0), 5) == ()
    assert index.search([999], axis(0), 5) == ()


def test_what_was_committed_since_is_found(store: Store, make_index: MakeIndex) -> None:
    conversation_id = append_with_vectors(store, "s1", make_vectors(3))
    index = make_index(store)
    index.search([conversation_id], axis(0), 5)

    append_with_vectors(store, "s1", axis(0).reshape(1, -1))

    assert len(index.search([conversation_id], axis(0), 9)) == 4
    assert index.search([conversation_id], axis(0), 1)[0].score == 1


def test_vectors_of_another_identity_are_not_found(store: Store, make_index: MakeIndex) -> None:
    other = Identity("other", "1", IDENTITY.dimensions)
    conversation_id = append_with_vectors(store, "s1", make_vectors(3), other)

    assert make_index(store).search([conversation_id], axis(0), 9) == ()


def test_a_zero_row_is_no_hit(store: Store, make_index: MakeIndex) -> None:
    conversation_id = append_with_vectors(store, "s1", np.array([[0, 0, 0, 0], [0, 1, 0, 0]], dtype=np.float32))

    assert texts_of(store, make_index(store).search([conversation_id], axis(0), 9)) == ["1"]


@pytest.mark.parametrize("query", [np.zeros(4), np.full(4, np.nan), np.array([np.inf, 0, 0, 0])])
def test_a_question_without_a_direction_finds_nothing(store: Store, make_index: MakeIndex, query: "FloatArray") -> None:
    conversation_id = append_with_vectors(store, "s1", make_vectors(30))

    assert make_index(store).search([conversation_id], query.astype(np.float32), 5) == ()


@pytest.mark.parametrize("limit", [0, -1])
def test_no_limit_to_speak_of_finds_nothing(store: Store, make_index: MakeIndex, limit: int) -> None:
    conversation_id = append_with_vectors(store, "s1", make_vectors(3))

    assert make_index(store).search([conversation_id], axis(0), limit) == ()


def test_scores_never_pass_one(store: Store, make_index: MakeIndex) -> None:
    rows = make_vectors(50)
    conversation_id = append_with_vectors(store, "s1", rows * np.float32(1.001))
    index = make_index(store)

    for row in rows:
        assert index.search([conversation_id], -row, 99)[-1].score >= -1
        assert index.search([conversation_id], row, 1)[0].score <= 1


def test_the_same_question_gives_the_same_hits_again_and_elsewhere(store: Store, make_index: MakeIndex) -> None:
    conversation_id = append_with_vectors(store, "s1", make_vectors(300))
    query = make_vectors(1, seed=5)[0]
    index = make_index(store)
    first = index.search([conversation_id], query, 20)
    index.save()
    index.save()

    assert index.search([conversation_id], query, 20) == first
    assert make_index(store).search([conversation_id], query, 20) == first
    index.forget(conversation_id)
    assert index.search([conversation_id], query, 20) == first
    assert make_index(store).search([conversation_id], query, 20) == first


def test_forgetting_what_is_unknown_does_no_harm(store: Store, make_index: MakeIndex) -> None:
    index = make_index(store)
    index.forget(7)
    index.save()


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.sampled_from(["s1", "s2"]), st.integers(1, 5)),
        st.tuples(st.sampled_from(["search", "save", "forget", "reopen"]), st.sampled_from(["s1", "s2"]), st.just(0)),
    ),
    max_size=12,
)


@given(STEPS)
def test_any_order_of_steps_gives_what_comparing_with_everything_gives(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, str, int]]
) -> None:
    store, folder = FakeStore(), tmp_path_factory.mktemp("index")
    exact = FakeVectorIndex(store, IDENTITY)
    index = FaissIndex(store, IDENTITY, folder, vectors_worth_a_file=1, vectors_in_memory=3)
    # Few directions, so that there are ties.
    rows = np.repeat(np.eye(4, dtype=np.float32), 20, axis=0)
    np.random.default_rng(0).shuffle(rows)
    for number, (step, session, count) in enumerate(steps):
        conversation_id = store.open_conversation("ann", session)
        if step == "add":
            append_with_vectors(store, session, rows[number : number + count])
        elif step == "save":
            index.save()
        elif step == "forget":
            index.forget(conversation_id)
        elif step == "reopen":
            index = FaissIndex(store, IDENTITY, folder, vectors_worth_a_file=1, vectors_in_memory=3)
        scope = store.conversations_of("ann")
        assert index.search(scope, axis(number % 4), 3) == exact.search(scope, axis(number % 4), 3)
