"""Index files are believed only where they fit the store, and are written whole or not at all."""

import json
import logging
import os
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import faiss
import pytest

from tests.builders import IDENTITY, append_with_vectors, make_vectors
from tests.fakes.clock import FakeClock
from tests.fakes.store import FakeStore
from vecctx.adapters import faiss_files
from vecctx.adapters.faiss_index import FaissIndex
from vecctx.adapters.sqlite_store import SqliteStore
from vecctx.errors import StoreUnavailableError
from vecctx.values import Hit, Identity

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
    append_with_vectors(store, "s1", make_vectors(5, seed=1))

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
        append_with_vectors(store, "s1", make_vectors(10))
        append_with_vectors(store, "s1", make_vectors(10, seed=seed))
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
    append_with_vectors(store, "s1", make_vectors(1, seed=3))
    index.search([conversation_id], QUERY, 1)
    index.save()

    assert unchanged == before != path.stat().st_ino


def test_forgetting_deletes_every_file_of_the_conversation_and_no_other(
    store: SqliteStore, folder: Path, conversation_id: int
) -> None:
    index = open_index(store, folder)
    other = [append_with_vectors(store, f"s{number}", make_vectors(3)) for number in range(2, 13)]
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
    append_with_vectors(store, "s1", make_vectors(5, seed=1))

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
    append_with_vectors(store, "s1", make_vectors(1, seed=3))

    index = open_index(store, folder)
    index.search([conversation_id], QUERY, 1)
    index.save()

    assert {file.name for file in folder.iterdir()} == {path.name, under_way.name}
