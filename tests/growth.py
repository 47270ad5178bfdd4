"""How the work of a function grows with the length of its text."""

import time
from collections.abc import Callable

SHORT, LONG = 100_000, 1_000_000
LONGEST_GROWTH = 15.0
"""Ten times the text is ten times the work, and half as much again for the machine's noise; squared it is a hundred."""
_TOO_SMALL_SECONDS = 0.002
"""What takes less cannot be told from noise."""


def growth(function: Callable[[str], object], unit: str) -> float:
    """How many times the processor time of the short text the long one takes; the best of three where it is much."""
    tries = (_seconds(function, unit, LONG) / _seconds(function, unit, SHORT) for _ in range(3))
    best = next(tries)
    return best if best < LONGEST_GROWTH else min(best, *tries)


def _seconds(function: Callable[[str], object], unit: str, size: int) -> float:
    text = (unit * (size // len(unit) + 1))[:size]
    started = time.process_time()
    function(text)
    return max(time.process_time() - started, _TOO_SMALL_SECONDS)
