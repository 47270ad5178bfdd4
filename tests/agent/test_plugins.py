import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agent import plugins
from agent.config import CompressionConfig, HostConfig
from agent.context_compressor import ContextCompressor
from agent.plugin_context import PluginContext, PluginError
from agent.plugins import Loaded, load_engine, load_plugin
from tests.agent.support import ListeningEngine, PlainEngine

SUBCLASS = "from tests.agent.support import PlainEngine\n\nclass Mine(PlainEngine):\n    name = {name!r}\n"
REGISTER = (
    SUBCLASS
    + "\ndef register(ctx):\n"
    + "    ctx.register_context_engine(Mine())\n"
    + "    ctx.register_command('/mine', lambda text: text.upper(), description='shouts')\n"
)


def write(directory: Path, source: str) -> Path:
    directory.mkdir(parents=True)
    (directory / "__init__.py").write_text(source)
    return directory


def load(name: str, tmp_path: Path) -> Loaded:
    return load_engine(HostConfig(engine=name), home=tmp_path / "home", bundled=tmp_path / "bundled")


@pytest.mark.parametrize("place", ["bundled/mine", "home/plugins/mine"])
@pytest.mark.parametrize("source", [SUBCLASS, REGISTER])
def test_a_directory_with_a_subclass_or_a_register_is_a_plugin(tmp_path: Path, place: str, source: str) -> None:
    write(tmp_path / place, source.format(name="mine"))

    assert load("mine", tmp_path).engine.name == "mine"


def test_commands_come_with_the_engine(tmp_path: Path) -> None:
    write(tmp_path / "bundled/mine", REGISTER.format(name="mine"))

    command = load("mine", tmp_path).commands["mine"]

    assert (command.run("hi"), command.description) == ("HI", "shouts")


def test_the_bundled_directory_wins(tmp_path: Path) -> None:
    write(tmp_path / "bundled/mine", SUBCLASS.format(name="mine") + "    place = 'bundled'\n")
    write(tmp_path / "home/plugins/mine", SUBCLASS.format(name="mine") + "    place = 'user'\n")

    assert getattr(load("mine", tmp_path).engine, "place") == "bundled"  # noqa: B009 - the class is made in the test


def test_each_agent_gets_its_own_engine_of_one_import(tmp_path: Path) -> None:
    write(tmp_path / "bundled/mine", REGISTER.format(name="mine"))

    first, second = load("mine", tmp_path).engine, load("mine", tmp_path).engine

    assert first is not second
    assert type(first) is type(second)


def test_no_plugin_is_touched_that_the_config_does_not_name(tmp_path: Path) -> None:
    write(tmp_path / "bundled/mine", "raise SystemExit('imported')")

    assert isinstance(load("compressor", tmp_path).engine, ContextCompressor)


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("import no_such_module", "no_such_module"),
        ("def register(ctx):\n    raise RuntimeError('half done')", "half done"),
        ("def register(ctx):\n    ctx.register_context_engine(object())", "is no context engine"),
        ("value = 1", "registers no context engine"),
        (SUBCLASS.format(name="other"), "'other'"),
        ("raise SystemExit('bye')", "SystemExit('bye')"),
        ("class Odd(BaseException): pass\nraise Odd('first\\nsecond')", "Odd("),
        ("raise TimeoutError('its own')", "TimeoutError('its own')"),
    ],
)
def test_a_broken_plugin_means_the_built_in_engine_and_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, source: str, told: str
) -> None:
    write(tmp_path / "bundled/mine", source)

    assert load("mine", tmp_path).engine.name == "compressor"
    (record,) = caplog.records
    assert told in record.getMessage()
    assert "mine" in record.getMessage()


def test_a_failed_import_leaves_nothing_behind(tmp_path: Path) -> None:
    before = set(sys.modules)
    write(tmp_path / "bundled/mine", "import no_such_module")

    load("mine", tmp_path)

    assert set(sys.modules) == before


@pytest.mark.parametrize("name", ["../x", "a/b", "..", ".hidden", "", "no-such-engine", "a.b"])
def test_an_unknown_or_dangerous_name_means_the_built_in_engine(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    for place in ("bundled/a/b", "home/plugins/.hidden", "home/x", "bundled/a.b", "x"):
        write(tmp_path / place, "raise SystemExit('imported')")

    assert load(name, tmp_path).engine.name == "compressor"
    assert len(caplog.records) == 1


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A module through which a plugin's import can be watched and held up."""
    module: Any = ModuleType("made_up_gate")
    module.entered, module.opened = threading.Event(), threading.Event()
    monkeypatch.setitem(sys.modules, "made_up_gate", module)
    yield module
    module.opened.set()


HELD_UP = "import made_up_gate\nmade_up_gate.entered.set()\nmade_up_gate.opened.wait(60)\n" + SUBCLASS


def test_a_plugin_that_hangs_is_left_behind(tmp_path: Path, caplog: pytest.LogCaptureFixture, gate: Any) -> None:
    write(tmp_path / "bundled/mine", HELD_UP.format(name="mine"))
    config = HostConfig(engine="mine", plugin_timeout_seconds=0.05)

    assert load_engine(config, bundled=tmp_path / "bundled").engine.name == "compressor"

    (record,) = caplog.records
    assert "longer than 0.05 s to load" in record.getMessage()


def test_nobody_gets_a_module_that_another_thread_still_imports(tmp_path: Path, gate: Any) -> None:
    write(tmp_path / "bundled/mine", HELD_UP.format(name="mine"))
    with ThreadPoolExecutor(1) as executor:
        first = executor.submit(load_plugin, "mine", home=None, bundled=tmp_path / "bundled", timeout_seconds=60)
        gate.entered.wait(60)

        with pytest.raises(PluginError, match="longer than"):
            load_plugin("mine", home=None, bundled=tmp_path / "bundled", timeout_seconds=0.05)

        gate.opened.set()
        assert first.result().engine.name == "mine"


def test_a_second_engine_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    ctx, first = PluginContext(), PlainEngine()

    ctx.register_context_engine(first)
    ctx.register_context_engine(ListeningEngine())

    assert ctx.engine is first
    assert len(caplog.records) == 1


def test_what_a_plugin_offers_besides_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def register(ctx: PluginContext) -> None:
        ctx.register_tool("find", "toolset", {"name": "find"}, handler=print)
        ctx.register_hook("pre_llm_call", print)
        ctx.register_cli_command(name="plain", help="", setup_fn=print)
        ctx.register_memory_provider(object())
        ctx.register_context_engine(PlainEngine())

    _entry_points(monkeypatch, plain=register)

    loaded = load_engine(HostConfig(engine="plain"))

    assert (loaded.engine.name, loaded.commands) == ("plain", {})


def test_a_second_command_of_a_name_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    ctx = PluginContext()

    ctx.register_command("x", lambda _text: "first")
    ctx.register_command("/x", lambda _text: "second")

    assert ctx.commands["x"].run("") == "first"
    assert len(caplog.records) == 1


def test_what_is_no_engine_is_refused() -> None:
    with pytest.raises(PluginError):
        PluginContext().register_context_engine("engine")  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["made_up_plugin", "made_up_plugin:register"])
def test_an_entry_point_is_a_plugin_and_its_engine_is_cloned(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, value: str
) -> None:
    shared = PlainEngine()
    module: Any = ModuleType("made_up_plugin")
    module.register = lambda ctx: ctx.register_context_engine(shared)
    monkeypatch.setitem(sys.modules, "made_up_plugin", module)
    found = EntryPoints([EntryPoint("plain", value, plugins.ENTRY_POINT_GROUP)])
    monkeypatch.setattr(plugins, "entry_points", found.select)

    engine = load("plain", tmp_path).engine

    assert type(engine) is PlainEngine
    assert engine is not shared


def _entry_points(monkeypatch: pytest.MonkeyPatch, **modules: Any) -> None:
    points = []
    for name, register in modules.items():
        module: Any = ModuleType(f"made_up_{name}")
        module.register = register
        monkeypatch.setitem(sys.modules, module.__name__, module)
        points.append(EntryPoint(name, module.__name__, plugins.ENTRY_POINT_GROUP))
    monkeypatch.setattr(plugins, "entry_points", EntryPoints(points).select)


def test_an_enabled_entry_point_may_hold_an_engine_of_another_name(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(_ctx: PluginContext) -> None:
        raise RuntimeError("of no concern")

    _entry_points(monkeypatch, broken=broken, pkg=lambda ctx: ctx.register_context_engine(PlainEngine()))

    assert plugins.installed_plugins() == ("broken", "pkg")
    assert load_engine(HostConfig(engine="plain", enabled_plugins=("broken", "pkg"))).engine.name == "plain"
    assert "broken" in caplog.text


def test_an_entry_point_that_nobody_enabled_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    imported: list[str] = []
    _entry_points(monkeypatch, pkg=lambda _ctx: imported.append("pkg"))

    assert load_engine(HostConfig(engine="plain")).engine.name == "compressor"
    assert imported == []


def test_the_built_in_engine_takes_the_compression_settings() -> None:
    config = HostConfig(engine_options={"cooldown_seconds": 5}, compression=CompressionConfig(threshold=0.5))

    engine = load_engine(config).engine

    assert isinstance(engine, ContextCompressor)
    assert (engine.threshold_percent, engine._cooldown_seconds) == (0.5, 5)


@pytest.mark.parametrize("options", [{"unknown": 1}, {"base_url": "ftp://x"}])
def test_wrong_options_of_the_built_in_engine_are_told(
    options: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    assert load_engine(HostConfig(engine_options=options)).engine.name == "compressor"
    assert len(caplog.records) == 1
