"""What the FAISS index promises beyond its port: threads, forks, memory."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import faiss
import pytest

from tests.builders import IDENTITY, append_with_vectors, make_vectors
from tests.fakes.clock import FakeClock
from tests.fakes.store import FakeStore
from vecctx.adapters.faiss_index import FaissIndex
from vecctx.adapters.faiss_partition import one_thread
from vecctx.adapters.sqlite_store import SqliteStore
from vecctx.values import Hit, Identity

ROOT = Path(__file__).parents[3]
QUERY = make_vectors(1, seed=9)[0]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(tmp_path / "store.db", FakeClock()) as opened:
        yield opened


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "index"


@pytest.fixture
def conversation_id(store: SqliteStore) -> int:
    return append_with_vectors(store, "s1", make_vectors(50))


def open_index(store: SqliteStore | FakeStore, folder: Path, identity: Identity = IDENTITY) -> FaissIndex:
    return FaissIndex(store, identity, folder, vectors_worth_a_file=1)


def search(store: SqliteStore, folder: Path, conversation_id: int) -> tuple[Hit, ...]:
    """Hits of an index that was just opened."""
    return open_index(store, folder).search([conversation_id], QUERY, 20)


def test_partitions_used_longest_ago_are_let_go(store: SqliteStore, folder: Path) -> None:
    conversations = [append_with_vectors(store, f"s{number}", make_vectors(10)) for number in range(4)]
    index = FaissIndex(store, IDENTITY, folder, vectors_in_memory=25)

    for number in (0, 1, 0, 2):
        index.search([conversations[number]], QUERY, 1)

    assert list(index._partitions) == [conversations[0], conversations[2]]


def test_a_partition_larger_than_the_memory_still_answers(
    store: SqliteStore, folder: Path, conversation_id: int
) -> None:
    index = FaissIndex(store, IDENTITY, folder, vectors_in_memory=5)

    assert len(index.search([conversation_id], QUERY, 99)) == 50


def test_the_thread_counts_of_others_stay_as_they_are() -> None:
    before = faiss.omp_get_max_threads()

    with one_thread():
        assert faiss.omp_get_max_threads() == 1
        with ThreadPoolExecutor(1) as pool:
            assert pool.submit(faiss.omp_get_max_threads).result() == before

    assert faiss.omp_get_max_threads() == before


def test_hits_do_not_depend_on_the_number_of_threads(store: SqliteStore, folder: Path, conversation_id: int) -> None:
    expected = search(store, folder, conversation_id)
    before = faiss.omp_get_max_threads()
    try:
        faiss.omp_set_num_threads(8)
        assert search(store, folder, conversation_id) == expected
    finally:
        faiss.omp_set_num_threads(before)


def test_searches_beside_additions_saves_and_forgetting_neither_crash_nor_lie(store: SqliteStore, folder: Path) -> None:
    """FAISS without a lock crashed the process ten times of ten here."""
    conversation_id = append_with_vectors(store, "s1", make_vectors(500))
    index = open_index(store, folder)
    is_done = threading.Event()

    def keep_searching() -> None:
        longest = 0
        while not is_done.is_set():
            hits = index.search([conversation_id], QUERY, 10_000)
            assert len(hits) == len({hit.chunk_id for hit in hits}) >= longest
            longest = len(hits)

    def keep_changing() -> None:
        for seed in range(20):
            append_with_vectors(store, "s1", make_vectors(20, seed=seed))
            index.save()
            index.forget(conversation_id)

    with ThreadPoolExecutor(5) as pool:
        searching = [pool.submit(keep_searching) for _ in range(4)]
        try:
            pool.submit(keep_changing).result()
        finally:
            is_done.set()
        for thread in searching:
            thread.result()

    assert len(index.search([conversation_id], QUERY, 10_000)) == 900


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are a thing of Unix")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_searches_although_a_thread_of_its_parent_held_the_lock(
    store: SqliteStore, folder: Path, conversation_id: int
) -> None:
    index = open_index(store, folder)
    expected = index.search([conversation_id], QUERY, 20)

    with index._faiss_lock:
        child = os.fork()
        if not child:
            os._exit(0 if index.search([conversation_id], QUERY, 20) == expected else 1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


KEEP_SAVING = """
import sys
from pathlib import Path
from tests.fakes.clock import FakeClock
from tests.builders import append_with_vectors, make_vectors
from tests.unit.adapters.test_faiss_index import QUERY, open_index
from vecctx.adapters.sqlite_store import SqliteStore

with SqliteStore(Path(sys.argv[1]), FakeClock()) as store:
    index = open_index(store, Path(sys.argv[2]))
    for seed in range(100):
        append_with_vectors(store, "s1", make_vectors(1, seed=seed))
        index.search([1], QUERY, 1)
        index.save()
"""


def test_a_reader_beside_a_writing_process_sees_whole_files_only(
    store: SqliteStore, folder: Path, conversation_id: int, caplog: pytest.LogCaptureFixture
) -> None:
    writer = subprocess.Popen([sys.executable, "-c", KEEP_SAVING, str(store.path), str(folder)], cwd=ROOT)
    while writer.poll() is None:
        hits = open_index(store, folder).search([conversation_id], QUERY, 10_000)
        assert len(hits) >= 50

    assert writer.returncode == 0
    assert len(search(store, folder, conversation_id)) == 20
    assert len(open_index(store, folder).search([conversation_id], QUERY, 10_000)) == 150
    assert caplog.records == []
