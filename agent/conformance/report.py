"""What a check found, for people and for programs."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from .point import Point, Severity


class Outcome(StrEnum):
    """How a point came out."""

    KEPT = "kept"
    BROKEN = "broken"
    NOT_USED = "not used"


@dataclass(frozen=True, slots=True)
class Result:
    """One point's outcome; `detail` is what was seen."""

    point: Point
    outcome: Outcome
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """All points' outcomes for one engine."""

    engine: str
    results: tuple[Result, ...]

    @property
    def is_conformant(self) -> bool:
        """Whether no required point is broken."""
        return not self.broken(Severity.REQUIRED)

    def broken(self, severity: Severity | None = None) -> tuple[Result, ...]:
        """The points that do not hold."""
        wanted = set(Severity) if severity is None else {severity}
        return tuple(r for r in self.results if r.outcome is Outcome.BROKEN and r.point.severity in wanted)

    def as_dict(self) -> dict[str, Any]:
        """The report as JSON can hold it."""
        points = [
            {
                "name": result.point.name,
                "severity": str(result.point.severity),
                "outcome": str(result.outcome),
                "detail": result.detail,
                "sentence": result.point.sentence,
            }
            for result in self.results
        ]
        return {"engine": self.engine, "conformant": self.is_conformant, "points": points}

    def table(self) -> str:
        """The report as text: a line for each point, and the sentence of each that is broken."""
        width = max(len(result.point.name) for result in self.results)
        lines = [f"context engine {self.engine}", ""]
        for result in self.results:
            outcome = result.outcome.upper() if result.outcome is Outcome.BROKEN else str(result.outcome)
            detail = result.detail if result.outcome is Outcome.BROKEN else ""
            lines.append(f"  {result.point.name:<{width}}  {result.point.severity:<8}  {outcome:<8}  {detail}".rstrip())
        return "\n".join([*lines, "", *self._explanations(), self._summary()])

    def _explanations(self) -> list[str]:
        lines = [f"  {result.point.name}: {result.point.sentence}" for result in self.broken()]
        return ["what the broken points say:", *lines, ""] if lines else []

    def _summary(self) -> str:
        counts = Counter(result.outcome for result in self.results)
        required, advised = len(self.broken(Severity.REQUIRED)), len(self.broken(Severity.ADVISED))
        return (
            f"{counts[Outcome.KEPT]} kept, {counts[Outcome.NOT_USED]} not used, "
            f"{required} required and {advised} advised broken"
        )
