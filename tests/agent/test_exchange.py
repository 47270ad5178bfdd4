from typing import Any

from agent.config import CompressionConfig, HostConfig
from agent.context_engine import Message
from agent.errors import ProviderError
from agent.exchange import SUMMARY_REQUEST
from agent.loop import MAX_ITERATIONS
from agent.messages import estimate_tokens
from agent.testing import Reply, call
from agent.tools import Tool
from tests.agent.support import ListeningEngine, chat, make_agent, problems

READ = Tool("read", "reads", lambda: "content")


class Gated(ListeningEngine):
    """Wants to compress when it is asked about one of `sizes`, and keeps the last rows."""

    def __init__(self, answers: list[bool], keep: int = 3) -> None:
        super().__init__()
        self.answers = answers
        self.keep = keep

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        self.tell("should_compress", prompt_tokens)
        return self.answers.pop(0) if self.answers else False

    def should_compress_info(self, prompt_tokens: int | None = None) -> tuple[bool, str | None]:
        return False, None

    def select_context(self, request_messages: list[Message], **details: Any) -> list[Message] | None:
        super().select_context(request_messages, **details)
        return [request_messages[0], *request_messages[-1:]]

    def compress(
        self, messages: list[Message], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> list[Message]:
        self.tell("compress", current_tokens)
        return messages[-self.keep :]


def config(**compression: Any) -> HostConfig:
    return HostConfig(compression=CompressionConfig(**{"context_timeout_seconds": 10, **compression}))


def test_the_gate_asks_about_the_selection_compacts_and_selects_once_more() -> None:
    engine = Gated([False, True, True])
    agent, model = make_agent(engine, history=chat(10), config=config())

    assert agent.run_turn("hi") == "ok"

    assert engine.told("should_compress")[1] == estimate_tokens(model.requests[0])
    assert len(engine.told("select_context")) == 2
    assert len(engine.told("compress")) == 1  # only once, although it would have said yes again
    assert len(model.bodies) == 1
    assert agent.history[-2]["content"] == "hi"


def test_a_compaction_that_brought_nothing_is_not_tried_again_at_the_gate() -> None:
    engine = Gated([True, True], keep=1000)
    agent, _ = make_agent(engine, history=chat(10), config=config())

    assert agent.run_turn("hi") == "ok"

    assert len(engine.told("compress")) == 1


def test_a_compress_that_fails_refuses_no_turn() -> None:
    """What is selected may be small enough; where it is not, the provider says so."""

    class Failing(Gated):
        def compress(self, *_args: Any, **_details: Any) -> list[Message]:
            raise RuntimeError("broken")

    agent, model = make_agent(Failing([True]), history=chat(50), context_length=500, config=config())

    assert agent.run_turn("hi") == "ok"

    assert len(model.bodies) == 1


def test_without_compression_there_is_no_gate() -> None:
    engine = Gated([True, True])
    agent, _ = make_agent(engine, history=chat(10), config=config(enabled=False))

    agent.run_turn("hi")

    assert engine.told("should_compress") == engine.told("compress") == []


def test_an_engine_that_waits_for_real_usage_is_not_asked_at_the_gate() -> None:
    class Waiting(Gated):
        def should_defer_preflight_to_real_usage(self, prompt_tokens: int) -> bool:
            return True

    engine = Waiting([True, True])
    agent, _ = make_agent(engine, history=chat(10), config=config())

    agent.run_turn("hi")

    assert engine.told("compress") == []


def _only_tools(body: dict[str, Any]) -> Reply:
    return Reply(calls=[call("c1", "read")]) if "tools" in body else Reply("this is what I found")


def test_at_the_limit_of_rounds_the_whole_history_is_summarized_without_tools() -> None:
    engine = Gated([])
    agent, model = make_agent(engine, _only_tools, history=chat(3), tools=[READ])

    assert agent.run_turn("hi") == "this is what I found"

    last = model.requests[-1]
    assert "tools" not in model.bodies[-1]
    assert last[-1]["content"] == SUMMARY_REQUEST
    assert len(last) == 1 + 6 + 1 + 2 * MAX_ITERATIONS + 1
    assert len(engine.told("select_context")) == MAX_ITERATIONS
    assert problems(last) == []
    assert (agent.last_turn.exit_reason, agent.last_turn.is_failed) == ("max_iterations", False)
    assert agent.history[-1]["content"] == "this is what I found"


def test_a_summary_that_cannot_be_had_is_a_failed_turn_and_the_next_one_works() -> None:
    def answer(body: dict[str, Any]) -> Any:
        if body["messages"][-1].get("content") == "again":
            return "ok"
        return Reply(calls=[call("c1", "read")]) if "tools" in body else ProviderError("no", status=400)

    def script(body: dict[str, Any]) -> Any:
        return answer({**body, "messages": body["messages"]})

    agent, model = make_agent(Gated([]), script, tools=[READ])

    assert "No reply after" in agent.run_turn("hi")
    assert agent.last_turn.is_failed
    assert agent.run_turn("again") == "ok"
    assert problems(model.requests[-1]) == []


def test_an_engine_is_told_the_provider() -> None:
    class Models(ListeningEngine):
        def update_model(self, model: str, context_length: int, *args: Any, **details: Any) -> None:
            self.tell("details", details)

    engine = Models()
    make_agent(engine, provider="azure")

    assert engine.told("details") == [{"base_url": "", "api_key": "", "provider": "azure", "api_mode": ""}]
