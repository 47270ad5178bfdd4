import stat
from pathlib import Path

import pytest
import yaml

from vecctx._version import __version__
from vecctx.cli.hermes_config import HermesError
from vecctx.cli.hermes_home import (
    PLUGIN_FILES,
    RECORD_NAME,
    HermesHome,
    Record,
    located_home,
    record_text,
    replace_file,
)

ROOT = Path(__file__).parents[3]


def test_the_checkouts_plugin_is_what_is_installed() -> None:
    directory = ROOT / "plugins" / "context_engine" / "vecctx"

    assert {path.name: path.read_text() for path in directory.iterdir() if path.is_file()} == PLUGIN_FILES


def test_hosts_find_what_they_look_for_in_the_plugin() -> None:
    assert "register_context_engine" in PLUGIN_FILES["__init__.py"]
    manifest = yaml.safe_load(PLUGIN_FILES["plugin.yaml"])
    assert (manifest["name"], manifest["version"]) == ("vecctx", __version__)


def test_the_home_is_the_one_that_is_named_or_the_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "named").mkdir()
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))

    assert located_home(tmp_path / "named").folder == tmp_path / "named"
    assert located_home(None).folder == tmp_path


def test_without_a_home_it_is_said_how_to_get_one(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(HermesError, match=rf"does not exist.*mkdir -p {tmp_path / 'none'}.*--home"):
        located_home(tmp_path / "none")
    with pytest.raises(HermesError, match="is no folder"):
        located_home(tmp_path / "file")


@pytest.mark.parametrize("text", ["{", "[]", '{"version": "1"}', '{"edit": {"start": 1}}'])
def test_a_damaged_record_is_named_with_what_to_do(tmp_path: Path, text: str) -> None:
    home = HermesHome(tmp_path)
    home.plugin.mkdir(parents=True)
    (home.plugin / RECORD_NAME).write_text(text)

    with pytest.raises(HermesError, match=r"installed\.json is damaged.*by hand"):
        home.record()


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    home = HermesHome(tmp_path)
    record = Record("1.2", None, made_plugins_folder=True)
    home.plugin.mkdir(parents=True)
    (home.plugin / RECORD_NAME).write_text(record_text(record))

    assert home.record() == record


def test_a_file_that_is_replaced_keeps_its_mode_and_its_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.yaml", tmp_path / "config.yaml"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)

    replace_file(link, b"new")

    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert sorted(path.name for path in tmp_path.iterdir()) == ["config.yaml", "real.yaml"]


def test_a_new_file_has_the_permissions_that_others_have(tmp_path: Path) -> None:
    (tmp_path / "other").touch()

    replace_file(tmp_path / "new", b"")

    assert (tmp_path / "new").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_file_that_cannot_be_replaced_leaves_nothing_beside_it(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()

    with pytest.raises(IsADirectoryError):
        replace_file(tmp_path / "folder", b"")

    assert [path.name for path in tmp_path.iterdir()] == ["folder"]
