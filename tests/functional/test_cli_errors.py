"""Bad input: one line that names the thing and the remedy, and nothing written."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from vecctx.cli import main
from vecctx.cli.opening import scratch_home
from vecctx.errors import StoreUnavailableError
from vecctx.settings import Settings
from vecctx.wiring import open_parts

READERS = (("search", "hello"), ("why",), ("stats",), ("doctor",))


def run(*arguments: object, home: Path) -> Result:
    return CliRunner(env={"HERMES_HOME": str(home), "COLUMNS": "300"}).invoke(
        main, list(map(str, arguments)), prog_name="vecctx"
    )


def tree(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def assert_refused(result: Result, exit_code: int, *said: str) -> None:
    assert result.exit_code == exit_code
    assert result.stdout == ""
    assert result.stderr.startswith("error: ")
    assert result.stderr.count("\n") == 1
    for part in said:
        assert part in result.stderr


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """A store without a conversation."""
    with scratch_home(Settings(), tmp_path / "store") as (settings, home):
        open_parts(settings, home).close()
    return tmp_path / "store"


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    path = tmp_path / "chat.json"
    path.write_text(json.dumps([{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]))
    return path


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no such file; check the path"),
        (b"\x89PNG\r\n\x1a\n\xff\xfe", "is not text in UTF-8; expected a JSON list of messages"),
        (b'{"role": "user", "content": "x"}\n{"role": "assistant", "con', "bad.jsonl, line 2: is no complete JSON"),
        (b'{"messages": "hello"}', "`messages` is a text; expected a list of messages"),
        (
            b'[{"role": "wizard", "content": "x"}]',
            "message 1 has the role 'wizard', which nobody knows; expected one of",
        ),
        (b"[]", "there is no message in it; expected"),
    ],
)
def test_a_bad_transcript_is_refused_before_anything_is_made(tmp_path: Path, content: bytes | None, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    if content is not None:
        path.write_bytes(content)
    before = tree(tmp_path)

    result = run("replay", path, "--ask", "what?", "--store", tmp_path / "store", home=tmp_path / "home")

    assert_refused(result, 1, str(path), said)
    assert tree(tmp_path) == before


@pytest.mark.parametrize("budget", ["0", "-5", "abc", "1.5"])
@pytest.mark.parametrize("command", ["demo", "replay"])
def test_a_bad_budget_is_wrong_usage(tmp_path: Path, transcript: Path, command: str, budget: str) -> None:
    before = tree(tmp_path)
    arguments = (command,) if command == "demo" else (command, transcript, "--ask", "what?")

    result = run(*arguments, "--budget", budget, "--store", tmp_path / "store", home=tmp_path / "home")

    assert_refused(
        result, 2, "--budget", f"'{budget}' is no budget; expected a whole number of tokens from 1", "--help"
    )
    assert tree(tmp_path) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("demo", "--budge", "5"), "No such option '--budge'"),
        (("serch", "x"), "No such command 'serch'"),
        (("search",), "Missing argument 'TEXT'; see `vecctx search --help`"),
        (("search", "  "), "there is nothing to look for"),
        (("replay", "f", "--ask", " "), "there is no question in it"),
        (("replay", "f"), "Missing option '--ask'"),
        (("replay", "f", "--ask", "x", "--store", ""), "it is empty; name a folder"),
        (("stats", "--store", " "), "it is empty; name a folder"),
        (("why", "x"), "'x' is not a valid integer"),
        (("why", "0"), "0 is not in the range"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    assert_refused(run(*arguments, home=tmp_path), 2, said)


def test_a_program_that_is_ended_leaves_no_copy_of_the_chat(tmp_path: Path) -> None:
    chat, scratch = tmp_path / "chat.jsonl", tmp_path / "scratch"
    row = json.dumps({"role": "user", "content": "The vet said that the cat is well. " * 20})
    chat.write_text("\n".join([row] * 3000))
    scratch.mkdir()
    command = [sys.executable, "-m", "vecctx", "replay", str(chat), "--ask", "what?"]
    environment = {**os.environ, "TMPDIR": str(scratch), "HERMES_HOME": str(tmp_path / "home")}
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as program:
        assert program.stderr is not None
        assert "indexing" in program.stderr.readline()
        assert tree(scratch)
        program.terminate()
        assert program.wait(60) == 143

    assert tree(scratch) == []


def test_a_transcript_that_cannot_be_stored_is_a_failure(
    tmp_path: Path, transcript: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise StoreUnavailableError(tmp_path, "the disk is full; free some space")

    monkeypatch.setattr("vecctx.ingest.ingest", fails)

    result = run("replay", transcript, "--ask", "what?", home=tmp_path / "home")

    assert result.exit_code == 1
    assert result.stdout == ""
    assert "the disk is full; free some space" in result.stderr
    assert result.stderr.endswith("error: the transcript could not be stored; the warning before says why\n")


def test_replay_takes_the_database_file_for_its_folder_as_the_others_do(store: Path, transcript: Path) -> None:
    result = run("replay", transcript, "--ask", "what?", "--store", store / "vecctx.db", home=store.parent / "home")

    assert result.exit_code == 0
    assert "messages       2 " in run("stats", "--store", store / "vecctx.db", home=store.parent / "home").stdout


@pytest.mark.parametrize("command", READERS[:3])
def test_a_store_that_does_not_exist_is_not_made(tmp_path: Path, command: tuple[str, ...]) -> None:
    named = run(*command, "--store", tmp_path / "store", home=tmp_path / "home")
    of_home = run(*command, home=tmp_path / "home")

    assert_refused(named, 1, str(tmp_path / "store"), "there is none yet; make one with `vecctx demo --store FOLDER`")
    assert_refused(of_home, 1, str(tmp_path / "home" / "vecctx"))
    assert tree(tmp_path) == []


def test_doctor_checks_the_rest_where_there_is_no_store(tmp_path: Path) -> None:
    result = run("doctor", home=tmp_path / "home")

    assert result.exit_code == 1
    assert "\nok       model" in result.stdout
    assert "\nproblem  store        store" in result.stdout
    assert "there is none yet" in result.stdout
    assert tree(tmp_path) == []


@pytest.mark.parametrize("command", [*READERS[:3], ("replay", "TRANSCRIPT", "--ask", "what?")])
def test_an_unknown_setting_names_the_nearest_right_one(
    tmp_path: Path, transcript: Path, command: tuple[str, ...]
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "config.yaml").write_text("context: {vecctx: {budget_token: 5}}")
    before = tree(tmp_path)
    arguments = [transcript if part == "TRANSCRIPT" else part for part in command]

    result = run(*arguments, "--store", tmp_path / "store", home=home)

    assert_refused(result, 1, "'budget_token'", "did you mean 'budget_tokens'?")
    assert tree(tmp_path) == before


def test_doctor_explains_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("context: {vecctx: {scope: everywhere}}")

    result = run("doctor", home=tmp_path)

    assert result.exit_code == 1
    assert (
        "problem  settings     setting 'scope' is 'everywhere'; expected one of conversation, user, all"
        in result.stdout
    )
    assert f"To do: correct it in {tmp_path / 'config.yaml'}" in result.stdout


@pytest.mark.parametrize("command", READERS)
def test_a_store_of_a_newer_version_is_left_alone(store: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    connection = sqlite3.connect(store / "vecctx.db")
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    before = (store / "vecctx.db").read_bytes()

    result = run(*command, "--store", store, home=tmp_path)

    assert result.exit_code == 1
    assert "made by a newer vecctx (format 99" in result.output
    assert "upgrade vecctx" in result.output
    assert (store / "vecctx.db").read_bytes() == before


@pytest.mark.parametrize("command", READERS)
def test_a_damaged_database_is_refused_and_a_copy_is_kept(
    store: Path, tmp_path: Path, command: tuple[str, ...]
) -> None:
    damaged = b"this was a database once " * 400
    (store / "vecctx.db").write_bytes(damaged)

    result = run(*command, "--store", store, home=tmp_path)

    assert result.exit_code == 1
    assert "is damaged" in result.output
    assert f"a copy is at {store / 'vecctx.db.corrupt-1'}" in result.output
    assert (store / "vecctx.db").read_bytes() == (store / "vecctx.db.corrupt-1").read_bytes() == damaged


@pytest.mark.parametrize("command", [*READERS, ("demo",)])
def test_a_folder_in_the_databases_place_is_named(tmp_path: Path, command: tuple[str, ...]) -> None:
    (tmp_path / "store" / "vecctx.db").mkdir(parents=True)

    result = run(*command, "--store", tmp_path / "store", home=tmp_path)

    assert result.exit_code == 1
    assert f"{tmp_path / 'store' / 'vecctx.db'}: is a folder" in result.output
    assert tree(tmp_path) == ["store", "store/vecctx.db"]


def test_a_file_in_the_stores_place_is_named(tmp_path: Path, transcript: Path) -> None:
    read = run("stats", "--store", transcript, home=tmp_path)
    written = run("replay", transcript, "--ask", "what?", "--store", transcript, home=tmp_path)

    assert_refused(read, 1, f"{transcript}: is a file; name the folder that holds vecctx.db")
    assert_refused(written, 1, "choose another place for the store")


READ_ONLY = """
import os, sys
from click.testing import CliRunner
from vecctx.cli import main
writable, read_only = sys.argv[1:]
assert CliRunner().invoke(main, ["stats", "--store", writable]).exit_code == 0
if os.geteuid() == 0:
    # Root may write everywhere. What is needed from root's folders was loaded by now.
    os.setgroups([]), os.setgid(65534), os.setuid(65534)
result = CliRunner().invoke(main, ["stats", "--store", read_only])
print(result.exit_code, result.output)
"""


def test_a_read_only_store_is_named(store: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        place = Path(shutil.copytree(store, Path(folder) / "store"))
        Path(folder).chmod(0o755)
        (place / "vecctx.db").chmod(0o444)
        place.chmod(0o555)
        command = [sys.executable, "-c", READ_ONLY, str(store), str(place)]
        environment = {**os.environ, "HERMES_HOME": folder}
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        place.chmod(0o755)

    assert done.stdout.startswith(f"1 error: store {place / 'vecctx.db'}: "), done.stderr
    assert "check its permissions" in done.stdout


def test_an_unknown_selection_names_the_newest(store: Path, tmp_path: Path) -> None:
    assert_refused(run("why", "--store", store, home=tmp_path), 1, "no request was recorded in this store yet")


def test_a_bug_keeps_its_traceback(store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("vecctx.cli.views.stats", broken)

    result = run("stats", "--store", store, home=tmp_path)

    assert isinstance(result.exception, RuntimeError)
