import shutil
import sqlite3
import stat
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.builders import IDENTITY, make_turn
from tests.fakes.clock import FakeClock
from vecctx.adapters import sqlite_errors
from vecctx.adapters.sqlite_errors import keep_copy, translated
from vecctx.adapters.sqlite_store import SqliteStore
from vecctx.errors import StoreDamagedError, StoreError, StoreUnavailableError


@pytest.fixture(autouse=True)
def _a_process_that_kept_no_copy_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_errors, "_copies", {})


@pytest.fixture
def database(tmp_path: Path) -> Path:
    """A database of 300 messages, closed."""
    path = tmp_path / "store.db"
    with SqliteStore(path, FakeClock()) as store:
        conversation_id = store.open_conversation("ann", "s1")
        turns = [make_turn(f"number {number} " + "and more " * 50) for number in range(300)]
        store.add_turns(conversation_id, turns, behind=None)
    return path


def cut_to_half(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def cut_to_a_part_of_a_page(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:1000])


def replace_by_garbage(path: Path) -> None:
    path.write_bytes(b"not a database " * 1000)


def overwrite_the_header(path: Path) -> None:
    path.write_bytes(b"\xff" * 100 + path.read_bytes()[100:])


def overwrite_the_schema(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[:100] + b"\xff" * 3000 + content[3100:])


def lose_all_but_the_log(path: Path) -> None:
    path.with_name("store.db-wal").write_bytes(b"commits that are nowhere else")
    path.write_bytes(b"")


@pytest.mark.parametrize(
    "damage",
    [
        *(cut_to_half, cut_to_a_part_of_a_page, replace_by_garbage, overwrite_the_header, overwrite_the_schema),
        lose_all_but_the_log,
    ],
)
def test_a_damaged_database_is_kept_as_it_is_with_a_copy(database: Path, damage: Callable[[Path], None]) -> None:
    damage(database)
    before = {path.name: path.read_bytes() for path in database.parent.iterdir()}

    with pytest.raises(StoreDamagedError, match=r"store\.db\.corrupt-1") as raised:
        SqliteStore(database, FakeClock())

    copy = Path(raised.value.copy)
    assert copy == database.with_name("store.db.corrupt-1")
    assert copy.read_bytes() == database.read_bytes()
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert {name: (database.parent / name).read_bytes() for name in before} == before


def test_a_damaged_database_with_a_log_keeps_both_as_they_are(database: Path, tmp_path: Path) -> None:
    crashed = tmp_path / "crashed" / "store.db"
    crashed.parent.mkdir()
    with SqliteStore(database, FakeClock()) as store:
        store.open_conversation("ann", "s2")
        for suffix in ("", "-wal"):
            shutil.copy(f"{database}{suffix}", f"{crashed}{suffix}")
    overwrite_the_schema(crashed)
    before = [Path(f"{crashed}{suffix}").read_bytes() for suffix in ("", "-wal")]

    with pytest.raises(StoreDamagedError):
        SqliteStore(crashed, FakeClock())

    assert [Path(f"{crashed}{suffix}").read_bytes() for suffix in ("", "-wal")] == before
    assert Path(f"{crashed}.corrupt-1-wal").read_bytes() == before[1]


def test_commits_in_the_log_are_copied_too(database: Path) -> None:
    lose_all_but_the_log(database)

    with pytest.raises(StoreDamagedError) as raised:
        SqliteStore(database, FakeClock())

    log = database.with_name(f"{Path(raised.value.copy).name}-wal")
    assert log.read_bytes() == b"commits that are nowhere else"


def test_the_same_damage_is_copied_once_however_often_it_is_met(
    database: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_by_garbage(database)
    for _ in range(3):
        with pytest.raises(StoreDamagedError):
            SqliteStore(database, FakeClock())
        # As another process would meet it.
        monkeypatch.setattr(sqlite_errors, "_copies", {})

    assert [path.name for path in sorted(database.parent.glob("*.corrupt-*"))] == ["store.db.corrupt-1"]


def test_another_damage_gets_a_copy_of_its_own(database: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database.with_name("store.db.corrupt-1").write_bytes(b"an earlier one")
    replace_by_garbage(database)

    with pytest.raises(StoreDamagedError) as raised:
        SqliteStore(database, FakeClock())

    assert Path(raised.value.copy).name == "store.db.corrupt-2"
    assert database.with_name("store.db.corrupt-1").read_bytes() == b"an earlier one"


def test_a_store_can_begin_anew_once_the_damaged_one_is_moved_away(database: Path) -> None:
    replace_by_garbage(database)
    with pytest.raises(StoreDamagedError):
        SqliteStore(database, FakeClock())

    database.unlink()

    with SqliteStore(database, FakeClock()) as store:
        assert store.check() == ()


def test_damage_that_is_met_later_is_told_and_copied(database: Path) -> None:
    content = bytearray(database.read_bytes())
    # Pages behind the schema: the file opens, and what is read there is wrong.
    content[4096 * 30 : 4096 * 200] = b"\xff" * 4096 * 170
    database.write_bytes(bytes(content))

    with SqliteStore(database, FakeClock()) as store:
        with pytest.raises(StoreDamagedError) as raised:
            store.messages([1], range(1, 301))
        findings = store.check()

    assert Path(raised.value.copy).read_bytes() == bytes(content)
    assert findings


def test_check_tells_what_no_constraint_forbids(database: Path) -> None:
    connection = sqlite3.connect(database)
    connection.execute("DELETE FROM chunk_words WHERE rowid = (SELECT min(rowid) FROM chunk_words)")
    connection.execute("DELETE FROM chunks WHERE chunk_id = (SELECT max(chunk_id) FROM chunks)")
    connection.execute("DELETE FROM turns WHERE turn_id = 7")
    connection.execute("UPDATE messages SET position = 0 WHERE position = 1")
    connection.execute("INSERT INTO embedders VALUES (1, 'm', 'r', 4, 1, '', 0)")
    connection.execute("INSERT INTO vectors VALUES (1, 1, 1, (SELECT min(chunk_id) FROM chunks), x'00')")
    connection.commit()
    connection.close()

    with SqliteStore(database, FakeClock()) as store:
        findings = store.check()

    assert sorted(findings) == [
        "1 chunks are missing in the full-text index.",
        "1 full-text rows belong to no chunk.",
        "1 messages stand at a place that another message has.",
        "1 rows of messages point to turns that do not exist.",
        "1 vectors have a wrong length.",
    ]


def test_check_tells_where_the_full_text_index_and_its_text_differ(database: Path) -> None:
    connection = sqlite3.connect(database)
    connection.execute("UPDATE chunk_words_content SET c0 = 'other words'")
    connection.commit()
    connection.close()

    with SqliteStore(database, FakeClock()) as store:
        (finding,) = store.check()

    assert "full-text" in finding


@pytest.mark.parametrize(
    ("code", "kind", "advice"),
    [
        (sqlite3.SQLITE_BUSY, StoreUnavailableError, "another process"),
        (sqlite3.SQLITE_FULL, StoreUnavailableError, "free some space"),
        (sqlite3.SQLITE_IOERR | 1 << 8, StoreUnavailableError, "disk"),
        (sqlite3.SQLITE_READONLY, StoreUnavailableError, "permissions"),
        (sqlite3.SQLITE_CANTOPEN, StoreUnavailableError, "cannot be opened"),
        (sqlite3.SQLITE_ERROR, StoreError, "doctor"),
    ],
)
def test_an_error_says_what_to_do_next(tmp_path: Path, code: int, kind: type[StoreError], advice: str) -> None:
    error = sqlite3.OperationalError("said SQLite")
    error.sqlite_errorcode = code

    with pytest.raises(kind, match=advice) as raised, translated(tmp_path):
        raise error

    assert raised.value.__cause__ is error
    assert "said SQLite" in str(raised.value)


def test_a_copy_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no copy can be made"):
        keep_copy(tmp_path / "gone.db")


def test_a_copy_can_be_opened_with_what_is_left(database: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere.db"
    shutil.copy(keep_copy(database), copy)

    with SqliteStore(copy, FakeClock()) as store:
        assert store.stats(IDENTITY).messages == 300
