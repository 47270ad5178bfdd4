"""What the SQLite store promises beyond its port: many threads, processes and forks at once."""

import copy
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.builders import IDENTITY, append, make_message, make_selection, make_turn, make_vectors, pending_ids
from tests.fakes.clock import FakeClock
from vecctx.adapters import sqlite_writing
from vecctx.adapters.sqlite_store import SqliteStore
from vecctx.errors import StoreError
from vecctx.values import Turn

ROOT = Path(__file__).parents[3]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def store(path: Path) -> Iterator[SqliteStore]:
    with SqliteStore(path, FakeClock()) as opened:
        yield opened


def texts_in(store: SqliteStore, conversation_id: int) -> list[str]:
    ids = [known.message_id for known in store.known(conversation_id)]
    return [message.text for message in store.messages([conversation_id], ids)]


def test_what_was_committed_is_there_when_it_is_opened_again(path: Path) -> None:
    with SqliteStore(path, FakeClock()) as store:
        conversation_id = store.open_conversation("ann", "s1")
        append(store, conversation_id, make_turn("one", "two"))
        store.add_vectors(IDENTITY, pending_ids(store), make_vectors(2))
        before = store.vectors_since(conversation_id, IDENTITY, 0)

    with SqliteStore(path, FakeClock()) as store:
        after = store.vectors_since(conversation_id, IDENTITY, 0)
        assert texts_in(store, store.open_conversation("ann", "s1")) == ["one", "two"]

    assert after.vectors.tobytes() == before.vectors.tobytes()
    assert after.chunk_ids.tolist() == before.chunk_ids.tolist()


def test_turns_are_committed_all_or_none(store: SqliteStore) -> None:
    conversation_id = store.open_conversation("ann", "s1")
    unwritable: Any = object()

    with pytest.raises(StoreError):
        store.add_turns(
            conversation_id, [make_turn("one"), Turn((make_message("two", said_at=unwritable),))], behind=None
        )

    assert store.known(conversation_id) == ()
    assert store.stats(IDENTITY).turns == 0
    assert store.check() == ()


def test_another_store_on_the_same_file_sees_commits_at_once(store: SqliteStore, path: Path) -> None:
    conversation_id = store.open_conversation("ann", "s1")
    with SqliteStore(path, FakeClock()) as other:
        append(other, conversation_id, make_turn("from the other"))
        append(store, conversation_id, make_turn("from this one"))

        assert texts_in(store, conversation_id) == texts_in(other, conversation_id)


def test_eight_threads_read_while_one_writes(store: SqliteStore) -> None:
    conversation_id = store.open_conversation("ann", "s1")
    is_written = threading.Event()

    def write() -> None:
        for number in range(100):
            append(store, conversation_id, make_turn(f"question {number}", f"answer {number}"))
        is_written.set()

    def read() -> int:
        longest = 0
        while not is_written.is_set():
            known = store.known(conversation_id)
            # A turn is two messages: half a turn is never seen.
            assert len(known) % 2 == 0
            assert len(known) >= longest
            longest = len(known)
            store.word_scores([conversation_id], ["question"], 10)
        return longest

    with ThreadPoolExecutor(9) as pool:
        readers = [pool.submit(read) for _ in range(8)]
        pool.submit(write).result()
        for reader in readers:
            reader.result()

    assert len(store.known(conversation_id)) == 200
    assert store.check() == ()


def test_threads_that_write_at_once_lose_nothing(store: SqliteStore) -> None:
    conversation_id = store.open_conversation("ann", "s1")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda number: append(store, conversation_id, make_turn(str(number))), range(40)))

    assert sorted(map(int, texts_in(store, conversation_id))) == list(range(40))
    assert store.check() == ()


def test_threads_that_open_the_same_session_at_once_get_one_conversation(store: SqliteStore) -> None:
    with ThreadPoolExecutor(8) as pool:
        numbers = set(pool.map(lambda _: store.open_conversation("ann", "s1"), range(8)))

    assert len(numbers) == 1
    assert len(store.conversations_of("ann")) == 1


WRITE_WITH_OTHERS = """
import json, sys
from pathlib import Path
from tests.fakes.clock import FakeClock
from tests.builders import append, make_turn
from vecctx.adapters.sqlite_store import SqliteStore

print("ready", flush=True)
sys.stdin.readline()
with SqliteStore(Path(sys.argv[1]), FakeClock()) as store:
    conversation_id = store.open_conversation("ann", "s1")
    turns = [make_turn(f"{sys.argv[2]} {number}", "reply") for number in range(50)]
    print(json.dumps([append(store, conversation_id, turn) for turn in turns]))
"""


def test_processes_that_make_and_write_a_store_at_once_lose_nothing(path: Path) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE_WITH_OTHERS, str(path), name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )
        for name in ("first", "second")
    ]
    # All are loaded before any begins, so that they meet.
    assert [writer.stdout.readline() for writer in writers if writer.stdout] == ["ready\n"] * 2
    for writer in writers:
        assert writer.stdin
        writer.stdin.write("go\n")
        writer.stdin.flush()
    answers = [writer.communicate()[0] for writer in writers]

    accepted = sorted(number for answer in answers for pair in json.loads(answer) for number in pair)
    with SqliteStore(path, FakeClock()) as store:
        conversation_id = store.open_conversation("ann", "s1")
        stored = [known.message_id for known in store.known(conversation_id)]
        texts = texts_in(store, conversation_id)
        assert store.check() == ()
    assert stored == accepted
    assert texts[1::2] == ["reply"] * 100
    for name in ("first", "second"):
        assert [text for text in texts if text.startswith(name)] == [f"{name} {number}" for number in range(50)]


DIE_BETWEEN_TRANSACTIONS = """
import os, signal, sys
from pathlib import Path
from tests.fakes.clock import FakeClock
from tests.builders import append, make_turn
from vecctx.adapters.sqlite_store import SqliteStore

store = SqliteStore(Path(sys.argv[1]), FakeClock())
append(store, store.open_conversation("ann", "s1"), make_turn("accepted", "reply"))
with store._connections.writing() as connection:
    connection.execute("DELETE FROM messages")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_process_that_is_killed_leaves_what_it_committed_and_nothing_else(path: Path) -> None:
    subprocess.run([sys.executable, "-c", DIE_BETWEEN_TRANSACTIONS, str(path)], check=False, cwd=ROOT)

    with SqliteStore(path, FakeClock()) as store:
        assert texts_in(store, store.open_conversation("ann", "s1")) == ["accepted", "reply"]
        assert store.check() == ()


OPEN_AND_CLOSE = """
import sys
from pathlib import Path
from tests.fakes.clock import FakeClock
from vecctx.adapters.sqlite_store import SqliteStore

for _ in range(200):
    with SqliteStore(Path(sys.argv[1]), FakeClock()) as store:
        store.known(1)
"""


def test_a_store_that_is_opened_and_closed_beside_a_writer_does_no_harm(store: SqliteStore, path: Path) -> None:
    """A descriptor of the file opened beside SQLite would drop its locks when it is closed, and ruin the log."""
    conversation_id = store.open_conversation("ann", "s1")
    visitor = subprocess.Popen([sys.executable, "-c", OPEN_AND_CLOSE, str(path)], cwd=ROOT)
    count = 0
    while visitor.poll() is None:
        append(store, conversation_id, make_turn(str(count)))
        with SqliteStore(path, FakeClock()) as other:
            other.known(conversation_id)
        count += 1

    assert visitor.returncode == 0
    assert texts_in(store, conversation_id) == [str(number) for number in range(count)]
    assert store.check() == ()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are a thing of Unix")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_children_forked_amid_reads_and_writes_can_write_and_so_can_the_parent(store: SqliteStore) -> None:
    """A child inherits SQLite's notes on locks that threads of the parent held, and would wait for them for ever."""
    conversation_id = store.open_conversation("ann", "s1")
    is_done = threading.Event()

    def keep_busy() -> None:
        while not is_done.is_set():
            append(store, conversation_id, make_turn("parent"))
            texts_in(store, conversation_id)

    statuses = []
    with ThreadPoolExecutor(2) as pool:
        busy = [pool.submit(keep_busy) for _ in range(2)]
        for _ in range(20):
            child = os.fork()
            if not child:
                status = 1
                signal.alarm(30)  # rather than wait for ever
                with suppress(BaseException):
                    append(store, conversation_id, make_turn("child"))
                    store.close()
                    status = 0
                os._exit(status)
            statuses.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        is_done.set()
        for thread in busy:
            thread.result()

    assert statuses == [0] * 20
    assert texts_in(store, conversation_id).count("child") == 20
    assert store.check() == ()


def test_a_store_is_shared_and_never_copied(store: SqliteStore) -> None:
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="shared"):
            duplicate(store)


def test_only_the_newest_selections_of_a_conversation_are_kept(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_writing, "NEWEST_SELECTIONS", 3)
    mine, theirs = store.open_conversation("ann", "s1"), store.open_conversation("bob", "s1")
    other = store.record_selection(make_selection(theirs))

    numbers = [store.record_selection(make_selection(mine)) for _ in range(5)]

    assert [store.selection(number) is not None for number in numbers] == [False, False, True, True, True]
    assert store.selection(other) is not None


def test_the_size_on_disk_is_told(store: SqliteStore, path: Path) -> None:
    assert store.path == path
    assert store.stats(IDENTITY).bytes_on_disk >= path.stat().st_size


def test_opening_loads_neither_numpy_nor_faiss() -> None:
    program = """
import sys
import vecctx.adapters.faiss_index, vecctx.adapters.sqlite_store
print(sorted({"numpy", "faiss"} & set(sys.modules)))
"""

    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT)

    assert loaded.stdout == "[]\n"
