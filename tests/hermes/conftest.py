"""Every test here runs the real host, which takes seconds to start."""

from pathlib import Path

import pytest

from tests.hermes.conversation import Home


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home")
