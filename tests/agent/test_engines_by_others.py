"""Engines from the package index run in the host unchanged; docs/conformance.md says what they keep and break."""

import json
import os
import re
import subprocess
import venv
from pathlib import Path
from typing import Any

import pytest
import yaml

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PACKAGES = ("lossless-hermes-py==0.1.6", "hermes-jev-compact==0.2.1", "pyyaml")
CONFIGS = {
    "lossless-hermes": "context: {engine: lossless-hermes}\n",
    "jev": "context: {engine: jev}\nplugins: {enabled: [hermes-jev-compact]}\n",
}
CHAT = """
import json, os, sys
from pathlib import Path
from agent.conformance.rules import list_problems
from agent.loop import Agent
from agent.testing import Reply, ScriptedModel, call
from agent.tools import Tool

def answer(body):
    rows = body["messages"]
    return Reply(calls=[call(f"c{len(rows)}", "read")]) if rows[-1]["role"] == "user" else Reply("done")

model = ScriptedModel(answer)
tools = [Tool("read", "reads", lambda: "a line of it\\n" * 300)]
agent = Agent(model, home=Path(os.environ["HERMES_HOME"]), context_length=16_000, tools=tools)
replies = {agent.run_turn(f"question {n}: " + "what about it? " * 40) for n in range(40)}
agent.close()
sizes = [len(request) for request in model.requests]
json.dump({
    "engine": agent.engine.name,
    "replies": sorted(replies),
    "invalid": sum(bool(list_problems(request)) for request in model.requests),
    "compactions": sum(after < before for before, after in zip(sizes, sizes[1:])),
}, sys.stdout)
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("others")
    venv.create(folder, with_pip=True)
    python = str(folder / "bin" / "python")
    _run(python, "-m", "pip", "install", "--quiet", *PACKAGES)
    return python


@pytest.mark.parametrize("engine", CONFIGS)
def test_an_engine_by_others_serves_a_chat_with_compaction(python: str, engine: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(CONFIGS[engine])

    chat = json.loads(_run(python, "-c", CHAT, home=tmp_path).stdout)

    assert chat["compactions"] > 1
    assert (chat["engine"], chat["replies"], chat["invalid"]) == (engine, ["done"], 0)


@pytest.mark.parametrize("engine", CONFIGS)
def test_the_document_shows_what_an_engine_by_others_breaks(python: str, engine: str, tmp_path: Path) -> None:
    checked = _run(python, "-m", "agent", "check-engine", engine, "--json", home=tmp_path, check=False)

    report: dict[str, Any] = json.loads(checked.stdout)
    broken = {point["name"] for point in report["points"] if point["outcome"] == "broken"}
    assert checked.returncode == (0 if report["conformant"] else 1)
    assert broken == _documented(engine)


@pytest.mark.parametrize("engine", CONFIGS)
def test_an_engine_by_others_is_listed_and_chosen_by_its_own_name(python: str, engine: str, tmp_path: Path) -> None:
    _run(python, "-m", "agent", "plugins", "--use", engine, home=tmp_path)

    listed = _run(python, "-m", "agent", "plugins", home=tmp_path).stdout
    assert re.search(rf"^\*.* {engine} ", listed, re.MULTILINE)
    assert yaml.safe_load((tmp_path / "config.yaml").read_text()) == yaml.safe_load(CONFIGS[engine])


def _documented(engine: str) -> set[str]:
    document = (ROOT / "docs" / "conformance.md").read_text()
    _, _, section = document.partition(f"context engine {engine}\n")
    return set(re.findall(r"^ *(\S+) +(?:required|advised) +BROKEN", section.partition("```")[0], re.MULTILINE))


def _run(*command: str, home: Path = ROOT, check: bool = True) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HERMES_HOME": str(home)}
    return subprocess.run(command, capture_output=True, text=True, check=check, env=environment, cwd=home)
