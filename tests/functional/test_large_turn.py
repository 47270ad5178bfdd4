"""A turn that outgrows the window: it is compressed by the host's summarizer, and what that drops comes back."""

import random
from pathlib import Path

from agent.loop import Agent
from agent.testing import Reply, ScriptedModel, call
from agent.tools import Tool
from tests.agent.support import problems

WINDOW_TOKENS = 16_000
FACT = "The vault code is 7319-zebra."


def test_a_turn_larger_than_the_window_shrinks_and_what_was_dropped_is_recalled(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text("context:\n  engine: vecctx\n  vecctx:\n    budget_tokens: 6000\n")
    model = ScriptedModel([Reply("", [call("call-1", "read_log")]), "It is a long log.", "7319-zebra."])
    log = Tool("read_log", "Read the log.", lambda: a_log_with(FACT))
    agent = Agent(model, home=tmp_path, context_length=WINDOW_TOKENS, session_id="s1", uid_seed=1, tools=[log])

    agent.run_turn("Read the log.")
    assert agent.last_turn is not None
    assert not agent.last_turn.is_failed
    agent.run_turn("What is the vault code?")
    agent.close()

    shrunk, asked = model.requests[1], model.requests[2]
    assert agent.engine.compression_count == 1
    assert FACT not in str(shrunk)
    assert FACT in str(asked)
    assert all(problems(request) == [] for request in model.requests)
    assert max(len(str(request)) for request in model.requests[1:]) < 4 * WINDOW_TOKENS


def a_log_with(fact: str) -> str:
    """Some 200,000 characters, the fact in the middle, where a summarizer cuts."""
    chooser = random.Random(1)
    lines = [" ".join(f"word{chooser.randrange(500)}" for _ in range(20)) for _ in range(1200)]
    return "\n".join([*lines[:600], fact, *lines[600:]])
