import threading
from typing import Any

import pytest

from agent.config import CompressionConfig, HostConfig
from agent.context_engine import Message
from agent.memory import MemorySlot
from agent.messages import user_row
from agent.workers import CompressionPool
from tests.agent.support import ListeningEngine, PlainEngine, chat, make_agent


class Memory:
    """Records what it is told; the hook named in `raising` raises."""

    name = "memory"

    def __init__(self, raising: str = "", text: str = "remember the port") -> None:
        self.raising = raising
        self.text = text
        self.log: list[tuple[str, Any]] = []
        self.threads: set[str] = set()

    def tell(self, hook: str, detail: Any) -> None:
        self.threads.add(threading.current_thread().name)
        self.log.append((hook, detail))
        if hook == self.raising:
            raise SystemExit(f"{hook} is broken")

    def sync_turn(self, user_content: str, assistant_content: str, *, session_id: str = "") -> None:
        self.tell("sync_turn", (user_content, assistant_content, session_id))

    def on_pre_compress(self, messages: list[Message]) -> str:
        self.tell("on_pre_compress", len(messages))
        messages.clear()
        return self.text

    def on_session_switch(self, new_session_id: str, *, parent_session_id: str = "", reset: bool = False) -> None:
        self.tell("on_session_switch", (new_session_id, parent_session_id, reset))


class Compressing(ListeningEngine):
    """Keeps the last three rows, and takes what a memory wants to survive."""

    def compress(
        self,
        messages: list[Message],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        memory_context: str = "",
    ) -> list[Message]:
        self.tell("compress", memory_context)
        return messages[-3:]


def config(**compression: Any) -> HostConfig:
    return HostConfig(compression=CompressionConfig(**{"context_timeout_seconds": 10, **compression}))


def test_a_memory_hears_of_turns_with_a_reply_on_the_pool() -> None:
    memory = Memory()
    agent, _ = make_agent(PlainEngine(), memory=memory)

    agent.run_turn("hi")

    assert memory.log == [("sync_turn", ("hi", "ok", "s1"))]
    assert all(name.startswith("compress-ctx-timeout") for name in memory.threads)


def test_a_turn_that_was_interrupted_or_failed_is_no_memory() -> None:
    memory = Memory()
    agent, _ = make_agent(PlainEngine(), lambda _body: "", memory=memory)
    agent.interrupt = lambda: None  # type: ignore[method-assign]
    agent._interrupted.clear = lambda: None  # type: ignore[method-assign]
    agent._interrupted.set()

    agent.run_turn("hi")

    assert memory.log == []


def test_what_a_memory_wants_to_survive_reaches_an_engine_that_takes_it() -> None:
    engine, memory = Compressing(), Memory()
    agent, _ = make_agent(engine, history=chat(5), memory=memory, config=config())

    assert agent.compress()

    assert engine.told("compress") == ["remember the port"]
    assert memory.log == [("on_pre_compress", 10)]


def test_an_empty_text_and_an_engine_without_the_keyword_get_none() -> None:
    engine = Compressing()
    agent, _ = make_agent(engine, history=chat(5), memory=Memory(text=""), config=config())
    plain_agent, _ = make_agent(PlainEngine(), history=chat(5), memory=Memory(), config=config())

    assert agent.compress()
    assert not plain_agent.compress()  # nothing got shorter, and nothing failed

    assert engine.told("compress") == [""]


def test_a_memory_hears_of_another_session_id() -> None:
    memory = Memory()
    agent, _ = make_agent(Compressing(), history=chat(5), memory=memory, config=config(in_place=False))

    agent.compress()
    child = agent.session.session_id
    agent.new_session("s9")

    switches = [detail for hook, detail in memory.log if hook == "on_session_switch"]
    assert switches == [(child, "s1", False), ("s9", child, True)]


def test_a_compaction_in_place_is_no_switch() -> None:
    memory = Memory()
    agent, _ = make_agent(Compressing(), history=chat(5), memory=memory, config=config())

    agent.compress()

    assert [hook for hook, _ in memory.log] == ["on_pre_compress"]


@pytest.mark.parametrize("hook", ["sync_turn", "on_pre_compress", "on_session_switch"])
def test_a_broken_memory_breaks_nothing(hook: str, caplog: pytest.LogCaptureFixture) -> None:
    agent, _ = make_agent(Compressing(), history=chat(5), memory=Memory(hook), config=config(in_place=False))

    assert agent.run_turn("hi") == "ok"
    assert agent.compress()
    agent.new_session("s2")

    assert hook in caplog.text
    assert "memory provider memory" in caplog.text


def test_a_memory_that_hangs_is_left_alone(caplog: pytest.LogCaptureFixture) -> None:
    release, calls = threading.Event(), []

    class Hanging(Memory):
        def sync_turn(self, user_content: str, assistant_content: str, *, session_id: str = "") -> None:
            calls.append(user_content)
            release.wait(10)

    slot = MemorySlot(Hanging(), pool=CompressionPool(1), timeout_seconds=0.01)

    slot.turn_complete("one", "ok", "s")
    slot.turn_complete("two", "ok", "s")
    release.set()

    assert calls == ["one"]
    assert slot.before_compaction([user_row("x")]) == ""
    (record,) = caplog.records
    assert "sync_turn took longer" in record.getMessage()
