import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from vecctx.adapters import migrations
from vecctx.adapters.migrations import migrate
from vecctx.errors import StoreNewerError, StoreUnavailableError

PATH = Path("store.db")


@pytest.fixture
def connection() -> Iterator[sqlite3.Connection]:
    opened = sqlite3.connect(":memory:", isolation_level=None)
    yield opened
    opened.close()


def tables_of(connection: sqlite3.Connection) -> set[str]:
    return {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}


def format_of(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def test_a_new_database_gets_every_step(connection: sqlite3.Connection) -> None:
    migrate(connection, PATH)

    assert format_of(connection) == len(migrations.MIGRATIONS)
    assert {"messages", "vectors", "chunk_words"} <= tables_of(connection)


def test_steps_that_ran_do_not_run_again(connection: sqlite3.Connection) -> None:
    migrate(connection, PATH)
    connection.execute("INSERT INTO conversations (owner) VALUES ('ann')")

    migrate(connection, PATH)

    assert connection.execute("SELECT count(*) FROM conversations").fetchone() == (1,)


def test_an_older_database_gets_only_what_is_missing(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(connection, PATH)
    before = len(migrations.MIGRATIONS)
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, ("CREATE TABLE added (x)",)))

    migrate(connection, PATH)

    assert "added" in tables_of(connection)
    assert format_of(connection) == before + 1


def test_a_step_that_fails_leaves_nothing_behind(
    connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    migrate(connection, PATH)
    before = format_of(connection)
    step = ("CREATE TABLE half (x)", "CREATE TABLE half (x)")
    monkeypatch.setattr(migrations, "MIGRATIONS", (*migrations.MIGRATIONS, step))

    with pytest.raises(sqlite3.OperationalError):
        migrate(connection, PATH)

    assert "half" not in tables_of(connection)
    assert format_of(connection) == before
    assert not connection.in_transaction


def test_a_newer_database_is_refused_with_both_formats(connection: sqlite3.Connection) -> None:
    migrate(connection, PATH)
    connection.execute(f"PRAGMA user_version = {len(migrations.MIGRATIONS) + 1}")

    with pytest.raises(StoreNewerError, match="upgrade") as raised:
        migrate(connection, PATH)

    assert (raised.value.found, raised.value.known) == (len(migrations.MIGRATIONS) + 1, len(migrations.MIGRATIONS))


@pytest.mark.parametrize("made_by", ["CREATE TABLE messages (x)", "PRAGMA user_version = 1"])
def test_another_programs_database_is_left_alone(connection: sqlite3.Connection, made_by: str) -> None:
    connection.execute(made_by)
    before = tables_of(connection)

    with pytest.raises(StoreUnavailableError, match="another program"):
        migrate(connection, PATH)

    assert tables_of(connection) == before
