"""Every store, for what holds for all of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.clock import FakeClock
from tests.fakes.store import FakeStore
from vecctx.adapters.sqlite_store import SqliteStore
from vecctx.ports import Store


@pytest.fixture(params=["sqlite", "fake"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    opened: Store = SqliteStore(tmp_path / "store.db", FakeClock()) if request.param == "sqlite" else FakeStore()
    yield opened
    opened.close()
