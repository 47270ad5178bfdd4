import threading

import pytest

from agent.context_engine import Message
from agent.errors import CompressionBusyError, CompressionTimeoutError
from agent.messages import user_row
from agent.workers import CompressionPool, run_compress
from tests.agent.support import PlainEngine, chat


class Blocking(PlainEngine):
    """Its compress() waits until it is released, then edits and returns what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.release = threading.Event()
        self.finished = threading.Event()
        self.thread = threading.current_thread()

    def compress(
        self, messages: list[Message], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> list[Message]:
        self.thread = threading.current_thread()
        self.release.wait(10)
        messages[0]["content"] = "edited"
        self.finished.set()
        return messages[:1]


class ObservedPool(CompressionPool):
    """Says when a slot is free again."""

    def __init__(self, workers: int) -> None:
        super().__init__(workers)
        self.is_free = threading.Event()

    def _free_slot(self) -> None:
        super()._free_slot()
        self.is_free.set()


def test_compress_works_on_a_private_copy_on_a_daemon_thread() -> None:
    engine, rows = Blocking(), chat(2)
    engine.release.set()

    result = run_compress(engine, rows, timeout_seconds=10, pool=CompressionPool())

    assert result == [user_row("edited")]
    assert rows == chat(2)
    assert engine.thread.daemon
    assert engine.thread.name == "compress-ctx-timeout_1"


def test_a_late_result_goes_nowhere_and_the_pool_lives_on() -> None:
    engine, rows, pool = Blocking(), chat(2), ObservedPool(1)
    with pytest.raises(CompressionTimeoutError):
        run_compress(engine, rows, timeout_seconds=0.01, pool=pool)
    engine.release.set()
    assert engine.finished.wait(10)

    assert rows == chat(2)
    assert pool.is_free.wait(10)
    assert pool.run(lambda: [user_row("next")], 10) == [user_row("next")]


def test_no_timeout_means_the_callers_own_thread() -> None:
    engine, rows = Blocking(), chat(1)
    engine.release.set()

    run_compress(engine, rows, timeout_seconds=0)

    assert engine.thread is threading.current_thread()
    assert rows == chat(1)


def test_what_compress_raises_comes_out() -> None:
    def fail() -> list[Message]:
        raise TimeoutError("its own")

    with pytest.raises(TimeoutError, match="its own"):
        CompressionPool(1).run(fail, 10)


def test_a_pass_too_many_is_refused() -> None:
    engine, pool = Blocking(), CompressionPool(1)
    with pytest.raises(CompressionTimeoutError):
        run_compress(engine, chat(1), timeout_seconds=0.01, pool=pool)

    with pytest.raises(CompressionBusyError):
        pool.run(list, 1)

    engine.release.set()


def test_threads_are_used_again() -> None:
    pool = CompressionPool(4)
    names = set()

    def work() -> list[Message]:
        names.add(threading.current_thread().name)
        return []

    for _ in range(5):
        pool.run(work, 10)

    assert names == {"compress-ctx-timeout_1"}


def test_only_keywords_that_compress_takes_are_passed() -> None:
    engine = PlainEngine()

    run_compress(engine, chat(1), timeout_seconds=0, current_tokens=5, focus_topic="t", force=True)

    assert engine.told("compress") == [(5, "t")]
