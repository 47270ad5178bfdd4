"""Five hundred turns in two sessions at once, while every hook of the engine fails in its turn."""

import threading
from typing import Any

from agent.config import CompressionConfig, HostConfig
from agent.context_engine import ContextEngine, Message
from agent.loop import Agent
from agent.testing import Reply, ScriptedModel, call
from agent.tools import Tool
from tests.agent.engines import GoodEngine
from tests.agent.support import PlainEngine, make_agent, problems

TURNS = 500
WINDOW_TOKENS = 1000
HOOKS = (
    *("select_context", "on_turn_complete", "update_from_response", "should_compress", "compress"),
    *("should_compress_info", "should_compress_preflight", "should_defer_preflight_to_real_usage"),
    *("prune_tool_results_only", "get_automatic_compaction_status_message", "get_tool_schemas", "handle_tool_call"),
    *("on_session_start", "on_session_end", "on_session_reset", "update_model", "bind_session_state"),
)
READ = Tool("read", "reads", lambda path="": f"content of {path}: " + "a line of it\n" * 20)


class Failing(GoodEngine):
    """Fails in one hook at a time: each for as many turns as come to it, in every other call."""

    def __init__(self) -> None:
        self.broken_hook = ""
        self.failures: dict[str, int] = {}
        self.compactions = 0
        super().__init__()

    def compress(self, messages: list[Message], *args: Any, **details: Any) -> list[Message]:
        self.compactions += 1
        return super().compress(messages, *args, **details)

    def bind_session_state(self, session_db: object, session_id: str) -> None:
        """Few engines have this hook."""

    def __getattribute__(self, name: str) -> Any:
        value = super().__getattribute__(name)
        if name not in HOOKS or super().__getattribute__("__dict__").get("broken_hook") != name:
            return value
        return self._fail

    def _fail(self, *_args: Any, **_details: Any) -> Any:
        hook = self.broken_hook
        self.failures[hook] = self.failures.get(hook, 0) + 1
        raise (RuntimeError, SystemExit, KeyError)[self.failures[hook] % 3](f"{hook} is broken")


def _answer(body: dict[str, Any]) -> Reply:
    """In every fourth turn a tool of the host and one of the engine, then an answer."""
    last: Message = body["messages"][-1]
    if last["role"] == "user" and "#0" in str(last["content"]):
        return Reply(calls=[call("c1", "read", path="notes"), call("c2", "recall", query="port")])
    return Reply("done")


def _agent(engine: ContextEngine, session_id: str) -> tuple[Agent, ScriptedModel]:
    config = HostConfig(compression=CompressionConfig(context_timeout_seconds=60))
    return make_agent(engine, _answer, session_id=session_id, config=config, context_length=WINDOW_TOKENS, tools=[READ])


def _chat(agent: Agent, engine: Any, barrier: threading.Barrier | None = None) -> list[str]:
    replies = []
    for n in range(TURNS):
        if isinstance(engine, Failing):
            # A tenth of the turns is served well: what fails must not outlast its turn either.
            engine.broken_hook = "" if n % 10 == 9 else HOOKS[n * len(HOOKS) // TURNS]
        if barrier is not None and n % 100 == 0:
            barrier.wait(60)  # the two sessions stay side by side
        replies.append(agent.run_turn(f"#{n % 4} question {n}: " + "what of it? " * 12))
        if n % 20 == 17:
            agent.set_model(f"model-{n}", WINDOW_TOKENS)
        if n % 120 == 118 or (n > TURNS - 100 and n % 20 == 5):
            agent.new_session()
    agent.close()
    return replies


def test_no_hook_that_fails_costs_a_turn_or_makes_an_invalid_request() -> None:
    barrier = threading.Barrier(2)
    engines = [Failing(), Failing()]
    agents = [_agent(engine, f"s{n}") for n, engine in enumerate(engines)]
    replies: dict[int, list[str]] = {}

    def serve(n: int) -> None:
        replies[n] = _chat(agents[n][0], engines[n], barrier)

    threads = [threading.Thread(target=serve, args=(n,)) for n in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)

    plain, plain_model = _agent(PlainEngine(), "plain")
    without_an_engine = _chat(plain, plain.engine)
    for n, (_, model) in enumerate(agents):
        assert replies[n] == ["done"] * TURNS
        assert [found for request in model.requests for found in problems(request)] == []
        assert engines[n].compactions > 10
    assert [found for request in plain_model.requests for found in problems(request)] == []
    assert without_an_engine == ["done"] * TURNS
    assert set(engines[0].failures) == set(engines[1].failures) == set(HOOKS)
