"""A point of the contract: a name, a sentence, how much hangs on it, and the check of it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from .bench import Bench


class Severity(StrEnum):
    """What hangs on a point."""

    REQUIRED = "required"
    """Where it is broken a host loses a turn, a request, or what the engine is for."""
    ADVISED = "advised"
    """Where it is broken somebody pays: in money, in speed, or with another provider."""


@dataclass(frozen=True, slots=True)
class Point:
    """One point. `check` returns where an engine keeps it; Broken and NotUsed say that it does not, or has no need."""

    name: str
    sentence: str
    severity: Severity
    check: Callable[[Bench], None]


def required(name: str) -> Callable[[Callable[[Bench], None]], Point]:
    """Makes a point of a check; its docstring is the sentence."""
    return lambda check: _point(name, Severity.REQUIRED, check)


def advised(name: str) -> Callable[[Callable[[Bench], None]], Point]:
    """Makes a point of a check that an engine may break and still be used."""
    return lambda check: _point(name, Severity.ADVISED, check)


def _point(name: str, severity: Severity, check: Callable[[Bench], None]) -> Point:
    return Point(name, " ".join((check.__doc__ or "").split()), severity, check)
