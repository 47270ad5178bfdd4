"""The machine's clock."""

import time


class SystemClock:
    """Tells the time of this machine."""

    def now(self) -> float:
        """Unix seconds."""
        return time.time()

    def monotonic_ms(self) -> float:
        """Milliseconds since some fixed moment."""
        return time.monotonic() * 1000
