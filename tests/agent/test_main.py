import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "agent", *arguments]
    return subprocess.run(command, input="", capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)


@pytest.mark.parametrize(("arguments", "status"), [([], 2), (["--help"], 0), (["help"], 0)])
def test_the_commands_are_listed(arguments: list[str], status: int) -> None:
    done = run(*arguments)

    assert done.returncode == status
    assert all(name in done.stdout for name in ("chat", "plugins", "check-engine"))


def test_an_unknown_command_is_wrong_usage() -> None:
    done = run("chta")

    assert (done.returncode, done.stdout) == (2, "")
    assert "chat, plugins, check-engine" in done.stderr


@pytest.mark.parametrize("name", ["chat", "plugins", "check-engine"])
def test_each_command_has_help(name: str) -> None:
    done = run(name, "--help")

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: ")
    assert name in done.stdout.splitlines()[0]


def test_a_wrong_option_is_wrong_usage() -> None:
    assert run("chat", "--context-length", "0").returncode == 2


def test_plugins_lists_what_a_checkout_has(tmp_path: Path) -> None:
    done = run("plugins", "--home", str(tmp_path))

    assert (done.returncode, done.stderr) == (0, "")
    assert [line.split()[1:3] for line in done.stdout.splitlines()[1:2]] == [["1", "compressor"]]


def test_a_reader_that_leaves_early_is_no_error(tmp_path: Path) -> None:
    command = f"{sys.executable} -m agent plugins --home {tmp_path} | true"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=ROOT, timeout=60, check=False)  # noqa: S602 - a fixed line

    assert "Traceback" not in done.stderr
