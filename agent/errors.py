"""The errors of the host.

HostError
├── ProviderError             the model's endpoint refused or could not be reached
│   └── ContextOverflowError  the request was larger than the model's window
├── TurnInterruptedError      the user ended the turn while the model answered
├── CompressionTimeoutError   compress() took longer than the host waits
├── CompressionBusyError      too many compressions run already
└── ClosedError               the agent was closed
"""


class HostError(Exception):
    """The root of the host's own errors."""


class ProviderError(HostError):
    """The endpoint answered with an error, or not at all; `is_retryable` says whether the same request may pass."""

    def __init__(self, problem: str, *, status: int | None = None, is_retryable: bool = False) -> None:
        super().__init__(problem)
        self.status = status
        self.is_retryable = is_retryable


class ContextOverflowError(ProviderError):
    """The request is larger than the window; `window_tokens` is the window, where the provider named it."""

    def __init__(self, problem: str, *, window_tokens: int | None = None) -> None:
        super().__init__(problem, status=413)
        self.window_tokens = window_tokens


class TurnInterruptedError(HostError):
    """The user ended the turn; `partial_reply` is what the model had said by then."""

    def __init__(self, partial_reply: str = "") -> None:
        super().__init__("the turn was interrupted")
        self.partial_reply = partial_reply


class CompressionTimeoutError(HostError):
    """compress() did not answer in time; what it still brings is thrown away."""


class CompressionBusyError(HostError):
    """All workers are busy with other compressions; try again later."""


class ClosedError(HostError):
    """The agent was closed; make a new one."""
