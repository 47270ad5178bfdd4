"""A thread that embeds what was stored, beside the chat."""

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress

_LOG = logging.getLogger("vecctx")


class EmbeddingWorker:
    """Runs `embed_next` until it has nothing to do, each time it is woken.

    What is not embedded when the process ends is found in the store by the next one.
    """

    def __init__(self, embed_next: Callable[[], int], prepare: Callable[[], object] = lambda: None) -> None:
        self._embed_next = embed_next
        self._prepare = prepare
        """Run once, first: it loads what the chat will need soon, off the chat's thread."""
        self._state = threading.Condition()
        """Guards the fields below; told whenever one of them changes."""
        self._thread: threading.Thread | None = None
        self._is_woken = False
        self._is_idle = True
        self._is_closed = False
        self._error: BaseException | None = None

    @property
    def error(self) -> BaseException | None:
        """What stopped the last run, if anything did."""
        return self._error

    def wake(self) -> None:
        """Look for work, soon."""
        with self._state:
            if self._is_closed:
                return
            self._is_woken, self._is_idle = True, False
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, daemon=True, name="vecctx-embedding")
                self._thread.start()
            self._state.notify_all()

    def wait(self, timeout_seconds: float | None) -> bool:
        """Wait until all work is done; False if time ran out or it failed."""
        with self._state:
            self._state.wait_for(lambda: self._is_idle or self._is_closed, timeout_seconds)
            return self._is_idle and self._error is None

    def close(self) -> None:
        """Stop behind the batch that is being embedded."""
        with self._state:
            self._is_closed = True
            self._state.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(_JOIN_SECONDS)

    def _run(self) -> None:
        with suppress(BaseException):  # what cannot be loaded now is told when it is used
            self._prepare()
        while self._next_round():
            try:
                while not self._is_closed and self._embed_next():
                    time.sleep(0)  # let the chat's thread have its turn between batches
                self._error = None
            # The model or the disk: the chat goes on by words, the next wake tries again. Native code raises more than
            # Exceptions; a thread that ended of them would leave everyone waiting.
            except BaseException as error:
                if type(error) is not type(self._error):
                    _LOG.warning("vecctx: embedding stopped, recall goes on by words: %s", error)
                self._error = error

    def _next_round(self) -> bool:
        with self._state:
            if not self._is_woken:
                self._is_idle = True
                self._state.notify_all()
            self._state.wait_for(lambda: self._is_woken or self._is_closed)
            self._is_woken = False
            return not self._is_closed


_JOIN_SECONDS = 5.0
"""A batch takes a quarter of a second; a model that hangs must not hold up the end of the process."""
