"""A call that takes too long is given up on, and the next one is not held up."""

import threading
from collections.abc import Iterator

import pytest

from vecctx.adapters.deadline_runner import _MAX_LATE, DeadlineRunner
from vecctx.errors import DeadlinePassedError, StoreError

SOON_MS = 5.0
LONG_MS = 60_000.0


@pytest.fixture
def release() -> Iterator[threading.Event]:
    """Late functions wait for this; it is set at the end, so that no thread outlives its test."""
    event = threading.Event()
    yield event
    event.set()


def be_late(runner: DeadlineRunner, release: threading.Event, back: threading.Semaphore | None = None) -> None:
    def late() -> None:
        release.wait()
        if back:
            back.release()

    with pytest.raises(DeadlinePassedError, match="longer than 5 ms"):
        runner.run(late, SOON_MS)


def test_what_the_function_gives_comes_back() -> None:
    assert DeadlineRunner().run(lambda: "done", LONG_MS) == "done"
    assert DeadlineRunner().run(lambda: None, LONG_MS) is None


@pytest.mark.parametrize("error", [StoreError("/db", "is full"), ValueError("bug"), TimeoutError("its own")])
@pytest.mark.parametrize("timeout_ms", [LONG_MS, float("inf")])
def test_what_the_function_raises_comes_out(error: Exception, timeout_ms: float) -> None:
    def broken() -> None:
        raise error

    with pytest.raises(type(error)) as caught:
        DeadlineRunner().run(broken, timeout_ms)

    assert caught.value is error


def test_a_late_function_is_given_up_on(release: threading.Event) -> None:
    be_late(DeadlineRunner(), release)


def test_the_next_call_works_while_an_earlier_one_is_late(release: threading.Event) -> None:
    runner = DeadlineRunner()
    be_late(runner, release)

    assert runner.run(lambda: "done", LONG_MS) == "done"


def test_too_many_late_calls_end_in_no_more_threads_until_they_are_back(release: threading.Event) -> None:
    runner = DeadlineRunner()
    back = threading.Semaphore(0)
    for _ in range(_MAX_LATE):
        be_late(runner, release, back)
    started = threading.Event()

    with pytest.raises(DeadlinePassedError, match="have not come back"):
        runner.run(started.set, LONG_MS)
    assert not started.is_set()

    release.set()
    for _ in range(_MAX_LATE):
        back.acquire()
    for call in list(runner._late):
        call.result()
    assert runner.run(lambda: "done", LONG_MS) == "done"


@pytest.mark.parametrize("timeout_ms", [0.0, -5.0])
def test_without_time_left_nothing_is_begun(timeout_ms: float) -> None:
    started = threading.Event()

    with pytest.raises(DeadlinePassedError):
        DeadlineRunner().run(started.set, timeout_ms)

    assert not started.is_set()


def test_without_deadline_the_caller_runs_it_itself() -> None:
    assert DeadlineRunner().run(threading.current_thread, float("inf")) is threading.current_thread()


def test_with_a_deadline_a_thread_that_does_not_hold_up_the_end_runs_it() -> None:
    thread = DeadlineRunner().run(threading.current_thread, LONG_MS)

    assert thread is not threading.current_thread()
    assert thread.daemon


def test_calls_from_several_threads_do_not_wait_for_each_other() -> None:
    runner = DeadlineRunner()
    both_are_here = threading.Barrier(2)
    callers = [threading.Thread(target=runner.run, args=(both_are_here.wait, LONG_MS)) for _ in range(2)]

    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()

    assert not both_are_here.broken
