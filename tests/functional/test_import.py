"""Importing vecctx is free: nothing heavy is loaded, no file of a store is touched."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "faiss",
    "onnxruntime",
    "torch",
    "sentence_transformers",
    "sqlite3",
    "numpy",
    "tokenizers",
    "tiktoken",
    "yaml",
    "click",
    "rich",
)
PROGRAM = """
import json, sys
opened = []
sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event in EVENTS else None)
exec(sys.argv[1])
print(json.dumps({"heavy": sorted(set(HEAVY) & set(sys.modules)), "opened": opened}))
"""
EVENTS = ("open", "os.mkdir", "os.listdir", "sqlite3.connect", "socket.connect", "subprocess.Popen")
STEPS = {
    "import": "import vecctx",
    "register": "import vecctx.hermes\nclass Host:\n    def register_context_engine(self, engine): pass\n"
    "vecctx.hermes.register(Host())",
    "build": "from vecctx.engine import VecctxEngine\nengine = VecctxEngine()\n"
    "engine.update_model(model='m', context_length=100_000)\nengine.get_tool_schemas()\nengine.clone_for_agent()\n"
    "engine.bind_session_state(object(), 's1')\nengine.get_status()\nengine.close()",
}


@pytest.mark.parametrize("step", STEPS)
def test_until_a_session_starts_nothing_heavy_is_loaded_and_no_store_is_touched(step: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    program = f"HEAVY = {HEAVY!r}\nEVENTS = {EVENTS!r}\n{PROGRAM}"
    environment = {**os.environ, "HERMES_HOME": str(home), "HOME": str(home)}
    command = [sys.executable, "-c", program, STEPS[step]]
    done = subprocess.run(
        command, capture_output=True, text=True, check=True, env=environment, cwd=Path(__file__).parents[2]
    )

    answer = json.loads(done.stdout)
    assert answer["heavy"] == []
    assert [path for path in answer["opened"] if str(home) in path] == []
    assert [path for path in answer["opened"] if path.endswith((".db", ".onnx", ".faiss", ".yaml"))] == []
    assert list(home.iterdir()) == []
    assert done.stderr == ""
