"""What the FAISS index promises beyond its port: files that are believed only where they fit, threads, memory."""

import json
import logging
import os
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import faiss
import pytest

from tests.builders import IDENTITY, make_turn, make_vectors
from tests.fakes.clock import FakeClock
from tests.fakes.store import FakeStore
from vecctx.adapters import faiss_files
from vecctx.adapters.faiss_index import FaissIndex
from vecctx.adapters.faiss_partition import one_thread
from vecctx.adapters.sqlite_store import SqliteStore
from vecctx.errors import StoreUnavailableError
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
    return add_vectors(store, "s1", 50)


def add_vectors(store: SqliteStore | FakeStore, session: str, count: int, seed: int = 0) -> int:
    conversation_id = store.open_conversation("ann", session)
    newest = store.known(conversation_id, 1)
    turns = [make_turn(f"{number}") for number in range(count)]
    store.add_turns(conversation_id, turns, behind=newest[0].message_id if newest else None)
    chunk_ids = [chunk.chunk_id for chunk in store.pending(IDENTITY, count)]
    store.add_vectors(IDENTITY, chunk_ids, make_vectors(count, seed=seed))
    return conversation_id


def open_index(store: SqliteStore | FakeStore, folder: Path, identity: Identity = IDENTITY) -> FaissIndex:
    return FaissIndex(store, identity, folder, vectors_worth_a_file=1)


def search(store: SqliteStore, folder: Path, conversation_id: int) -> tuple[Hit, ...]:
    """Hits of an index that was just opened."""
    return open_index(store, folder).search([conversation_id], QUERY, 20)


def save(store: SqliteStore, folder: Path, conversation_id: int) -> Path:
    """The file of a conversation that was just written."""
    index = open_index(store, folder)
    index.search([conversation_id], QUERY, 1)
    index.save()
    (path,) = folder.iterdir()
    return path


def edit_header(path: Path, **changes: object) -> None:
    magic, header, payload = path.read_bytes().split(b"\n", 2)
    facts = {**json.loads(header), **changes}
    facts.pop("checksum")
    facts["checksum"] = faiss_files._checksum(facts, payload)
    path.write_bytes(b"\n".join((magic, json.dumps(facts).encode(), payload)))


def edit_payload(path: Path, payload: bytes) -> None:
    magic, header, _ = path.read_bytes().split(b"\n", 2)
    path.write_bytes(b"\n".join((magic, header, payload)))
    edit_header(path)


def flip_a_bit_of_a_vector(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-300] ^= 1
    path.write_bytes(bytes(content))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut to half": lambda path: path.write_bytes(path.read_bytes()[: path.stat().st_size // 2]),
    "cut by a byte": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"x"),
    "garbage": lambda path: path.write_bytes(b"\xff\x00garbage" * 100),
    "only magic": lambda path: path.write_bytes(b"vecctx index\n"),
    "a header that is no object": lambda path: path.write_bytes(b"vecctx index\n[]\n"),
    "a header that is no json": lambda path: path.write_bytes(b"vecctx index\n{\n"),
    "a header that lacks most": lambda path: path.write_bytes(b'vecctx index\n{"format": 1}\n'),
    "a bit flipped": flip_a_bit_of_a_vector,
    "a newer format": lambda path: edit_header(path, format=faiss_files.FORMAT + 1),
    "another conversation": lambda path: edit_header(path, conversation=77),
    "another model": lambda path: edit_header(path, identity="0123456789abcdef"),
    "another store's mark": lambda path: edit_header(path, mark="of another store"),
    "another sequence": lambda path: edit_header(path, sequence=7),
    "another count": lambda path: edit_header(path, count=7),
    "not FAISS": lambda path: edit_payload(path, b"not an index"),
    "FAISS of another kind": lambda path: edit_payload(path, faiss.serialize_index(faiss.IndexFlatIP(4)).tobytes()),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES.keys())
def test_a_file_that_does_not_fit_is_put_aside_and_rebuilt(
    store: SqliteStore,
    folder: Path,
    conversation_id: int,
    damage: Callable[[Path], object],
    caplog: pytest.LogCaptureFixture,
) -> None:
    expected = search(store, folder, conversation_id)
    path = save(store, folder, conversation_id)
    damage(path)
    damaged = path.read_bytes()

    index = open_index(store, folder)
    found = index.search([conversation_id], QUERY, 20)
    index.search([conversation_id], QUERY, 20)

    assert found == expected
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "rebuilt from the store" in caplog.text
    assert [file.name for file in folder.iterdir()] == [f"{path.name}.corrupt"]
    assert path.with_name(f"{path.name}.corrupt").read_bytes() == damaged
    index.save()
    assert search(store, folder, conversation_id) == expected
    assert len(caplog.records) == 1


def test_a_file_saves_reading_the_store(store: SqliteStore, folder: Path, conversation_id: int) -> None:
    save(store, folder, conversation_id)
    read: list[int] = []

    class Watched(FakeStore):
        def vectors_since(self, conversation: int, identity: Identity, sequence: int) -> object:  # type: ignore[override] # only passes on
            batch = store.vectors_since(conversation, identity, sequence)
            read.append(len(batch.chunk_ids))
            return batch

        def vectors_mark(self, conversation: int, identity: Identity, sequence: int) -> str:
            return store.vectors_mark(conversation, identity, sequence)

    index = open_index(Watched(), folder)

    assert len(index.search([conversation_id], QUERY, 99)) == 50
    assert read == [0]


def test_what_was_committed_after_the_file_was_written_is_found(
    store: SqliteStore, folder: Path, conversation_id: int, caplog: pytest.LogCaptureFixture
) -> None:
    save(store, folder, conversation_id)
    add_vectors(store, "s1", 5, seed=1)

    assert len(open_index(store, folder).search([conversation_id], QUERY, 99)) == 55
    assert caplog.records == []


def test_removed_chunks_are_gone_in_memory_and_in_files(store: SqliteStore, folder: Path, conversation_id: int) -> None:
    index = open_index(store, folder)
    best = index.search([conversation_id], QUERY, 3)
    index.save()
    with store._connections.writing() as connection:
        for hit in best[:2]:
            connection.execute("DELETE FROM vectors WHERE chunk_id = ?", (hit.chunk_id,))
        connection.execute("UPDATE conversations SET generation = generation + 1")

    for opened in (index, open_index(store, folder)):
        assert opened.search([conversation_id], QUERY, 1) == best[2:]


def test_a_store_put_back_from_a_backup_is_not_answered_with_later_vectors(tmp_path: Path) -> None:
    """The file knows a history that the store never had: the same numbers stand for other messages."""
    folder = tmp_path / "index"
    lost, restored = FakeStore(), FakeStore()
    for store, seed in ((lost, 1), (restored, 2)):
        add_vectors(store, "s1", 10)
        add_vectors(store, "s1", 10, seed=seed)
    index = open_index(lost, folder)
    index.search([1], QUERY, 1)
    index.save()

    found = open_index(restored, folder).search([1], QUERY, 20)

    assert found == open_index(restored, tmp_path / "none").search([1], QUERY, 20)


def test_files_are_private_and_nothing_else_is_left(store: SqliteStore, folder: Path, conversation_id: int) -> None:
    path = save(store, folder, conversation_id)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert path.name.startswith(f"{conversation_id}-")
    assert path.suffix == ".faiss"


def test_small_partitions_are_not_worth_a_file(store: SqliteStore, folder: Path, conversation_id: int) -> None:
    index = FaissIndex(store, IDENTITY, folder, vectors_worth_a_file=51)
    index.search([conversation_id], QUERY, 1)
    index.save()

    assert not folder.exists()


def test_a_file_is_written_again_only_when_there_is_more(
    store: SqliteStore, folder: Path, conversation_id: int
) -> None:
    path = save(store, folder, conversation_id)
    index = open_index(store, folder)
    index.search([conversation_id], QUERY, 1)
    before = path.stat().st_ino

    index.save()
    unchanged = path.stat().st_ino
    add_vectors(store, "s1", 1, seed=3)
    index.search([conversation_id], QUERY, 1)
    index.save()

    assert unchanged == before != path.stat().st_ino


def test_forgetting_deletes_every_file_of_the_conversation_and_no_other(
    store: SqliteStore, folder: Path, conversation_id: int
) -> None:
    index = open_index(store, folder)
    other = [add_vectors(store, f"s{number}", 3) for number in range(2, 13)]
    index.search([conversation_id, *other], QUERY, 1)
    index.save()
    for name in (f"{conversation_id}-old.faiss.corrupt", f"{conversation_id}-x.faiss.1.tmp"):
        (folder / name).touch()

    index.forget(conversation_id)

    assert sorted(int(path.name.split("-")[0]) for path in folder.iterdir()) == other


def test_a_file_that_cannot_be_deleted_is_told(store: SqliteStore, folder: Path, conversation_id: int) -> None:
    (folder / f"{conversation_id}-x.faiss").mkdir(parents=True)

    with pytest.raises(StoreUnavailableError, match="delete it by hand"):
        open_index(store, folder).forget(conversation_id)


def test_a_file_that_cannot_be_written_costs_a_warning_and_nothing_else(
    store: SqliteStore, folder: Path, conversation_id: int, caplog: pytest.LogCaptureFixture
) -> None:
    index = open_index(store, folder)
    expected = index.search([conversation_id], QUERY, 20)
    folder.write_text("in the way")

    index.save()

    assert [record.levelno for record in caplog.records] == [logging.WARNING]
    assert "reads the store instead" in caplog.text
    assert search(store, folder, conversation_id) == expected


@pytest.mark.parametrize("step", ["fsync", "replace"])
def test_a_write_that_fails_half_way_leaves_the_old_file(
    store: SqliteStore, folder: Path, conversation_id: int, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(store, folder, conversation_id)
    before = path.read_bytes()
    add_vectors(store, "s1", 5, seed=1)

    def fail(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(*(os, "fsync", fail) if step == "fsync" else (Path, "replace", fail))
    index = open_index(store, folder)
    index.search([conversation_id], QUERY, 1)
    index.save()

    assert [file.name for file in folder.iterdir()] == [path.name]
    assert path.read_bytes() == before


def test_only_what_a_crash_left_unfinished_is_cleared_away(
    store: SqliteStore, folder: Path, conversation_id: int
) -> None:
    path = save(store, folder, conversation_id)
    abandoned, under_way = (path.with_name(f"{path.name}.{name}.tmp") for name in ("abandoned", "under_way"))
    for file in (abandoned, under_way):
        file.touch()
    long_ago = time.time() - 2 * faiss_files._ABANDONED_SECONDS
    os.utime(abandoned, (long_ago, long_ago))
    add_vectors(store, "s1", 1, seed=3)

    index = open_index(store, folder)
    index.search([conversation_id], QUERY, 1)
    index.save()

    assert {file.name for file in folder.iterdir()} == {path.name, under_way.name}


def test_partitions_used_longest_ago_are_let_go(store: SqliteStore, folder: Path) -> None:
    conversations = [add_vectors(store, f"s{number}", 10) for number in range(4)]
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
    conversation_id = add_vectors(store, "s1", 500)
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
            add_vectors(store, "s1", 20, seed)
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


KEEP_SAVING = """
import sys
from pathlib import Path
from tests.fakes.clock import FakeClock
from tests.unit.adapters.test_faiss_index import QUERY, add_vectors, open_index
from vecctx.adapters.sqlite_store import SqliteStore

with SqliteStore(Path(sys.argv[1]), FakeClock()) as store:
    index = open_index(store, Path(sys.argv[2]))
    for seed in range(100):
        add_vectors(store, "s1", 1, seed)
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
