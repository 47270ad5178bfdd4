"""Calls that are given up on when they take too long."""

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from vecctx.errors import DeadlinePassedError

Result = TypeVar("Result")
_MAX_LATE = 4
"""So many calls may be late at once; a model that hangs must not cost a thread for each request."""


class DeadlineRunner:
    """Runs each call on a daemon thread of its own and waits for it no longer than it may take."""

    def __init__(self) -> None:
        self._late: set[Future[object]] = set()
        self._late_lock = threading.Lock()
        """Guards the set of calls that were given up on and have not come back."""

    def run(self, function: Callable[[], Result], timeout_ms: float) -> Result:
        """What the function returns or raises.

        Raises:
            DeadlinePassedError: it took longer, or too many earlier calls are still late.
        """
        if timeout_ms == float("inf"):
            return function()
        with self._late_lock:
            self._late = {call for call in self._late if not call.done()}
            if len(self._late) >= _MAX_LATE or timeout_ms <= 0:
                raise DeadlinePassedError("no time left; earlier calls have not come back")
        call: Future[Result] = Future()
        threading.Thread(target=_fulfil, args=(call, function), daemon=True, name="vecctx-deadline").start()
        try:
            return call.result(timeout_ms / 1000)
        except TimeoutError:
            if call.done():  # the function itself raised it
                raise
            with self._late_lock:
                self._late.add(call)  # type: ignore[arg-type]  # only asked whether it is done
            raise DeadlinePassedError(f"it took longer than {timeout_ms:.0f} ms") from None


def _fulfil(call: Future[Result], function: Callable[[], Result]) -> None:
    try:
        call.set_result(function())
    except BaseException as error:  # whatever it is, the waiting thread raises it
        call.set_exception(error)
