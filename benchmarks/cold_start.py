"""New process to first selection on an existing store, beside sentence-transformers with torch in the same run.

    python -m benchmarks.cold_start [--with-torch PATH_TO_PYTHON] [--model FOLDER] [--rounds 5]

The store is the demo's, made anew in a temporary folder. The other process only loads a model and embeds one question;
`--with-torch` names a Python that has sentence-transformers (`.venv-extras/bin/python`), `--model` a folder that it can
load, by default ours in `models/`.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

QUESTION = "What was my personal best time in the charity 5K run?"
MODEL = Path(__file__).parents[1] / "models" / "all-MiniLM-L6-v2"
SELECT = f"""
import sys
from vecctx.engine import VecctxEngine
engine = VecctxEngine(200_000)
engine.update_model("bench", 200_000)
engine.on_session_start("demo-8000", hermes_home=sys.argv[1])
asked = {{"role": "user", "content": {QUESTION!r}}}
sent = engine.select_context([asked], conversation_messages=[asked], incoming_message=asked, budget_tokens=200_000)
assert sent is not None and "recalled" in sent[0]["content"], sent
import os; os._exit(0)
"""
EMBED = f"""
import pathlib, sys
from sentence_transformers import SentenceTransformer
folder = pathlib.Path(sys.argv[1])
backend = "torch" if (folder / "model.safetensors").is_file() else "onnx"
SentenceTransformer(str(folder), backend=backend, device="cpu").encode({QUESTION!r})
import os; os._exit(0)
"""


def main() -> int:
    """Measure and print one line for each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--with-torch", default=None, help="a Python that has sentence-transformers")
    parser.add_argument("--model", default=str(MODEL), help="a folder that sentence-transformers loads")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as home:
        subprocess.run(
            [sys.executable, "-m", "vecctx", "demo", "--json", "--store", f"{home}/vecctx"],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        print(f"vecctx: {seconds([sys.executable, '-c', SELECT, home], options.rounds):.2f} s to the first selection")
    if options.with_torch:
        command = [options.with_torch, "-c", EMBED, options.model]
        print(f"sentence-transformers: {seconds(command, options.rounds):.2f} s to the first vector")
    return 0


def seconds(command: list[str], rounds: int) -> float:
    """The median wall time of a process."""
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    sys.exit(main())
