"""Keeps the host's turn alive, whatever happens in the engine."""

import logging
from collections.abc import Callable

from vecctx.errors import VecctxError

_LOG = logging.getLogger("vecctx")


class FailOpen:
    """Context managers that swallow errors and tell each kind of trouble once.

    Whatever the block was to give, its caller has set before: that is what stays. Only Exceptions are caught; Ctrl-C
    and the end of the process go their way.
    """

    def __init__(self) -> None:
        self._told: set[tuple[str, str]] = set()

    def __call__(self, doing: str, when_failed: Callable[[str], None] | None = None) -> "_Guard":
        """A guard for one piece of work; `when_failed` gets the error's text."""
        return _Guard(self, doing, when_failed)

    def tell(self, doing: str, error: Exception) -> None:
        """Log it, unless the same was logged before."""
        is_ours = isinstance(error, VecctxError)
        trouble = (doing, str(error) if is_ours else type(error).__name__)
        if trouble not in self._told:
            self._told.add(trouble)
            # Our errors say what to do; anything else is a bug, and its traceback says where.
            _LOG.warning("vecctx: %s failed, the host goes on without it: %s", doing, error, exc_info=not is_ours)


class _Guard:
    def __init__(self, owner: FailOpen, doing: str, when_failed: Callable[[str], None] | None) -> None:
        self._owner = owner
        self._doing = doing
        self._when_failed = when_failed

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> bool:
        if not isinstance(error, Exception):
            return False
        if self._when_failed:
            self._when_failed(str(error))
        self._owner.tell(self._doing, error)
        return True
