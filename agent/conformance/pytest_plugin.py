"""Makes a test of each point: `pytest -p agent.conformance.pytest_plugin --context-engine module:Class`."""

from collections.abc import Callable
from typing import Any

import pytest

from .host import ContextEngine, PluginError
from .point import Point, Severity
from .report import Outcome
from .suite import DEADLINE_SECONDS, POINTS, check_point, factory


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of the suite."""
    group = parser.getgroup("context-engine", "conformance of a context engine")
    group.addoption("--context-engine", metavar="ENGINE", help="module:Class, or the name of an installed engine")
    group.addoption("--context-engine-deadline", type=float, default=DEADLINE_SECONDS, metavar="SECONDS")


@pytest.hookimpl(tryfirst=True)  # before -k and -m choose
def pytest_collection_modifyitems(session: pytest.Session, config: pytest.Config, items: list[pytest.Item]) -> None:
    """Add the points to whatever else is collected."""
    target = config.getoption("--context-engine")
    if not target:
        return
    try:
        make = factory(target)
    except PluginError as error:
        raise pytest.UsageError(f"--context-engine {target}: {error}") from error
    deadline_seconds = config.getoption("--context-engine-deadline")
    items += [
        PointItem.from_parent(session, name=point.name, point=point, make=make, deadline_seconds=deadline_seconds)
        for point in POINTS
    ]


class PointItem(pytest.Item):
    """One point as a test: a required one fails, an advised one is expected to be able to."""

    def __init__(
        self,
        *,
        point: Point,
        make: Callable[[], ContextEngine],
        deadline_seconds: float,
        **options: Any,  # noqa: ANN401
    ) -> None:
        super().__init__(**options)
        self._point, self._make, self._deadline_seconds = point, make, deadline_seconds

    def runtest(self) -> None:
        """Check the point."""
        result = check_point(self._make, self._point, deadline_seconds=self._deadline_seconds)
        if result.outcome is Outcome.NOT_USED:
            pytest.skip(result.detail)
        if result.outcome is Outcome.BROKEN:
            refuse = pytest.fail if self._point.severity is Severity.REQUIRED else pytest.xfail
            refuse(f"{self._point.sentence}\n{result.detail}")

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *_: object) -> str:
        """What was seen, without a traceback through the suite."""
        return str(excinfo.value)

    def reportinfo(self) -> tuple[str, None, str]:
        """Where the point stands in pytest's lists."""
        return "context engine", None, self._point.name
