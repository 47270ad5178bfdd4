"""The command `check-engine`."""

import argparse
import json
import logging
import os
import sys
from pathlib import Path

from .host import PluginError
from .suite import DEADLINE_SECONDS, check_engine

_WRONG_USAGE = 2


def run_command(arguments: list[str]) -> int:
    """Check an engine and print the table: 0 if all required points hold, 1 if one is broken, 2 for wrong usage."""
    try:
        options = _parser().parse_args(arguments)
    except SystemExit as stop:  # argparse has said what is wrong, or shown its help
        return int(stop.code or 0)
    logging.getLogger().addHandler(logging.NullHandler())  # what an engine logs while it is provoked is no report
    try:
        report = check_engine(options.engine, home=options.home, deadline_seconds=options.deadline)
    except PluginError as error:
        print(f"context engine {options.engine}: {error}", file=sys.stderr)  # noqa: T201 - a command's message
        return _WRONG_USAGE
    text = json.dumps(report.as_dict(), indent=2) if options.json else report.table()
    print(text)  # noqa: T201 - a command's result
    return 0 if report.is_conformant else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="check-engine", description="Check a context engine against the contract.")
    parser.add_argument("engine", help="the name of an installed engine, or module:Class")
    parser.add_argument("--json", action="store_true", help="the report as JSON")
    parser.add_argument("--home", type=Path, default=_home(), help="where engines are installed (%(default)s)")
    parser.add_argument(
        "--deadline", type=float, default=DEADLINE_SECONDS, metavar="SECONDS", help="for one point (%(default)g)"
    )
    return parser


def _home() -> Path:
    return Path(os.environ.get("HERMES_HOME") or Path.home() / ".hermes")
