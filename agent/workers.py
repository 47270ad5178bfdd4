"""Runs compress(), and memory providers, on daemon threads of a small pool, so that the host can stop waiting."""

import inspect
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

from .context_engine import ContextEngine, Message
from .errors import CompressionBusyError, CompressionTimeoutError
from .messages import copy_rows

T = TypeVar("T")

_WORKERS = 4


class CompressionPool:
    """At most `workers` compressions at once; its threads are daemons and do not keep a process alive."""

    def __init__(self, workers: int = _WORKERS) -> None:
        self._workers = workers
        self._jobs: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._lock = threading.Lock()  # guards the two counters
        self._busy = 0
        self._started = 0

    def run(self, work: Callable[[], T], timeout_seconds: float, *, task: str = "compress()") -> T:
        """What `work` returns or raises. A result that comes too late goes nowhere.

        Raises:
            CompressionTimeoutError: it took longer than `timeout_seconds`.
            CompressionBusyError: all threads are taken.
        """
        result: Future[T] = Future()
        self._take_slot()
        self._jobs.put(lambda: self._settle(work, result))
        try:
            return result.result(timeout_seconds)
        except TimeoutError as error:
            if result.done():  # the work itself raised it
                raise
            raise CompressionTimeoutError(f"{task} took longer than {timeout_seconds:g} s") from error

    def _take_slot(self) -> None:
        with self._lock:
            if self._busy == self._workers:
                raise CompressionBusyError(f"{self._workers} compressions run already; try again later")
            self._busy += 1
            if self._started < self._busy:
                self._started += 1
                name = f"compress-ctx-timeout_{self._started}"
                threading.Thread(target=self._serve, name=name, daemon=True).start()

    def _serve(self) -> None:
        while True:
            self._jobs.get()()

    def _settle(self, work: Callable[[], T], result: "Future[T]") -> None:
        try:
            value = work()
        except BaseException as error:  # it is raised again where run() waits
            self._free_slot()
            result.set_exception(error)
        else:
            self._free_slot()
            result.set_result(value)

    def _free_slot(self) -> None:
        with self._lock:
            self._busy -= 1


POOL = CompressionPool()
"""One for the process, as threads are."""


def run_compress(
    engine: ContextEngine,
    messages: list[Message],
    *,
    timeout_seconds: float,
    pool: CompressionPool = POOL,
    **optional: Any,  # noqa: ANN401 - the contract's keywords
) -> list[Message]:
    """The engine's shorter history, made from a private copy. A timeout of 0 or less runs it right here."""
    accepted = {key: value for key, value in optional.items() if _accepts(engine, key)}
    snapshot = copy_rows(messages)

    def work() -> list[Message]:
        return engine.compress(snapshot, **accepted)

    return work() if timeout_seconds <= 0 else pool.run(work, timeout_seconds)


def _accepts(engine: ContextEngine, keyword: str) -> bool:
    """Whether compress() takes a keyword: engines may leave out the newer ones."""
    parameters = inspect.signature(engine.compress).parameters
    return keyword in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())
