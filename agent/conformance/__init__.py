"""Whether a context engine keeps the contract: a suite for any engine, on the command line, in code and in pytest."""

from .command import run_command
from .point import Point, Severity
from .report import Outcome, Report, Result
from .suite import POINTS, check_engine, check_point

__all__ = ["POINTS", "Outcome", "Point", "Report", "Result", "Severity", "check_engine", "check_point", "run_command"]
