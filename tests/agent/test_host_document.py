"""What the document about the host shows is what it does."""

import io
import re
from pathlib import Path

from agent.chat import run_command
from agent.commands import BUILT_IN

ROOT = Path(__file__).parents[2]
DOCUMENT = (ROOT / "docs" / "reference-host.md").read_text(encoding="utf-8")


def test_the_chat_goes_as_it_is_shown(tmp_path: Path) -> None:
    (shown,) = re.findall(r"```text\n(> .*?)```", DOCUMENT, re.DOTALL)
    typed = [line.removeprefix("> ") for line in shown.splitlines() if line.startswith("> ")]
    out = io.StringIO()

    arguments, lines = ["--offline", "--home", str(tmp_path)], io.StringIO("\n".join(typed))
    assert run_command(arguments, environment={}, lines=lines, out=out, err=out) == 0

    told = [line for line in shown.splitlines() if not line.startswith("> ")]
    assert out.getvalue().splitlines()[1:] == told


def test_the_commands_are_those_of_the_chat() -> None:
    for command in BUILT_IN.values():
        assert f"| `{command.usage}` | {command.description} |" in DOCUMENT


def test_every_module_of_the_host_that_a_reader_needs_is_named_and_exists() -> None:
    named = set(re.findall(r"`(agent/[\w/]+\.py)`", DOCUMENT))

    assert {path for path in named if not (ROOT / path).is_file()} == set()
    for module in ("context_engine", "loop", "exchange", "hooks", "compaction", "workers", "plugins"):
        assert f"agent/{module}.py" in named
