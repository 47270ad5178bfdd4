import importlib
import sys
from pathlib import Path

import pytest

import agent


def test_the_host_works_under_another_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A wheel carries it inside another package, where `agent` may be somebody else's."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "_host").symlink_to(Path(agent.__file__).parent)
    monkeypatch.syspath_prepend(tmp_path)
    with monkeypatch.context() as patch:
        for name in [name for name in sys.modules if name.split(".")[0] == "agent"]:
            patch.setitem(sys.modules, name, None)  # importing it now fails

        for path in sorted(Path(agent.__file__).parent.glob("*.py")):
            importlib.import_module(f"elsewhere._host.{path.stem}")
        suite = importlib.import_module("elsewhere._host.conformance")
        assert suite.check_engine("compressor", points=suite.POINTS[:3]).is_conformant

        testing = importlib.import_module("elsewhere._host.testing")
        model = testing.ScriptedModel(["ok"])
        assert testing.Agent(model).run_turn("hi") == "ok"

    for name in [name for name in sys.modules if name.startswith("elsewhere")]:
        del sys.modules[name]


def test_the_host_knows_nothing_of_the_engine() -> None:
    for path in Path(agent.__file__).parent.glob("*.py"):
        text = path.read_text()
        assert "vecctx" not in text
        assert "from agent" not in text
        assert "import agent" not in text


def test_each_file_is_short_and_says_what_it_is_for_in_a_sentence() -> None:
    for path in Path(agent.__file__).parent.glob("*.py"):
        lines = path.read_text().splitlines()
        assert len(lines) <= 250
        assert lines[0].startswith('"""')
