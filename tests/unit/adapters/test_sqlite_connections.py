import os
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from vecctx.adapters import sqlite_connections
from vecctx.adapters.sqlite_connections import IDLE_READERS, Connections
from vecctx.errors import StoreError, StoreNewerError, StoreUnavailableError


@pytest.fixture
def wide_umask() -> Iterator[None]:
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def narrow_umask() -> Iterator[None]:
    before = os.umask(0o777)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def check_that_all_is_private(path: Path) -> None:
    connections = Connections(path)
    with connections.writing() as connection:
        connection.execute("INSERT INTO conversations (owner) VALUES ('ann')")
    files = {file.name: mode_of(file) for file in path.parent.iterdir()}
    connections.close()

    assert files == {"store.db": 0o600, "store.db-wal": 0o600, "store.db-shm": 0o600}
    assert mode_of(path.parent) == mode_of(path.parent.parent) == 0o700


@pytest.mark.usefixtures("wide_umask")
def test_files_and_folders_are_private_under_a_wide_umask(tmp_path: Path) -> None:
    check_that_all_is_private(tmp_path / "new" / "folder" / "store.db")


@pytest.mark.usefixtures("narrow_umask")
def test_files_and_folders_are_usable_under_a_narrow_umask(tmp_path: Path) -> None:
    check_that_all_is_private(tmp_path / "new" / "folder" / "store.db")


def test_a_folder_that_was_there_keeps_its_rights(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)

    Connections(tmp_path / "store.db").close()

    assert mode_of(tmp_path) == 0o755


@pytest.mark.parametrize("name", ["what?.db", "50%25.db", "a#b.db", "blank name.db", "ünïcode🧵.db"])
def test_any_file_name_will_do(tmp_path: Path, name: str) -> None:
    Connections(tmp_path / name).close()

    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_empty_file_is_a_new_database(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    path.touch()

    Connections(path).close()

    assert path.stat().st_size > 0


def test_a_folder_is_no_database(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailableError, match="folder"):
        Connections(tmp_path)


def test_a_place_below_a_file_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreUnavailableError, match="another place"):
        Connections(tmp_path / "file" / "store.db")


def test_a_newer_database_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    Connections(path).close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 999")
    before = path.read_bytes()

    with pytest.raises(StoreNewerError):
        Connections(path)

    assert path.read_bytes() == before


def test_a_file_that_may_not_be_written_is_unavailable(tmp_path: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        Connections(path).close()
        path.chmod(0o444)
        Path(folder).chmod(0o555)
        # Rights do not bind root, so another user tries.
        outcome = subprocess.run(
            [sys.executable, "-c", OPEN_AS_NOBODY, str(path), str(tmp_path / "another.db")],
            capture_output=True,
            text=True,
            check=False,
        )
        Path(folder).chmod(0o700)

    assert outcome.stdout.strip() == "StoreUnavailableError", outcome.stderr


OPEN_AS_NOBODY = """
import os, sys
from pathlib import Path
from vecctx.adapters.sqlite_connections import Connections
if os.getuid() == 0:
    Connections(Path(sys.argv[2])).close()  # loads what nobody may not be allowed to read
    os.setgid(65534)
    os.setuid(65534)
try:
    Connections(Path(sys.argv[1]))
except Exception as error:
    print(type(error).__name__)
"""


def test_a_reader_sees_one_moment_whatever_is_committed_meanwhile(tmp_path: Path) -> None:
    connections = Connections(tmp_path / "store.db")
    count = "SELECT count(*) FROM conversations"

    with connections.reading() as reader:
        before = reader.execute(count).fetchone()
        with connections.writing() as writer:
            writer.execute("INSERT INTO conversations (owner) VALUES ('ann')")
        during = reader.execute(count).fetchone()
    with connections.reading() as reader:
        after = reader.execute(count).fetchone()
    connections.close()

    assert (before, during, after) == ((0,), (0,), (1,))


def test_an_error_undoes_the_whole_transaction_and_the_next_one_works(tmp_path: Path) -> None:
    connections = Connections(tmp_path / "store.db")
    insert = "INSERT INTO conversations (owner) VALUES ('ann')"

    with pytest.raises(StoreError, match="no such table"), connections.writing() as writer:
        writer.execute(insert).execute("INSERT INTO nowhere VALUES (1)")

    with connections.writing() as writer:
        writer.execute(insert)
    with connections.reading() as reader:
        assert reader.execute("SELECT count(*) FROM conversations").fetchone() == (1,)
    connections.close()


def test_commits_are_synced_to_the_disk(tmp_path: Path) -> None:
    connections = Connections(tmp_path / "store.db")

    with connections.writing() as writer:
        assert writer.execute("PRAGMA synchronous").fetchone() == (2,)
        assert writer.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert writer.execute("PRAGMA foreign_keys").fetchone() == (1,)
    connections.close()


def test_only_some_readers_are_kept(tmp_path: Path) -> None:
    connections = Connections(tmp_path / "store.db")
    contexts = [connections.reading() for _ in range(IDLE_READERS + 3)]
    for context in contexts:
        context.__enter__()
    for context in contexts:
        context.__exit__(None, None, None)

    assert len(connections._idle_readers) == IDLE_READERS
    connections.close()
    assert connections._idle_readers == []


def test_a_reader_that_outlives_the_store_is_closed_at_its_end(tmp_path: Path) -> None:
    connections = Connections(tmp_path / "store.db")

    with connections.reading() as reader:
        connections.close()
        assert reader.execute("SELECT count(*) FROM conversations").fetchone() == (0,)

    with pytest.raises(sqlite3.ProgrammingError):
        reader.execute("SELECT 1")
    with pytest.raises(StoreError, match="closed"), connections.reading():
        pass


def test_a_lock_that_stays_is_told_in_plain_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "store.db"
    Connections(path).close()
    monkeypatch.setattr(sqlite_connections, "BUSY_TIMEOUT_SECONDS", 0.01)
    connections = Connections(path)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        with pytest.raises(StoreUnavailableError, match="another process"), connections.writing():
            pass

        with connections.reading() as reader:
            assert reader.execute("SELECT count(*) FROM conversations").fetchone() == (0,)
    connections.close()


def test_a_file_that_was_moved_away_is_not_begun_anew_unnoticed(tmp_path: Path) -> None:
    path = tmp_path / "store.db"
    connections = Connections(path)
    path.rename(tmp_path / "moved.db")

    with pytest.raises(StoreUnavailableError, match="cannot be opened"), connections.reading():
        pass

    assert not path.exists()
    connections.close()


def test_the_size_counts_the_log(tmp_path: Path) -> None:
    connections = Connections(tmp_path / "store.db")
    with connections.writing() as writer:
        writer.execute("INSERT INTO conversations (owner) VALUES ('ann')")
    log = tmp_path / "store.db-wal"

    assert connections.bytes_on_disk() == connections.path.stat().st_size + log.stat().st_size
    assert log.stat().st_size > 0
    connections.close()
