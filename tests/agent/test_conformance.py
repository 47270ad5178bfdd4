import json
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent import conformance
from agent.conformance import POINTS, Outcome, Severity, check_engine, check_point, run_command
from agent.context_compressor import ContextCompressor
from agent.context_engine import Message
from agent.plugin_context import PluginError
from tests.agent import breakers_compression, breakers_construction, breakers_life, breakers_selection
from tests.agent.engines import BREAKERS, GoodEngine
from tests.agent.support import PlainEngine

GOOD = "tests.agent.engines:GoodEngine"
LIFE = breakers_life.__name__


def test_an_engine_that_keeps_the_contract_keeps_each_point() -> None:
    report = check_engine(GoodEngine)

    assert [(result.point.name, result.detail) for result in report.broken()] == []
    assert {result.outcome for result in report.results} == {Outcome.KEPT}
    assert report.is_conformant


@pytest.mark.parametrize("point", POINTS, ids=lambda point: point.name)
def test_each_point_finds_the_engine_that_breaks_it(point: Any) -> None:
    result = check_point(BREAKERS[point.name], point)

    assert result.outcome is Outcome.BROKEN
    assert result.detail


def test_there_is_an_engine_for_each_point() -> None:
    modules = (breakers_construction, breakers_selection, breakers_compression, breakers_life)

    assert set(BREAKERS) == {point.name for point in POINTS}
    assert {engine.__module__ for engine in BREAKERS.values()} == {module.__name__ for module in modules}


def test_each_point_has_a_name_of_its_own_and_a_sentence() -> None:
    assert len({point.name for point in POINTS}) == len(POINTS)
    assert all(point.sentence.endswith(".") for point in POINTS)


def test_the_built_in_engine_keeps_what_is_required() -> None:
    report = check_engine("compressor")

    assert report.broken(Severity.REQUIRED) == ()
    # It is copied as a host copies any engine: a lock on it cannot be.
    assert [result.point.name for result in report.broken()] == ["copy.lock"]


def test_what_an_engine_does_not_use_is_no_breach() -> None:
    outcomes = {result.point.name: result.outcome for result in check_engine(PlainEngine).results}

    assert outcomes["select.system"] is outcomes["tools.answers"] is Outcome.NOT_USED


class Hanging(GoodEngine):
    release = threading.Event()

    def compress(self, messages: list[Message], *args: Any, **details: Any) -> list[Message]:
        self.release.wait(10)
        return messages


def test_a_hook_that_hangs_is_cut_by_a_deadline() -> None:
    point = next(point for point in POINTS if point.name == "compress.valid")

    result = check_point(Hanging, point, deadline_seconds=0.05)
    Hanging.release.set()

    assert result.outcome is Outcome.BROKEN
    assert "0.05 s" in result.detail


class Exiting(GoodEngine):
    def __init__(self) -> None:
        raise SystemExit(3)


def test_an_engine_that_calls_exit_breaks_points_and_not_the_suite() -> None:
    report = check_engine(Exiting, points=POINTS[:2])

    assert [result.outcome for result in report.results] == [Outcome.BROKEN] * 2
    assert "SystemExit" in report.results[0].detail


class Reading(GoodEngine):
    """Looks into its database while it compresses."""

    def on_session_start(self, session_id: str, **details: Any) -> None:
        super().on_session_start(session_id, **details)
        if "hermes_home" in details:
            self.path = Path(details["hermes_home"]) / "engine.db"
            with closing(sqlite3.connect(self.path)) as connection:
                connection.execute("PRAGMA journal_mode=WAL")
                connection.execute("CREATE TABLE rows (text)")

    def compress(self, messages: list[Message], *args: Any, **details: Any) -> list[Message]:
        self.reader = sqlite3.connect(self.path, check_same_thread=False)
        self.reader.execute("SELECT * FROM rows").fetchall()
        return super().compress(messages, *args, **details)

    def on_session_end(self, session_id: str, messages: list[Message]) -> None:
        self.reader.close()


def test_an_engine_that_reads_its_database_while_it_compresses_publishes_nothing() -> None:
    point = next(point for point in POINTS if point.name == "compress.publishes-nothing")

    assert check_point(Reading, point).detail == ""


def test_the_users_home_is_out_of_sight_while_points_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))

    check_engine(BREAKERS["construction"], points=POINTS[:5])

    assert list(tmp_path.iterdir()) == []


def test_an_engine_in_a_home_is_checked_by_its_name(tmp_path: Path) -> None:
    plugin = tmp_path / "plugins" / "mine"
    plugin.mkdir(parents=True)
    source = "from tests.agent.engines import GoodEngine\n\nclass Mine(GoodEngine):\n    name = 'mine'\n"
    (plugin / "__init__.py").write_text(source)

    assert check_engine("mine", home=tmp_path, points=POINTS[:4]).broken() == ()


@pytest.mark.parametrize("target", ["no-such-engine", "no_such_module:Engine", f"{LIFE}:NoSuchEngine", f"{LIFE}:"])
def test_an_engine_that_is_not_there_is_told(target: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(PluginError):
        check_engine(target)

    assert run_command([target, "--home", str(tmp_path)]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1


@pytest.mark.parametrize("arguments", [[], ["compressor", "--no-such-option"], ["compressor", "--deadline", "soon"]])
def test_wrong_usage_ends_with_two(arguments: list[str]) -> None:
    assert run_command(arguments) == 2


def test_the_command_prints_a_table_and_says_by_its_status_whether_it_holds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run_command([GOOD]) == 0
    assert f"{len(POINTS)} kept, 0 not used, 0 required and 0 advised broken" in capsys.readouterr().out

    assert run_command([f"{LIFE}:NeverClears"]) == 1
    (line,) = [line for line in capsys.readouterr().out.splitlines() if line.startswith("  usage.awaiting  ")]
    assert line.split()[:3] == ["usage.awaiting", "required", "BROKEN"]


def test_the_command_prints_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command([f"{LIFE}:NeverClears", "--json"]) == 1

    report = json.loads(capsys.readouterr().out)
    assert (report["engine"], report["conformant"]) == (f"{LIFE}:NeverClears", False)
    assert [set(point) for point in report["points"]] == [
        {"name", "severity", "outcome", "detail", "sentence"} for _ in POINTS
    ]


def test_an_advised_point_that_is_broken_is_said_and_no_failure() -> None:
    report = check_engine(BREAKERS["copy.lock"])

    assert report.is_conformant
    assert "0 required and 1 advised broken" in report.table()


def _pytest(engine: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    plugin = ["-p", "agent.conformance.pytest_plugin", "--context-engine", engine]
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-p",
        "no:cacheprovider",
        *plugin,
        "-v",
        "tests/agent/engines.py",
        *arguments,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])


def test_under_pytest_each_point_is_a_test() -> None:
    done = _pytest(f"{breakers_construction.__name__}:CopiesAll")

    assert f"{len(POINTS) - 1} passed, 1 xfailed" in done.stdout
    assert done.returncode == 0


def test_under_pytest_a_required_point_fails_with_its_sentence_and_k_chooses() -> None:
    done = _pytest(f"{LIFE}:NeverClears", "-k", "usage.awaiting")

    assert done.returncode == 1
    assert "1 failed" in done.stdout
    assert "stays off for good" in done.stdout
    assert "Traceback" not in done.stdout


def test_under_pytest_an_engine_that_is_not_there_is_wrong_usage() -> None:
    assert _pytest("no-such-engine").returncode == 4


def test_points_can_be_tests_in_an_authors_own_file() -> None:
    """What the guide for authors shows: parametrize over POINTS."""
    result = check_point(ContextCompressor, POINTS[0])

    assert result.outcome is Outcome.KEPT


def test_the_suite_reaches_the_host_through_one_door_and_by_no_name() -> None:
    """A wheel carries the host inside another package."""
    for path in Path(conformance.__file__).parent.glob("*.py"):
        source = path.read_text()
        assert "from agent" not in source
        assert "import agent" not in source
        assert ("from .." in source) == (path.name == "host.py")
        assert len(source.splitlines()) <= 250
