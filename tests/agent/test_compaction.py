import threading
from typing import Any

import pytest

from agent.config import CompressionConfig, HostConfig
from agent.context_compressor import is_summary
from agent.context_engine import Message
from agent.errors import ContextOverflowError
from agent.messages import assistant_row, estimate_tokens, user_row
from agent.testing import Reply, call
from tests.agent.support import ListeningEngine, chat, make_agent, problems


class Compressing(ListeningEngine):
    """Wants to compress from `limit_tokens` on, and returns what `shorten` makes of the history."""

    def __init__(self, shorten: Any = lambda rows: rows[-3:], limit_tokens: int = 100, *raising: str) -> None:
        super().__init__(*raising)
        self.shorten = shorten
        self.limit_tokens = limit_tokens

    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        self.tell("should_compress", prompt_tokens)
        return (prompt_tokens or 0) >= self.limit_tokens

    def compress(
        self,
        messages: list[Message],
        current_tokens: int | None = None,
        focus_topic: str | None = None,
        force: bool = False,
    ) -> list[Message]:
        self.tell("compress", {"tokens": current_tokens, "focus_topic": focus_topic, "force": force})
        shorter: list[Message] = self.shorten(messages)
        return shorter


def config(**compression: Any) -> HostConfig:
    return HostConfig(compression=CompressionConfig(**{"context_timeout_seconds": 10, **compression}))


def test_the_boundary_is_the_end_of_the_old_list_then_the_start_of_the_new() -> None:
    engine = Compressing()
    agent, model = make_agent(engine, history=chat(10), config=config(), conversation_id="c9")
    before = agent.history

    agent.run_turn("go on")

    hooks = [hook for hook, _ in engine.log]
    at = hooks.index("compress")
    assert hooks[at : at + 5] == [
        "compress",
        "on_session_end",
        "on_session_start",
        "get_tool_schemas",
        "select_context",
    ]
    ended, rows = engine.told("on_session_end")[0]
    assert ended == "s1"
    assert rows[:-1] == before
    assert rows[-1]["content"] == "go on"
    assert engine.told("on_session_start")[1] == {
        "session_id": "s1",
        "boundary_reason": "compression",
        "old_session_id": "s1",
        "platform": "cli",
        "conversation_id": "c9",
    }
    assert [row["content"] for row in model.requests[0][-3:]] == [row["content"] for row in rows[-3:]]


def test_a_compaction_that_is_not_in_place_makes_a_child_session() -> None:
    engine = Compressing()
    agent, _ = make_agent(engine, history=chat(10), config=config(in_place=False))

    agent.run_turn("go on")

    boundary = engine.told("on_session_start")[1]
    assert boundary["old_session_id"] == "s1"
    assert boundary["session_id"] == agent.session.session_id != "s1"


def test_kept_rows_keep_their_uid_and_the_engine_gets_sentinels() -> None:
    engine = Compressing(lambda rows: [user_row("summary"), *rows[-2:]])
    engine.last_prompt_tokens = 7
    agent, _ = make_agent(engine, history=chat(10), config=config())
    before = agent.history

    agent.compress()

    assert agent.history[1:] == before[-2:]
    assert len(agent.history[0]["message_uid"]) == 32
    assert engine.last_prompt_tokens == -1
    assert engine.awaiting_real_usage_after_compression


@pytest.mark.parametrize(
    ("shorten", "told"),
    [
        (lambda _rows: [], "something in it"),
        (lambda _rows: None, "something in it"),
        (lambda rows: [*rows, "text"], "something in it"),
        (lambda rows: [*rows, user_row("x" * 1000)], "larger"),
        (lambda _rows: 1 / 0, "ZeroDivisionError"),
    ],
)
def test_an_unusable_result_leaves_the_history_and_calls_no_boundary(
    shorten: Any, told: str, caplog: pytest.LogCaptureFixture
) -> None:
    engine = Compressing(shorten)
    agent, _ = make_agent(engine, history=chat(10), config=config())
    before = agent.history

    assert agent.run_turn("go on") == "ok"

    assert agent.history[: len(before)] == before
    assert engine.told("on_session_end") == []
    (record,) = caplog.records
    assert told in record.getMessage()
    assert "plain" in record.getMessage()


def test_where_compress_raises_the_built_in_engine_does_it_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    engine = Compressing(lambda _rows: 1 / 0, 2_000)
    agent, model = make_agent(engine, history=chat(40, tools=True), config=config(), context_length=4_000)

    assert agent.run_turn("go on") == "ok"

    assert estimate_tokens(model.requests[0]) < 4_000
    assert problems(model.requests[0]) == []
    assert any(is_summary(row) for row in agent.history)
    assert len(engine.told("on_session_end")) == 1
    (record,) = caplog.records
    assert "ZeroDivisionError" in record.getMessage()
    assert "the built-in one does it this time" in record.getMessage()


def test_no_progress_is_no_boundary_and_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    engine = Compressing(lambda rows: rows)
    agent, _ = make_agent(engine, history=chat(10), config=config())

    assert agent.run_turn("go on") == "ok"
    assert engine.told("on_session_end") == []
    assert caplog.records == []


def test_an_engine_that_edits_its_snapshot_and_raises_changes_nothing() -> None:
    def vandalise(rows: list[Message]) -> list[Message]:
        rows[0]["content"] = "edited"
        raise RuntimeError

    agent, _ = make_agent(Compressing(vandalise), history=chat(3), config=config())
    before = agent.history

    agent.run_turn("go on")

    assert agent.history[: len(before)] == before


def test_a_history_larger_than_the_window_that_stays_so_is_refused() -> None:
    engine = Compressing(lambda rows: rows)
    agent, model = make_agent(engine, history=chat(40), config=config(), context_length=500)

    agent.run_turn("go on")

    assert model.bodies == []
    assert agent.last_turn.exit_reason == "context_too_large"
    assert engine.told("on_turn_complete")[0]["failed"]


def test_a_history_without_a_user_row_gets_the_newest_one() -> None:
    agent, _ = make_agent(Compressing(lambda rows: [assistant_row("short")]), history=chat(10), config=config())

    agent.compress()

    assert [row["role"] for row in agent.history] == ["user", "assistant"]
    assert agent.history[0]["content"].startswith("question 9")


def test_a_time_out_fails_the_turn_and_a_late_result_is_discarded() -> None:
    release, finished = threading.Event(), threading.Event()

    def slow(rows: list[Message]) -> list[Message]:
        release.wait(10)
        finished.set()
        return rows[:1]

    engine = Compressing(slow)
    agent, model = make_agent(engine, history=chat(10), config=config(context_timeout_seconds=0.01))
    before = agent.history

    agent.run_turn("go on")
    release.set()
    assert finished.wait(10)

    assert agent.history[: len(before)] == before
    assert agent.last_turn.exit_reason == "context_compression_timeout"
    assert engine.told("on_turn_complete")[0]["turn_exit_reason"] == "context_compression_timeout"
    assert engine.told("on_session_end") == []
    assert model.bodies == []


def test_switched_off_nothing_is_asked_but_a_user_may_compress() -> None:
    engine = Compressing()
    script = [Reply(calls=[call("c1", "read")]), "ok"]
    agent, _ = make_agent(engine, script, history=chat(10), config=config(enabled=False))

    agent.run_turn("go on")
    assert engine.told("should_compress") == []

    assert agent.compress("bees")
    (told,) = engine.told("compress")
    assert (told["focus_topic"], told["force"]) == ("bees", True)


def test_a_user_is_told_that_there_is_nothing_to_compress() -> None:
    class Empty(Compressing):
        def has_content_to_compress(self, messages: list[Message]) -> bool:
            return False

    engine = Empty()
    agent, _ = make_agent(engine, history=chat(10), config=config())

    assert not agent.compress()
    assert engine.told("compress") == []


def test_the_first_turn_asks_with_the_whole_history_and_later_ones_with_real_usage() -> None:
    engine = Compressing(limit_tokens=10**9)
    agent, _ = make_agent(engine, history=chat(50), system_prompt="")
    history_tokens = estimate_tokens(agent.history)
    engine.select_context = lambda request, **_: request[-1:]  # type: ignore[method-assign]

    agent.run_turn("abcd")
    agent.run_turn("abcd")

    first, _, gate, second, *_ = engine.told("should_compress")
    assert first == history_tokens + 5
    assert gate == 5  # the selection is all that counts once there is one
    assert second == 5 + 5 + 5  # the first request, its answer, and the new message


def test_a_reason_against_compressing_reaches_the_user() -> None:
    class Explaining(Compressing):
        def should_compress_info(self, prompt_tokens: int | None = None) -> tuple[bool, str | None]:
            return False, "the store is full"

    agent, _ = make_agent(Explaining(limit_tokens=10**9))

    agent.run_turn("hi")

    assert agent.last_turn.notices == ["the store is full"]


def test_an_engine_may_wait_for_real_usage() -> None:
    class Waiting(Compressing):
        def should_defer_preflight_to_real_usage(self, prompt_tokens: int) -> bool:
            return True

    engine = Waiting()
    agent, _ = make_agent(engine, history=chat(10), config=config())

    agent.run_turn("go on")
    assert engine.told("compress") == []

    agent.run_turn("now there is usage")
    assert len(engine.told("compress")) == 1


def test_a_pruned_history_takes_the_place_of_the_long_one() -> None:
    class Pruning(Compressing):
        def prune_tool_results_only(
            self, messages: list[Message], current_tokens: int | None = None
        ) -> tuple[list[Message], int]:
            return [*messages[:-1], {**messages[-1], "content": "pruned"}], 1

    agent, model = make_agent(Pruning(limit_tokens=10**9), [Reply(calls=[call("c1", "read")]), "ok"])

    agent.run_turn("go on")

    assert model.requests[1][-1]["content"] == "pruned"


def test_an_overflow_compresses_as_if_the_window_were_full() -> None:
    engine = Compressing(limit_tokens=10**9)
    agent, _ = make_agent(engine, [ContextOverflowError("too long"), "ok"], history=chat(10), config=config())

    assert agent.run_turn("go on") == "ok"

    assert [told["tokens"] for told in engine.told("compress")] == [128_000]


def test_an_overflow_does_not_compress_where_that_is_switched_off() -> None:
    engine = Compressing()
    script = [ContextOverflowError("too long")]
    agent, _ = make_agent(engine, script, history=chat(10), config=config(enabled=False))

    agent.run_turn("go on")

    assert engine.told("compress") == []
    assert agent.last_turn.is_failed


def test_a_preflight_wish_is_granted_once_the_history_is_longer_than_what_is_protected() -> None:
    class Wishing(Compressing):
        def should_compress_preflight(self, messages: list[Message]) -> bool:
            return True

    short, long = Wishing(limit_tokens=10**9), Wishing(limit_tokens=10**9)

    make_agent(short, history=chat(4), config=config())[0].run_turn("go on")
    make_agent(long, history=chat(5), config=config())[0].run_turn("go on")

    assert (len(short.told("compress")), len(long.told("compress"))) == (0, 1)
