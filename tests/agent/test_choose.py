import io
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agent import choose, plugins
from agent.choose import found_engines, run_command
from agent.config import HostConfig, load_config
from tests.agent.support import PlainEngine

SOURCE = "from tests.agent.support import PlainEngine\n\nclass Mine(PlainEngine):\n    name = {name!r}\n"
ABSENT = "    def is_available(self):\n        {answer}\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def _no_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choose, "entry_points", lambda **_which: EntryPoints())


def install(folder: Path, name: str, source: str = SOURCE, manifest: str = "") -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "__init__.py").write_text(source.format(name=name) + "# ContextEngine\n")
    if manifest:
        (folder / name / "plugin.yaml").write_text(manifest)


def command(home: Path, *arguments: str, typed: str | None = None) -> tuple[int, str, str]:
    """Exit status, output and remarks; with `typed` as at a terminal."""
    lines, out = (io.StringIO(), io.StringIO()) if typed is None else (Terminal(typed), Terminal())
    err = io.StringIO()
    options = ["--home", str(home), *arguments]
    status = run_command(options, environment={}, bundled=home / "bundled", lines=lines, out=out, err=err)
    return status, out.getvalue(), err.getvalue()


def test_the_list_has_name_version_place_and_description_and_marks_the_active_one(tmp_path: Path) -> None:
    install(tmp_path / "bundled", "lean", manifest="version: 0.3\ndescription: Sends little.\n")
    install(tmp_path / "plugins", "mine", manifest="name: [odd")
    (tmp_path / "config.yaml").write_text("context: {engine: lean}\n")

    status, out, err = command(tmp_path)

    assert (status, err) == (0, "")
    assert out.splitlines()[:4] == [
        "   #  engine      version  from      description",
        "   1  compressor           built in  Compresses at a share of the window.",
        "*  2  lean        0.3      bundled   Sends little.",
        "   3  mine                 home",
    ]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import no_such_module\n", "no_such_module"),
        ("raise SystemExit(3)\n", "SystemExit(3)"),
        (SOURCE + ABSENT.format(answer="return False"), "not available here"),
        (SOURCE + ABSENT.format(answer="raise OSError('no disk')"), "no disk"),
        (SOURCE + ABSENT.format(answer="raise SystemExit"), "SystemExit"),
        (SOURCE.replace("{name!r}", "'other'"), "'other'"),
    ],
)
def test_what_cannot_be_used_is_listed_with_the_reason_and_not_chosen(tmp_path: Path, source: str, told: str) -> None:
    install(tmp_path / "plugins", "mine", source)

    _, out, _ = command(tmp_path)
    status, _, err = command(tmp_path, "--use", "mine")

    assert "NOT AVAILABLE" in out
    assert told in out
    assert status == 1
    assert told in err
    assert not (tmp_path / "config.yaml").exists()


def test_a_plugin_about_something_else_is_not_listed(tmp_path: Path) -> None:
    install(tmp_path / "plugins", "weather", "def register(ctx): pass\n")
    (tmp_path / "plugins" / "voice").mkdir()
    (tmp_path / "plugins" / "voice" / "__init__.py").write_text("raise SystemExit('imported')")

    assert [found.name for found in found_engines(HostConfig(), tmp_path, tmp_path)] == ["compressor"]


def test_of_two_with_one_name_the_bundled_one_is_listed(tmp_path: Path) -> None:
    install(tmp_path / "bundled", "mine")
    install(tmp_path / "plugins", "mine", "raise SystemExit\n")

    _, mine = found_engines(HostConfig(), tmp_path, tmp_path / "bundled")

    assert (mine.place, mine.problem) == ("bundled", None)


def test_an_installed_package_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    points = EntryPoints([EntryPoint("plain", "tests.agent.support:no_such", plugins.ENTRY_POINT_GROUP)])
    monkeypatch.setattr(choose, "entry_points", points.select)
    monkeypatch.setattr(plugins, "entry_points", points.select)

    _, plain = found_engines(HostConfig(), tmp_path, tmp_path)

    assert plain.name == "plain"
    assert "no_such" in str(plain.problem)


@pytest.mark.parametrize("typed", [None, "2\n"])
def test_an_engine_whose_package_has_another_name_is_listed_by_its_own_and_can_be_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str | None
) -> None:
    module: Any = ModuleType("made_up_package")
    module.register = lambda ctx: ctx.register_context_engine(PlainEngine())
    monkeypatch.setitem(sys.modules, module.__name__, module)
    points = EntryPoints([EntryPoint("hermes-plain", module.__name__, plugins.ENTRY_POINT_GROUP)])
    monkeypatch.setattr(choose, "entry_points", points.select)
    monkeypatch.setattr(plugins, "entry_points", points.select)
    path = tmp_path / "config.yaml"
    path.write_text("context:\n  engine: plain  # by hand\n")

    assert "plain is configured, but not used: plugins.enabled does not list hermes-plain" in command(tmp_path)[1]
    assert command(tmp_path, *([] if typed else ["--use", "plain"]), typed=typed)[0] == 0

    assert path.read_text() == "context:\n  engine: plain  # by hand\nplugins:\n  enabled: [hermes-plain]\n"
    assert "not used" not in command(tmp_path)[1]
    assert plugins.load_engine(load_config(path), home=tmp_path).engine.name == "plain"


def test_use_changes_the_one_value(tmp_path: Path) -> None:
    install(tmp_path / "plugins", "mine")
    (tmp_path / "config.yaml").write_text("# mine\ncontext:\n  engine: compressor  # for now\n")

    assert command(tmp_path, "--use", "mine")[0] == 0
    assert (tmp_path / "config.yaml").read_text() == "# mine\ncontext:\n  engine: mine  # for now\n"
    assert "already" in command(tmp_path, "--use", "mine")[1]
    assert command(tmp_path, "--use", "compressor")[0] == 0
    assert "engine: compressor  # for now" in (tmp_path / "config.yaml").read_text()


@pytest.mark.parametrize("name", ["min", "../mine", "zzz"])
def test_an_unknown_name_is_refused_with_the_nearest(tmp_path: Path, name: str) -> None:
    install(tmp_path / "plugins", "mine")

    status, _, err = command(tmp_path, "--use", name)

    assert status == 1
    assert "the nearest is mine" in err or name == "zzz"
    assert not (tmp_path / "config.yaml").exists()


def test_a_config_that_cannot_be_edited_is_told_and_stays(tmp_path: Path) -> None:
    install(tmp_path / "plugins", "mine")
    (tmp_path / "config.yaml").write_text("context: [")

    status, _, err = command(tmp_path, "--use", "mine")

    assert status == 1
    assert err.splitlines()[-1].endswith("Nothing is changed.")
    assert (tmp_path / "config.yaml").read_text() == "context: ["


@pytest.mark.parametrize(
    ("typed", "engine"), [("2\n", "mine"), ("mine\n", "mine"), ("\n", None), ("", None), ("9\n", None)]
)
def test_at_a_terminal_one_is_asked_for(tmp_path: Path, typed: str, engine: str | None) -> None:
    install(tmp_path / "plugins", "mine")

    status, out, _ = command(tmp_path, typed=typed)

    assert "Use which engine?" in out
    assert status == (1 if typed == "9\n" else 0)
    assert (tmp_path / "config.yaml").exists() == (engine is not None)


def test_the_default_is_told_as_such(tmp_path: Path) -> None:
    assert "* is the default; there is no " in command(tmp_path)[1]


def test_without_a_terminal_nobody_is_asked(tmp_path: Path) -> None:
    assert "Use which" not in command(tmp_path)[1]


def test_a_configured_engine_that_is_not_there_is_told(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("context: {engine: gone}\n")

    assert "gone is configured, but not used: it is not installed" in command(tmp_path)[1]


def test_no_line_is_wider_than_the_screen(tmp_path: Path) -> None:
    install(tmp_path / "plugins", "mine", manifest=f"description: {'long ' * 50}\n")
    out: Any = command(tmp_path)[1]

    assert max(len(line) for line in out.splitlines()[:3]) <= 100
