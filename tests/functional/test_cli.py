"""What the commands print, on a store that `replay` makes."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from vecctx._version import __version__
from vecctx.adapters.faiss_files import IndexFiles
from vecctx.adapters.onnx_embedder import OnnxEmbedder
from vecctx.cli import main

FACTS = (
    "My sister Ada lives in Lisbon and works as a glass blower.",
    "The staging proxy listens on port 8471, please remember that.",
    "I prefer oat milk in my coffee, never cow's milk.",
    "The garden shed needs a new roof before November.",
    "Our team meets on Thursdays at ten in the blue room.",
    "I bought a red bicycle with seven gears for the commute.",
)
QUESTION = "Which port does the staging proxy use?"


def chat() -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"role": "system", "content": "You are brief."}]
    for day, fact in enumerate(FACTS):
        said_at = 1_700_000_000 + 86_400 * day
        rows.append({"role": "user", "content": fact, "timestamp": said_at})
        rows.append({"role": "assistant", "content": f"Noted, number {day}.", "timestamp": said_at + 5})
    return rows


def run(*arguments: object, home: Path, columns: int = 100) -> Result:
    environment = {"HERMES_HOME": str(home), "COLUMNS": str(columns)}
    return CliRunner(env=environment).invoke(main, list(map(str, arguments)), prog_name="vecctx")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    """A store with one conversation and one request, and what the command that made it said."""
    folder = tmp_path_factory.mktemp("made")
    transcript = folder / "chat.json"
    transcript.write_text(json.dumps(chat()), encoding="utf-8")
    store = folder / "store"
    return store, run("replay", transcript, "--ask", QUESTION, "--budget", 150, "--store", store, home=folder / "home")


@pytest.fixture
def store(made: tuple[Path, Result], tmp_path: Path) -> Path:
    """A store of the test's own."""
    return Path(shutil.copytree(made[0], tmp_path / "store"))


def test_replay_shows_what_would_be_sent(made: tuple[Path, Result]) -> None:
    result = made[1]

    assert result.exit_code == 0
    assert result.stderr == "indexing 12 messages in 12 passages ...\n"
    lines = result.stdout.splitlines()
    assert lines[0] == f"Question: {QUESTION}"
    assert re.fullmatch(r"  tokens    \d+ of 150; the budget is what budget_tokens says", lines[1])
    assert re.fullmatch(r"            \[s+=+#+>+\.*]", lines[2])
    assert any(
        re.fullmatch(r" +3  2023-11-15  user .* The staging proxy listens on port 8471.*", line) for line in lines
    )
    assert "  left out  " in result.stdout
    assert re.search(
        r"  window    a sliding window of this budget would hold the newest \d turns \(\d+ tokens\)", result.stdout
    )


def test_replay_can_print_the_messages_themselves(tmp_path: Path) -> None:
    transcript = tmp_path / "chat.jsonl"
    transcript.write_text("\n".join(map(json.dumps, chat())), encoding="utf-8")

    shown = run("replay", transcript, "--ask", QUESTION, "--show", home=tmp_path / "home")
    data = json.loads(run("replay", transcript, "--ask", QUESTION, "--show", "--json", home=tmp_path / "home").stdout)

    assert data["messages"][0] == {"role": "system", "content": "You are brief."}
    assert data["messages"][-1] == {"role": "user", "content": QUESTION}
    assert "The messages:\n[\n  {\n" in shown.stdout
    assert not (tmp_path / "home").exists()


def test_a_second_replay_into_the_same_store_stores_nothing_twice(store: Path, tmp_path: Path) -> None:
    transcript = tmp_path / "chat.json"
    transcript.write_text(json.dumps(chat()), encoding="utf-8")

    result = run("replay", transcript, "--ask", "Where does Ada live?", "--store", store, home=tmp_path)

    stats = json.loads(run("stats", "--store", store, "--json", home=tmp_path).stdout)
    assert result.exit_code == 0
    assert (stats["messages"], stats["selections"]) == (12, 2)


def test_search_shows_the_best_first(store: Path, tmp_path: Path) -> None:
    result = run("search", "staging", "proxy", "port", "--limit", 2, "--store", store, home=tmp_path)

    assert result.exit_code == 0
    title, header, best, *_ = result.stdout.splitlines()
    assert re.fullmatch(r"The best 2 of \d+ messages:", title)
    assert header.split() == ["id", "date", "who", "score", "found", "by", "text"]
    assert re.fullmatch(r" +3  2023-11-15  user +\d\.\d\d  meaning\+words  The staging proxy listens.*", best)
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_search_says_when_nothing_is_about_it(store: Path, tmp_path: Path) -> None:
    result = run("search", "zxqv", "--store", store, home=tmp_path)

    assert result.exit_code == 0
    assert result.stdout.endswith("Nothing was found.\n")
    assert result.stdout.startswith("note: ")


def test_why_shows_every_message_with_its_reason(store: Path, tmp_path: Path) -> None:
    result = run("why", "--store", store, home=tmp_path)
    view = json.loads(run("why", 1, "--store", store, "--json", home=tmp_path).stdout)

    assert result.exit_code == 0
    assert result.stdout.startswith("Selection 1, 2")
    assert f"\nQuestion: {QUESTION}\n" in result.stdout
    for title, marks in (("Kept as they were", "kept"), ("Recalled", "recalled"), ("Not sent", "dropped")):
        assert re.search(rf"^{title}: .*\b{len(view[marks])} ", result.stdout, re.MULTILINE)
    rows = re.findall(r"^ +(?:\d+|-)  (?:\d{4}-\d\d-\d\d|-) +(?:user|assistant) ", result.stdout, re.MULTILINE)
    assert len(rows) == sum(len(view[marks]) for marks in ("kept", "recalled", "dropped"))


def test_stats_show_what_is_stored(store: Path, tmp_path: Path) -> None:
    result = run("stats", "--store", store, home=tmp_path)

    assert result.exit_code == 0
    first, *others = result.stdout.splitlines()
    assert re.fullmatch(r"store          .* ?\(\d+\.\d MiB\)", first) or str(store)[:40] in first
    assert [line for line in others if not line.startswith(" ")] == [
        "conversations  1 in 1 session",
        "messages       12 in 6 turns (6 assistant, 6 user)",
        "said           2023-11-14 to 2023-11-19",
        "indexed        12 of 12 passages",
        "requests       1 recorded; see `vecctx why`",
        "secrets        0 replaced before they were written",
    ]


def test_doctor_finds_everything_well(store: Path, tmp_path: Path) -> None:
    result = run("doctor", "--store", store, home=tmp_path)
    view = json.loads(run("doctor", "--store", store, "--json", home=tmp_path).stdout)

    assert result.exit_code == 0
    assert result.stdout.endswith("\nEverything works.\n")
    names = ["versions", "settings", "model", "token ranks", "store", "integrity", "embeddings", "index files"]
    assert [(check["name"], check["state"]) for check in view["checks"]] == [(name, "ok") for name in names]


def test_the_store_can_be_named_by_its_file_and_is_the_homes_by_default(store: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shutil.copytree(store, home / "vecctx")

    by_file = json.loads(run("stats", "--json", "--store", store / "vecctx.db", home=tmp_path).stdout)
    of_home = json.loads(run("stats", "--json", home=home).stdout)

    assert by_file["messages"] == of_home["messages"] == 12
    assert (by_file["store"], of_home["store"]) == (str(store), str(home / "vecctx"))


def test_a_damaged_index_file_is_rebuilt_and_said_so(store: Path, tmp_path: Path) -> None:
    files = IndexFiles(store / "index", OnnxEmbedder().identity)
    damaged = files._path(1)
    damaged.parent.mkdir()
    arguments = ("search", "staging proxy port", "--store", store, "--json")
    whole = run(*arguments, home=tmp_path)

    damaged.write_bytes(b"vecctx index\n{}\n garbage")
    searched = run(*arguments, home=tmp_path)
    damaged.write_bytes(b"garbage")
    looked_after = run("doctor", "--store", store, home=tmp_path)

    assert searched.stdout == whole.stdout
    assert searched.stderr.startswith("warning: index file ")
    assert "rebuilt from the store" in searched.stderr
    assert looked_after.exit_code == 0
    assert re.search(
        r"^note +index files +1 damaged file was rebuilt from the store;", looked_after.stdout, re.MULTILINE
    )


def test_pending_passages_are_a_note(store: Path, tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(store / "vecctx.db") as connection:
        connection.execute("DELETE FROM vectors")
        connection.execute("UPDATE embedders SET done_through = 0")
    connection.close()

    doctor = run("doctor", "--store", store, home=tmp_path)
    search = run("search", "staging proxy", "--store", store, home=tmp_path)

    assert doctor.exit_code == 0
    assert re.search(r"^note +embeddings +12 passages of 12 wait for a vector", doctor.stdout, re.MULTILINE)
    assert "note: 12 passages are not embedded yet and found by words only" in search.stdout
    assert "The staging proxy" in search.stdout


def test_what_no_terminal_can_show_is_no_crash(tmp_path: Path) -> None:
    transcript = tmp_path / "chat.json"
    text = "the word zebra \ud800 \x1b[31m and \u202e more"
    transcript.write_text(json.dumps([{"role": "user", "content": text}, {"role": "assistant", "content": "ok"}]))
    store = tmp_path / "store"
    for arguments in (
        ("replay", transcript, "--ask", f"zebra? {text}", "--show", "--store", store),
        ("search", "zebra", "--store", store),
        ("search", "zebra", "--store", store, "--json"),
        ("why", "--store", store),
    ):
        result = run(*arguments, home=tmp_path)

        assert result.exit_code == 0, result.output
        assert "\x1b" not in result.stdout


def test_output_is_plain_and_narrow_where_the_terminal_is(store: Path, tmp_path: Path) -> None:
    for command in (("why",), ("search", "proxy"), ("doctor",)):
        result = run(*command, "--store", store, home=tmp_path, columns=80)

        assert "\x1b" not in result.stdout
        lines = [line for line in result.stdout.splitlines() if str(store)[:20] not in line]
        assert max(map(len, lines)) <= 88  # the budget's bar keeps its size


def test_each_command_says_in_its_help_how_it_is_used(tmp_path: Path) -> None:
    for name in ("demo", "replay", "search", "why", "stats", "doctor"):
        text = run(name, "--help", home=tmp_path).stdout

        assert f"Usage: vecctx {name}" in text
        assert re.search(rf"Example: vecctx\s+{name}", text)
        assert "--json" in text
        assert "--store" in text


def test_the_module_is_the_program(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-m", "vecctx", "--version"], capture_output=True, text=True, check=True)

    assert done.stdout == f"vecctx {__version__}\n"


def test_a_look_leaves_nothing_behind(store: Path, tmp_path: Path) -> None:
    """Neither ours nor what onnxruntime leaves where it reports its use to its maker."""
    empty = tmp_path / "empty"
    empty.mkdir()
    environment = {**os.environ, "HOME": str(empty), "TMPDIR": str(empty), "HERMES_HOME": str(empty)}
    environment.pop("ORT_DISABLE_TELEMETRY", None)
    command = [sys.executable, "-m", "vecctx", "search", "staging proxy", "--store", str(store)]

    subprocess.run(command, capture_output=True, check=True, env=environment)

    assert list(empty.iterdir()) == []


def test_help_loads_nothing_heavy() -> None:
    program = (
        "import sys\n"
        "from click.testing import CliRunner\n"
        "from vecctx.cli import main\n"
        "assert 'doctor' in CliRunner().invoke(main, ['--help']).output\n"
        "heavy = {'rich', 'numpy', 'faiss', 'onnxruntime', 'tiktoken', 'tokenizers', 'sqlite3'}\n"
        "print(sorted(heavy & set(sys.modules)))\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
