"""The demo, as a user runs it."""

import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from vecctx.cli.sample import conversation, questions

LONGEST_SECONDS = 120
MOST_BYTES = 600 << 20


def run(*arguments: str, home: Path) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "HERMES_HOME": str(home), "TMPDIR": str(home), "COLUMNS": "100"}
    command = [sys.executable, "-m", "vecctx", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.slow
def test_the_demo_runs_in_time_and_memory_and_shows_its_evidence(tmp_path: Path) -> None:
    started = time.monotonic()
    done = run("demo", home=tmp_path)
    seconds = time.monotonic() - started

    assert (done.returncode, done.stderr) == (0, "indexing 413 messages in 977 passages ...\n")
    assert seconds < LONGEST_SECONDS
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024 < MOST_BYTES
    assert list(tmp_path.iterdir()) == []  # neither ours nor what onnxruntime leaves where it reports its use
    out = done.stdout
    assert out.startswith("A chat of 413 messages and 104,517 tokens, 2023-04-23 to 2023-05-30.\n")
    assert len(re.findall(r"^Question \d of 6: ", out, re.MULTILINE)) == 6
    assert len(re.findall(r"^  tokens    [\d,]+ of 8,000; ", out, re.MULTILINE)) == 6
    unwrapped = re.sub(r"\s+", " ", out)
    for question in questions():
        for piece in question.evidence:
            assert re.search(rf'(yes|NO) (yes|NO) "{re.escape(piece.says)}"', unwrapped)
    assert re.search(r"All evidence was there for \d of 6 questions with vecctx, for \d of 6 with a sliding", unwrapped)


@pytest.mark.slow
def test_the_demo_finds_more_than_a_sliding_window_within_the_same_budget(tmp_path: Path) -> None:
    view = json.loads(run("demo", "--json", "--budget", "6000", home=tmp_path).stdout)

    assert [request["question"] for request in view["requests"]] == [question.text for question in questions()]
    assert all(request["request"]["used_tokens"] <= 6000 for request in view["requests"])
    assert all(request["window_tokens"] <= 6000 for request in view["requests"])
    assert all(
        mark["date"] and mark["reason"] for request in view["requests"] for mark in request["request"]["recalled"]
    )
    assert view["answerable"]["with_vecctx"] >= 5 > view["answerable"]["with_window"]


@pytest.mark.slow
def test_a_kept_store_can_be_looked_at_and_used_again(tmp_path: Path) -> None:
    store = str(tmp_path / "store")

    first = json.loads(run("demo", "--json", "--store", store, home=tmp_path).stdout)
    stats = json.loads(run("stats", "--json", "--store", store, home=tmp_path).stdout)
    why = json.loads(run("why", "--json", "--store", store, home=tmp_path).stdout)
    second = json.loads(run("demo", "--json", "--store", store, home=tmp_path).stdout)
    stats_after = json.loads(run("stats", "--json", "--store", store, home=tmp_path).stdout)

    assert stats["messages"] == len(conversation()) + 2 * len(questions())
    assert stats["not_yet_indexed"] == 0
    assert why == first["requests"][-1]["request"]
    assert stats_after["messages"] == stats["messages"]
    assert [_outcome(request) for request in second["requests"]] == [_outcome(request) for request in first["requests"]]


def _outcome(request: dict[str, Any]) -> tuple[Any, ...]:
    return request["evidence"], request["sent_tokens"], [mark["message"] for mark in request["request"]["recalled"]]
