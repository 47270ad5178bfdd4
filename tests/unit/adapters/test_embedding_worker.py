"""The thread that embeds: it works when it is woken, survives errors, and can be waited for."""

import threading
from collections.abc import Callable, Iterator

import pytest

from vecctx.adapters.embedding_worker import EmbeddingWorker

LONG_SECONDS = 60.0


class Work:
    """Batches that wait to be embedded; `error` is raised instead where it is set."""

    def __init__(self, batches: int = 0) -> None:
        self.batches = batches
        self.error: BaseException | None = None
        self.runs = 0
        self.threads: set[threading.Thread] = set()

    def embed_next(self) -> int:
        self.runs += 1
        self.threads.add(threading.current_thread())
        if self.error:
            raise self.error
        if not self.batches:
            return 0
        self.batches -= 1
        return 32


@pytest.fixture
def started() -> Iterator[Callable[[Callable[[], int]], EmbeddingWorker]]:
    """Workers that are closed at the end of the test."""
    workers: list[EmbeddingWorker] = []

    def start(embed_next: Callable[[], int]) -> EmbeddingWorker:
        workers.append(EmbeddingWorker(embed_next))
        return workers[-1]

    yield start
    for worker in workers:
        worker.close()


Start = Callable[[Callable[[], int]], EmbeddingWorker]


def test_nothing_runs_before_it_is_woken(started: Start) -> None:
    work = Work(3)
    worker = started(work.embed_next)

    assert worker.wait(0)
    assert (work.runs, work.batches) == (0, 3)


def test_once_woken_it_works_until_nothing_waits(started: Start) -> None:
    work = Work(5)
    worker = started(work.embed_next)
    worker.wake()

    assert worker.wait(LONG_SECONDS)
    assert work.batches == 0
    assert worker.error is None


def test_each_wake_looks_again_on_the_same_thread(started: Start) -> None:
    work = Work(1)
    worker = started(work.embed_next)
    for _ in range(3):
        worker.wake()
        assert worker.wait(LONG_SECONDS)
        assert work.batches == 0
        work.batches = 2

    (thread,) = work.threads
    assert thread.daemon


def test_a_wake_while_it_works_is_not_missed(started: Start) -> None:
    """What is stored while a batch is embedded must not wait for the next turn."""
    is_inside, may_go_on = threading.Event(), threading.Event()
    batches = [1]

    def embed_next() -> int:
        found = bool(batches and batches.pop())
        if not found:  # it has seen that nothing waits, and has not said so yet
            is_inside.set()
            may_go_on.wait()
        return int(found)

    worker = started(embed_next)
    worker.wake()
    is_inside.wait()
    batches.append(1)
    worker.wake()
    may_go_on.set()

    assert worker.wait(LONG_SECONDS)
    assert batches == []


class NativePanicError(BaseException):
    """What code in other languages raises: no Exception."""


@pytest.mark.parametrize(
    "error", [RuntimeError("out of memory"), NativePanicError("overflow"), SystemExit(1)], ids=repr
)
def test_it_survives_an_error_and_tries_again_at_the_next_wake(started: Start, error: BaseException) -> None:
    """What is no Exception ended the thread, and who waited for it waited for ever."""
    work = Work(2)
    work.error = error
    worker = started(work.embed_next)
    worker.wake()

    assert not worker.wait(LONG_SECONDS)
    assert [worker.error] == [error]

    work.error = None
    worker.wake()

    assert worker.wait(LONG_SECONDS)
    assert [worker.error] == [None]
    assert (work.batches, len(work.threads)) == (0, 1)


def test_an_error_is_not_tried_again_on_its_own(started: Start) -> None:
    work = Work(2)
    work.error = RuntimeError("no model")
    worker = started(work.embed_next)
    worker.wake()
    worker.wait(LONG_SECONDS)

    assert work.runs == 1


def test_the_same_kind_of_error_is_told_once(started: Start, caplog: pytest.LogCaptureFixture) -> None:
    work = Work(1)
    worker = started(work.embed_next)
    for error in (RuntimeError("a"), RuntimeError("b"), OSError("c")):
        work.error = error
        worker.wake()
        worker.wait(LONG_SECONDS)

    assert [record.getMessage()[-3:] for record in caplog.records] == [": a", ": c"]


def test_waiting_tells_when_time_runs_out(started: Start) -> None:
    release = threading.Event()

    def embed_next() -> int:
        release.wait()
        return 0

    worker = started(embed_next)
    worker.wake()

    assert not worker.wait(0.001)
    release.set()
    assert worker.wait(None)


def test_closing_stops_behind_the_batch_that_is_being_embedded() -> None:
    is_inside, release = threading.Event(), threading.Event()
    runs = []

    def embed_next() -> int:
        runs.append(1)
        is_inside.set()
        release.wait()
        return 32

    worker = EmbeddingWorker(embed_next)
    worker.wake()
    is_inside.wait()
    closer = threading.Thread(target=worker.close)
    closer.start()

    assert not worker.wait(LONG_SECONDS)  # closed, and not all is done
    release.set()
    closer.join()
    assert len(runs) == 1


def test_a_closed_worker_ignores_wakes_and_may_be_closed_again() -> None:
    work = Work(1)
    worker = EmbeddingWorker(work.embed_next)
    worker.close()
    worker.wake()
    worker.close()

    assert work.runs == 0


def test_the_work_itself_may_close_the_worker() -> None:
    is_closed = threading.Event()

    def embed_next() -> int:
        worker.close()
        is_closed.set()
        return 1

    worker = EmbeddingWorker(embed_next)
    worker.wake()

    assert is_closed.wait(LONG_SECONDS)
    worker.close()


def test_it_prepares_once_and_first_and_goes_on_where_that_fails() -> None:
    """The model and the ranks are loaded off the chat's thread; what cannot be loaded is told when it is used."""
    work, order = Work(2), []

    def prepare() -> None:
        order.append(work.runs)
        raise SystemExit

    worker = EmbeddingWorker(work.embed_next, prepare)
    for _ in range(2):
        worker.wake()
        assert worker.wait(LONG_SECONDS)
    worker.close()

    assert order == [0]
    assert work.batches == 0
