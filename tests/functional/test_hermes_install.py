"""`vecctx hermes` in homes without a host: what it writes, says, refuses, and takes back."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from tests.builders import make_selection
from tests.functional.test_cli_errors import assert_refused
from vecctx.cli import hermes_group, main
from vecctx.cli.hermes_home import PLUGIN_FILES, RECORD_NAME
from vecctx.settings import Settings
from vecctx.wiring import open_parts

CONFIG = b"# mine\r\nmodel: gpt-x   # big\ncontext:\n    engine: 'compressor'\n    vecctx: {budget_tokens: 9000}\n"
PLUGIN = sorted([RECORD_NAME, *PLUGIN_FILES])


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    (folder / "config.yaml").write_bytes(CONFIG)
    return folder


def run(home: Path, *words: str) -> Result:
    return CliRunner(env={"HERMES_HOME": str(home), "COLUMNS": "300"}).invoke(
        main, ["hermes", *words], prog_name="vecctx"
    )


def done(home: Path, *words: str) -> str:
    result = run(home, *words)
    assert result.exit_code == 0, result.output
    return result.stdout


def tree(folder: Path) -> dict[str, bytes | None]:
    return {str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def fill_store(home: Path) -> Path:
    opened = open_parts(Settings(), home)
    conversation_id = opened.parts.store.open_conversation("", "session-1")
    opened.parts.store.record_selection(make_selection(conversation_id=conversation_id))
    opened.close()
    return home / "vecctx"


def test_it_installs_says_what_it_did_and_leaves_no_trace_when_undone(home: Path) -> None:
    before = tree(home)

    said = done(home, "install")

    assert sorted(path.name for path in (home / "plugins/vecctx").iterdir()) == PLUGIN
    assert (home / "config.yaml").read_bytes() == CONFIG.replace(b"'compressor'", b"'vecctx'")
    assert f"set context.engine to vecctx instead of compressor in {home / 'config.yaml'}" in said
    assert said.endswith("To undo it: vecctx hermes uninstall\n")
    assert f"restore {home / 'config.yaml'} to the last byte: context.engine names compressor" in done(
        home, "uninstall"
    )
    assert tree(home) == before


@pytest.mark.parametrize("words", [("install",), ("uninstall",), ("uninstall", "--delete-store")])
def test_a_dry_run_says_it_all_and_changes_nothing(home: Path, words: tuple[str, ...]) -> None:
    if words[0] == "uninstall":
        done(home, "install")
        fill_store(home)
    before = tree(home)

    dry = json.loads(done(home, *words, "--dry-run", "--json"))

    assert tree(home) == before
    assert dry["is_dry_run"]
    assert dry["steps"] == json.loads(done(home, *words, "--json"))["steps"] != []


def test_what_is_done_twice_is_done_once(home: Path) -> None:
    done(home, "install")
    installed = tree(home)

    assert "there is nothing to do" in done(home, "install")
    assert tree(home) == installed
    done(home, "uninstall")
    assert "is not installed" in done(home, "uninstall")
    assert (home / "config.yaml").read_bytes() == CONFIG


def test_an_upgrade_renews_the_plugin_and_still_knows_how_to_undo_the_first(home: Path) -> None:
    done(home, "install")
    (home / "plugins/vecctx/plugin.yaml").write_text("name: vecctx\nversion: 0.0.1\n")
    record = home / "plugins/vecctx" / RECORD_NAME
    record.write_text(record.read_text().replace('"version": "', '"version": "0.0.1-'))

    assert "problem: the plugin directory is of vecctx 0.0.1-" in done(home, "status")
    done(home, "install")

    assert "problem" not in done(home, "status")
    assert (home / "plugins/vecctx/plugin.yaml").read_text() == PLUGIN_FILES["plugin.yaml"]
    done(home, "uninstall")
    assert (home / "config.yaml").read_bytes() == CONFIG


def test_an_installation_that_was_cut_short_is_completed_or_undone(home: Path) -> None:
    done(home, "install")
    (home / "config.yaml").write_bytes(CONFIG)
    (home / "plugins/vecctx/__init__.py").unlink()
    shutil.copytree(home, home.parent / "other")

    done(home.parent / "other", "uninstall")
    done(home, "install")

    assert tree(home.parent / "other") == {"config.yaml": CONFIG}
    assert json.loads(done(home, "status", "--json"))["is_active"]
    done(home, "uninstall")
    assert tree(home) == {"config.yaml": CONFIG}


def test_after_another_engine_was_chosen_it_is_that_one_that_comes_back(home: Path) -> None:
    done(home, "install")
    other = CONFIG.replace(b"compressor", b"lcm") + b"later: 1\n"
    (home / "config.yaml").write_bytes(other)

    assert "instead of lcm" in done(home, "install")
    done(home, "uninstall")

    assert tree(home) == {"config.yaml": other}


def test_a_profile_that_hermes_goes_to_instead_is_named(home: Path) -> None:
    (home / "profiles/work").mkdir(parents=True)
    (home / "active_profile").write_text("work\n")

    assert f"to install there as well, add --home {home / 'profiles/work'}" in done(home, "install")
    assert f"add --home {home / 'profiles/work'}" in done(home, "status")
    (home / "active_profile").write_text("default\n")
    assert "add --home" not in done(home, "status")


def test_a_python_without_hermes_is_named(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: list[object] = [None, object()]
    monkeypatch.setattr("vecctx.cli.hermes_install.find_spec", lambda _name: found.pop())

    assert "there is no Hermes" not in done(home, "install")
    assert "there is no Hermes in this Python" in done(home, "install")


def test_a_home_without_a_config_has_none_afterwards(tmp_path: Path) -> None:
    done(tmp_path, "install")

    assert (tmp_path / "config.yaml").read_text() == "context:\n  engine: vecctx\n"
    done(tmp_path, "uninstall")
    assert tree(tmp_path) == {}


def test_a_config_that_named_it_before_is_not_touched_and_it_is_said(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("context: {engine: vecctx}\n")

    assert "config.yaml" not in done(tmp_path, "install")
    said = done(tmp_path, "uninstall")

    assert "as it is: context.engine names vecctx; set it to compressor for the built-in one" in said
    assert tree(tmp_path) == {"config.yaml": b"context: {engine: vecctx}\n"}


def test_what_the_user_changed_since_stays(home: Path) -> None:
    done(home, "install")
    with (home / "config.yaml").open("ab") as file:
        file.write(b"later: 1\n")
    (home / "plugins/vecctx/notes.txt").write_text("mine")
    (home / "plugins/vecctx/__pycache__").mkdir()

    said = done(home, "uninstall")

    assert "put back only the engine" in said
    assert "stays for what others put there: notes.txt" in said
    assert (home / "config.yaml").read_bytes() == CONFIG + b"later: 1\n"
    assert [path.name for path in (home / "plugins/vecctx").iterdir()] == ["notes.txt"]


def test_a_plugins_folder_that_was_there_stays(home: Path) -> None:
    (home / "plugins").mkdir()
    before = tree(home)
    done(home, "install")
    (home / "plugins/vecctx/plugin.yaml").unlink()
    done(home, "install")

    done(home, "uninstall")

    assert tree(home) == before


def test_an_empty_plugin_directory_is_nobodys(home: Path) -> None:
    (home / "plugins/vecctx").mkdir(parents=True)

    done(home, "install")

    assert json.loads(done(home, "status", "--json"))["is_active"]


def test_the_home_can_be_named(home: Path, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()

    said = done(home, "install", "--home", str(tmp_path / "work"))

    assert (tmp_path / "work/plugins/vecctx").is_dir()
    assert not (home / "plugins").exists()
    assert said.endswith(f"To undo it: vecctx hermes uninstall --home {tmp_path / 'work'}\n")


@pytest.mark.parametrize("command", ["install", "uninstall", "status"])
def test_a_home_that_does_not_exist_is_refused(tmp_path: Path, command: str) -> None:
    assert_refused(run(tmp_path / "none", command), 1, str(tmp_path / "none"), "does not exist", "mkdir -p", "--home")
    assert tree(tmp_path) == {}


@pytest.mark.parametrize("content", [b"a: [", b"- a\n", b"context: some words\n", b"\xff"])
def test_a_config_that_cannot_be_edited_is_refused_and_nothing_is_written(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.yaml").write_bytes(content)

    assert_refused(run(tmp_path, "install"), 1, "config.yaml", "then run this again")
    assert tree(tmp_path) == {"config.yaml": content}


def test_a_plugin_directory_of_somebody_else_is_refused(home: Path) -> None:
    (home / "plugins/vecctx").mkdir(parents=True)
    (home / "plugins/vecctx/__init__.py").write_text("mine")
    before = tree(home)

    assert_refused(run(home, "install"), 1, "was not made by this command; move it away")
    assert "is not installed" in done(home, "uninstall")
    assert tree(home) == before


def test_a_place_that_cannot_be_written_is_named_and_nothing_stays(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> None:
        if path.name == "config.yaml":
            raise OSError(28, "No space left on device", str(path))
        path.write_bytes(content)

    monkeypatch.setattr("vecctx.cli.hermes_install.replace_file", full)

    assert_refused(run(home, "install"), 1, f"{home / 'config.yaml'} cannot be written (No space left", "--home")
    assert not (home / "plugins/vecctx").exists()


def test_a_file_in_the_plugins_place_is_named(home: Path) -> None:
    (home / "plugins").write_text("")

    assert_refused(run(home, "install"), 1, str(home / "plugins"), "cannot be written")


def test_a_store_stays_unless_its_end_is_asked_for(home: Path) -> None:
    done(home, "install")
    store = fill_store(home)
    (store / "mine.txt").write_text("")

    assert f"The stored conversations stay in {store}" in done(home, "uninstall")
    assert (store / "vecctx.db").exists()
    assert f"delete the store {store}" in done(home, "uninstall", "--delete-store")
    assert [path.name for path in store.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize(("answer", "is_kept"), [("y\n", False), ("\n", True)])
def test_at_a_terminal_it_asks_and_takes_silence_for_no(
    home: Path, monkeypatch: pytest.MonkeyPatch, answer: str, is_kept: bool
) -> None:
    store = fill_store(home)
    monkeypatch.setattr(hermes_group, "is_terminal", lambda: True)

    result = CliRunner(env={"HERMES_HOME": str(home)}).invoke(main, ["hermes", "uninstall"], input=answer)

    assert "This cannot be undone" in result.stdout
    assert store.exists() == is_kept


@pytest.mark.parametrize("option", ["--json", "--dry-run"])
def test_programs_and_dry_runs_are_not_asked(home: Path, monkeypatch: pytest.MonkeyPatch, option: str) -> None:
    store = fill_store(home)
    monkeypatch.setattr(hermes_group, "is_terminal", lambda: True)

    assert "This cannot be undone" not in done(home, "uninstall", option)
    assert store.exists()


def test_wrong_settings_keep_nobody_from_leaving_but_do_not_say_which_store_to_delete(home: Path) -> None:
    done(home, "install")
    with (home / "config.yaml").open("ab") as file:
        file.write(b"    # wrong from here\n    vecctx: {scoop: all}\n")

    assert_refused(run(home, "uninstall", "--delete-store"), 1, "did you mean 'scope'?")
    assert (home / "plugins/vecctx").exists()
    done(home, "uninstall")
    assert not (home / "plugins").exists()


def test_status_tells_what_is_true(home: Path) -> None:
    assert json.loads(done(home, "status", "--json"))["is_installed"] is False
    done(home, "install")
    store = fill_store(home)

    view = json.loads(done(home, "status", "--json"))

    assert (view["is_installed"], view["is_active"], view["engine"], view["problems"]) == (True, True, "vecctx", [])
    assert (view["store"], view["turns"]) == (str(store), 0)
    assert view["last_selection"]["used_tokens"] == make_selection().used_tokens
    assert "see `vecctx why`" in done(home, "status")


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("context: {engine: lcm}", "it is installed, but context.engine names lcm; run `vecctx hermes install`"),
        ("a: 1", "it is installed, but context.engine is not set"),
        ("context: {engine: vecctx, vecctx: {scoop: all}}", "did you mean 'scope'?"),
        ("a: [", "no valid YAML"),
    ],
)
def test_status_says_what_is_wrong_and_says_it_once(home: Path, config: str, said: str) -> None:
    done(home, "install")
    (home / "config.yaml").write_text(config)

    (problem,) = json.loads(done(home, "status", "--json"))["problems"]

    assert said in problem
    assert f"problem: {problem}" in done(home, "status")


def test_an_engine_that_nothing_offers_is_a_problem_and_an_entry_point_that_is_enabled_offers_it(home: Path) -> None:
    (home / "config.yaml").write_text("context: {engine: vecctx}")
    assert "but no plugin offers it" in done(home, "status")

    (home / "config.yaml").write_text("context: {engine: vecctx}\nplugins: {enabled: [vecctx]}")
    assert json.loads(done(home, "status", "--json"))["is_active"]
