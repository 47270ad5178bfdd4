import sys
from pathlib import Path
from typing import Any

import pytest

from agent.caching import MARKER_KEY
from agent.config import CompressionConfig, HostConfig
from agent.context_compressor import ContextCompressor, is_summary
from agent.context_engine import Message
from agent.errors import ClosedError, ContextOverflowError, ProviderError, TurnInterruptedError
from agent.loop import MAX_ITERATIONS, Agent
from agent.messages import assistant_row, user_row
from agent.testing import Reply, ScriptedModel, call, run_conversation
from agent.tools import Tool
from tests.agent.support import ListeningEngine, PlainEngine, chat, make_agent, problems

READ = Tool("read", "reads", lambda path="": f"content of {path}")
LEAVE = Tool("leave", "leaves", sys.exit)


def test_an_engine_is_brought_to_life_in_the_contracts_order(tmp_path: Path) -> None:
    engine = ListeningEngine()

    make_agent(engine, home=tmp_path, platform="web", conversation_id="c", context_length=9000, model="m")

    assert engine.log == [
        ("update_model", ("m", 9000)),
        ("bind_session_state", "s1"),
        ("get_tool_schemas", None),
        (
            "on_session_start",
            {
                "session_id": "s1",
                "hermes_home": str(tmp_path),
                "platform": "web",
                "model": "m",
                "context_length": 9000,
                "conversation_id": "c",
            },
        ),
    ]


def test_a_turn_calls_the_hooks_in_order() -> None:
    engine = ListeningEngine()
    agent, _ = make_agent(engine, [Reply(calls=[call("c1", "read", path="x")]), "done"], tools=[READ])
    engine.log.clear()

    agent.run_turn("hi")

    assert [hook for hook, _ in engine.log] == [
        "should_compress",
        "should_compress",  # the second through should_compress_info
        "select_context",
        "update_from_response",
        "should_compress",  # after the tools
        "select_context",
        "should_compress",  # the gate; the first request of all has none, since nothing could be left out of it
        "update_from_response",
        "on_turn_complete",
    ]


def test_selection_sees_the_request_the_durable_rows_and_the_message() -> None:
    engine = ListeningEngine()
    agent, _ = make_agent(engine, history=chat(1), prefill=[user_row("prefill"), assistant_row("yes")])

    agent.run_turn("hi")

    (seen,) = engine.told("select_context")
    assert [row["role"] for row in seen["request"]] == ["system", "user", "assistant", "user", "assistant", "user"]
    assert all("message_uid" not in row and "timestamp" not in row for row in seen["request"])
    assert [row["role"] for row in seen["conversation_messages"]] == ["user", "assistant", "user"]
    assert all(len(row["message_uid"]) == 32 for row in seen["conversation_messages"])
    assert seen["incoming_message"]["content"] == "hi"
    assert seen["budget_tokens"] == 128_000


def test_the_incoming_message_is_the_same_in_each_round() -> None:
    engine = ListeningEngine()
    agent, _ = make_agent(engine, [Reply(calls=[call("c1", "read")]), "done"], tools=[READ])

    agent.run_turn("hi")

    first, second = engine.told("select_context")
    assert first["incoming_message"] == second["incoming_message"]


def test_a_batch_of_calls_is_run_and_answered_in_order() -> None:
    calls = [call("c1", "read", path="a"), call("c2", "nothing"), call("c3", "read", path="b")]
    agent, model = make_agent(PlainEngine(), [Reply("wait", calls), "done"], tools=[READ])

    assert agent.run_turn("hi") == "done"

    results = model.requests[1][-3:]
    assert [row["tool_call_id"] for row in results] == ["c1", "c2", "c3"]
    assert [row["content"] for row in results][::2] == ["content of a", "content of b"]
    assert "error" in results[1]["content"]
    assert problems(model.requests[1]) == []


def test_a_turn_that_ends_is_told_with_a_copy_and_its_figures() -> None:
    engine = ListeningEngine()
    agent, _ = make_agent(engine, [Reply("ok", usage={"prompt_tokens": 9})])

    agent.run_turn("hi")

    (told,) = engine.told("on_turn_complete")
    assert told["messages"] == agent.history
    assert told["usage"] == {"prompt_tokens": 9}
    assert told["turn_id"].startswith("s1:")
    del told["messages"], told["usage"], told["turn_id"]
    assert told == {"api_call_count": 1, "interrupted": False, "failed": False, "turn_exit_reason": "completed"}


@pytest.mark.parametrize(
    "hook",
    [
        "update_model",
        "bind_session_state",
        "get_tool_schemas",
        "on_session_start",
        "should_compress",
        "select_context",
        "update_from_response",
        "on_turn_complete",
        "on_session_end",
        "on_session_reset",
    ],
)
def test_no_broken_hook_breaks_a_conversation(hook: str) -> None:
    agent, model = make_agent(ListeningEngine(hook))
    plain_agent, plain_model = make_agent(PlainEngine())

    for each in (agent, plain_agent):
        assert run_conversation(each, ["one", "two"]) == ["ok", "ok"]
        each.new_session("s2")
        assert each.run_turn("three") == "ok"
        each.close()

    assert model.bodies == plain_model.bodies


class Exiting(PlainEngine):
    """Calls exit() wherever it is asked something."""

    def tell(self, hook: str, detail: Any = None) -> None:
        raise SystemExit(f"{hook} gives up")

    def select_context(self, request_messages: list[Message], **details: Any) -> None:
        self.tell("select_context")

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        raise SystemExit("no tools")


def test_an_engine_that_calls_exit_ends_no_turn_and_no_program() -> None:
    agent, _ = make_agent(Exiting(), ["one", Reply(calls=[call("c1", "leave")]), "two"], tools=[LEAVE])

    assert run_conversation(agent, ["hi", "again"]) == ["one", "two"]
    assert agent.compress()  # by the built-in engine


def test_a_turn_that_the_user_ended_keeps_what_the_model_had_said() -> None:
    engine = ListeningEngine()
    agent, model = make_agent(engine, [TurnInterruptedError("half a"), "ok"])

    assert agent.run_turn("hi") == "half a"

    told = engine.told("on_turn_complete")[0]
    assert (told["interrupted"], told["failed"], told["usage"]) == (True, False, None)
    assert agent.run_turn("go on") == "ok"
    assert [row["content"] for row in model.requests[-1][1:]] == ["hi", "half a", "go on"]


def test_another_model_is_told_to_the_engine_and_asked_from_then_on() -> None:
    engine = ListeningEngine()
    agent, model = make_agent(engine, context_length=9000)

    agent.set_model("large", 18_000)
    agent.set_model("other")
    agent.run_turn("hi")

    assert engine.told("update_model")[1:] == [("large", 18_000), ("other", 18_000)]
    assert model.bodies[0]["model"] == "other"


def test_the_request_is_marked_for_the_cache_and_the_history_is_not() -> None:
    agent, model = make_agent(PlainEngine(), history=chat(4))

    agent.run_turn("hi")

    marked = [i for i, row in enumerate(model.bodies[0]["messages"]) if MARKER_KEY in row]
    assert marked == [0, 7, 8, 9]
    assert not any(MARKER_KEY in row for row in agent.history)


def test_a_retry_asks_the_engine_again_and_sends_the_same_bytes_where_it_selects_the_same() -> None:
    engine = ListeningEngine()
    waits: list[float] = []
    down = ProviderError("busy", is_retryable=True)
    agent, model = make_agent(engine, [down, down, "ok"], wait=waits.append)

    assert agent.run_turn("hi") == "ok"

    assert model.bodies[0] == model.bodies[1] == model.bodies[2]
    assert len(engine.told("select_context")) == 3
    assert len(waits) == 2
    assert engine.told("on_turn_complete")[0]["api_call_count"] == 3


def test_a_provider_that_stays_down_fails_the_turn_and_leaves_a_notice() -> None:
    engine = ListeningEngine()
    agent, _ = make_agent(engine, [ProviderError("busy", is_retryable=True)] * 3)

    assert "busy" in agent.run_turn("hi")

    told = engine.told("on_turn_complete")[0]
    assert (told["failed"], told["turn_exit_reason"], told["usage"]) == (True, "provider_error", None)
    assert [row.get("display_kind") for row in agent.history] == [None, "notice"]


def test_a_refused_request_is_not_told_to_the_engine_and_the_next_turn_works() -> None:
    engine = ListeningEngine()
    agent, model = make_agent(engine, [ProviderError("bad request", status=400), "ok"])

    agent.run_turn("hi")
    assert engine.told("on_turn_complete") == []

    assert agent.run_turn("again") == "ok"
    assert problems(model.requests[-1]) == []


def test_an_overflow_that_names_a_window_means_one_more_selection_for_it() -> None:
    engine = ListeningEngine()
    agent, _ = make_agent(engine, [ContextOverflowError("too long", window_tokens=5000), "ok"])

    assert agent.run_turn("hi") == "ok"

    assert [seen["budget_tokens"] for seen in engine.told("select_context")] == [128_000, 5000]
    assert engine.threshold_tokens == 3750


def test_an_overflow_that_nothing_can_mend_ends_the_turn() -> None:
    agent, model = make_agent(PlainEngine(), [ContextOverflowError("too long")])

    assert "too long" in agent.run_turn("hi")
    assert len(model.bodies) == 1
    assert agent.last_turn.is_failed


def test_an_overflow_with_the_built_in_engine_is_mended_by_compaction() -> None:
    agent, model = make_agent(
        ContextCompressor(),
        [ContextOverflowError("too long"), "ok"],
        history=chat(40),
        context_length=6000,
        config=HostConfig(),
    )
    assert agent.run_turn("hi") == "ok"

    assert len(model.requests[1]) < len(model.requests[0])
    assert problems(model.requests[1]) == []


def test_an_interrupted_turn_is_told_as_such() -> None:
    engine = ListeningEngine()
    agent, model = make_agent(
        engine,
        [Reply(calls=[call("c1", "stop")]), "next"],
        tools=[Tool("stop", "stops", lambda: agent.interrupt())],  # noqa: PLW0108 - the agent comes later
    )

    agent.run_turn("hi")

    told = engine.told("on_turn_complete")[0]
    assert (told["interrupted"], told["failed"], told["turn_exit_reason"]) == (True, False, "interrupted")
    assert agent.run_turn("go on") == "next"
    assert problems(model.requests[-1]) == []


def test_a_model_that_only_calls_tools_is_stopped() -> None:
    agent, model = make_agent(PlainEngine(), lambda _body: Reply(calls=[call("c1", "read")]), tools=[READ])

    agent.run_turn("hi")

    assert len(model.bodies) == MAX_ITERATIONS + 1  # the last one asks for a summary, which this model does not give
    assert (agent.last_turn.exit_reason, agent.last_turn.is_failed) == ("max_iterations", True)
    assert all(problems(request) == [] for request in model.requests)


def test_after_a_compaction_tool_rounds_wait_for_real_usage() -> None:
    class Greedy(ListeningEngine):
        def update_from_response(self, usage: dict[str, Any]) -> None:
            """Never clears the host's mark."""

        def prune_tool_results_only(
            self, messages: list[Message], current_tokens: int | None = None
        ) -> tuple[list[Message], int]:
            self.tell("prune")
            return messages, 0

    engine = Greedy()
    script = [Reply(calls=[call("c1", "read")]), "a", Reply(calls=[call("c2", "read")]), "b"]
    agent, _ = make_agent(engine, script, tools=[READ])

    agent.run_turn("one")
    engine.awaiting_real_usage_after_compression = True
    agent.run_turn("two")

    assert len(engine.told("prune")) == 1


def test_a_new_session_ends_the_old_one_and_binds_the_new_without_starting_it() -> None:
    engine = ListeningEngine()
    agent, model = make_agent(engine)
    agent.run_turn("hi")
    before = agent.history
    engine.log.clear()

    assert agent.new_session("s2") == "s2"
    assert engine.log == [
        ("on_session_end", ("s1", before)),
        ("on_session_reset", None),
        ("bind_session_state", "s2"),
    ]
    agent.run_turn("fresh")
    assert [row["content"] for row in model.requests[-1][1:]] == ["fresh"]


def test_an_engine_that_knows_the_session_is_not_bound_again() -> None:
    engine = ListeningEngine()
    agent, _ = make_agent(engine)

    agent.reset("s1")

    assert engine.told("bind_session_state") == ["s1"]


def test_a_reset_only_resets_and_binds() -> None:
    engine = ListeningEngine()
    agent, _ = make_agent(engine)
    engine.log.clear()

    session_id = agent.reset()

    assert engine.log == [("on_session_reset", None), ("bind_session_state", session_id)]
    assert session_id != "s1"


def test_closing_ends_the_session_once() -> None:
    engine = ListeningEngine()
    agent, _ = make_agent(engine)

    agent.close()
    agent.close()

    assert len(engine.told("on_session_end")) == 1
    with pytest.raises(ClosedError):
        agent.run_turn("hi")


def test_two_agents_of_one_seed_send_and_store_the_same_bytes() -> None:
    first, second = (make_agent(PlainEngine()) for _ in range(2))

    for agent, _ in (first, second):
        run_conversation(agent, ["one", "two"])

    assert first[0].history == second[0].history
    assert first[1].bodies == second[1].bodies


def test_the_engine_is_the_one_that_the_home_directory_names(tmp_path: Path) -> None:
    plugin = tmp_path / "plugins" / "mine"
    plugin.mkdir(parents=True)
    (plugin / "__init__.py").write_text(
        "from tests.agent.support import PlainEngine\n\nclass Mine(PlainEngine):\n    name = 'mine'\n"
    )
    (tmp_path / "config.yaml").write_text("context: {engine: mine}\ncompression: {model_thresholds: {m: 0.25}}\n")

    agent = Agent(ScriptedModel(["ok"]), model="m", home=tmp_path, context_length=1000)

    assert agent.engine.name == "mine"
    assert agent.engine.threshold_tokens == 250


class Window(PlainEngine):
    """Sends the last six rows, wherever that cuts."""

    def select_context(self, request_messages: list[Message], **details: Any) -> list[Message]:
        return [request_messages[0], *request_messages[1:][-6:]]


def _busy(body: dict[str, Any]) -> Reply:
    """Two rounds of parallel calls, with ids that start over in each turn, then an answer."""
    since_user = [row["role"] for row in reversed(body["messages"])]
    rounds = since_user[: since_user.index("user")].count("assistant") if "user" in since_user else 2
    return Reply("ok") if rounds >= 2 else Reply(calls=[call(f"call_{n}", "read", path=str(n)) for n in range(3)])


@pytest.mark.parametrize(
    "engine", [Window(), PlainEngine(), ContextCompressor(protect_last_n=2)], ids=lambda e: type(e).__name__
)
def test_a_long_conversation_is_valid_in_each_request(engine: Any) -> None:
    config = HostConfig(compression=CompressionConfig(context_timeout_seconds=10))
    agent, model = make_agent(engine, _busy, tools=[READ], config=config, context_length=4000)

    replies = run_conversation(agent, [f"question {n} " + "detail " * 20 for n in range(100)])

    assert replies == ["ok"] * 100
    assert [found for request in model.requests for found in problems(request)] == []
    if isinstance(engine, ContextCompressor):
        assert engine.compression_count > 1
        assert sum(map(is_summary, agent.history)) == 1
