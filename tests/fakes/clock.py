"""A clock that stands still until it is told otherwise."""


class FakeClock:
    """A Clock that a test sets."""

    def __init__(self, now: float = 1_700_000_000.0) -> None:
        self.seconds = now

    def now(self) -> float:
        return self.seconds

    def monotonic_ms(self) -> float:
        return self.seconds * 1000

    def advance(self, seconds: float) -> None:
        self.seconds += seconds
