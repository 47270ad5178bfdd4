"""Ctrl-C: ends what runs, never the program, and is an exception only where a line is read."""

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from typing import Any, TypeVar

from .errors import HostError

T = TypeVar("T")

_PRESSED = "pressed"
_DONE = "done"
_LOOK_SECONDS = 0.5  # a signal that comes right before a wait begins is noticed after so long


class LeftAloneError(Exception):
    """Something still runs, and the user does not want to wait for it."""


class Interrupts:
    """Listens for Ctrl-C while work runs on other threads."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._is_reading = False

    @contextmanager
    def listening(self) -> Iterator[None]:
        """Take Ctrl-C over. Shells start jobs in the background with it ignored, so that is not left to them."""
        if threading.current_thread() is not threading.main_thread():
            yield  # only there Python hears of signals
            return
        after = signal.signal(signal.SIGINT, self._press)
        try:
            yield
        except LeftAloneError:
            after = signal.SIG_IGN  # the program ends anyway; one more would only lose its exit status
            raise
        finally:
            signal.signal(signal.SIGINT, after)

    def read(self, read: Callable[[], T]) -> T:
        """What `read` returns.

        Raises:
            KeyboardInterrupt: Ctrl-C came first.
        """
        self._is_reading = True
        try:
            return read()
        finally:
            self._is_reading = False

    def run(self, work: Callable[[], T], *steps: Callable[[], None]) -> T:
        """What `work` returns or raises, on another thread; each Ctrl-C meanwhile takes the next of the steps.

        Raises:
            LeftAloneError: there was one more Ctrl-C than there are steps.
        """
        events = self._events = queue.SimpleQueue()
        outcome: futures.Future[T] = futures.Future()
        outcome.add_done_callback(lambda _outcome: events.put(_DONE))
        threading.Thread(target=_settle, args=(work, outcome), name="turn", daemon=True).start()
        remaining = list(steps)
        while _next(events) != _DONE:
            if not remaining:
                raise LeftAloneError
            remaining.pop(0)()
        return outcome.result()

    def _press(self, *_signal: Any) -> None:  # noqa: ANN401 - number and frame
        if self._is_reading:
            raise KeyboardInterrupt
        self._events.put(_PRESSED)


def _next(events: "queue.SimpleQueue[str]") -> str:
    while True:
        try:
            return events.get(timeout=_LOOK_SECONDS)
        except queue.Empty:
            continue


def _settle(work: Callable[[], T], outcome: "futures.Future[T]") -> None:
    try:
        outcome.set_result(work())
    except Exception as error:  # it is raised again where the result is waited for
        outcome.set_exception(error)
    except BaseException as error:  # exit() in an engine or its plugin's command is not the user's wish
        outcome.set_exception(HostError(repr(error)))
