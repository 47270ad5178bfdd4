"""The host's command line: `chat`, `plugins` and `check-engine`."""

import importlib
import os
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

_MODULES = {"chat": ".chat", "plugins": ".choose", "check-engine": ".conformance"}
_USAGE = """\
usage: python -m {name} COMMAND ...

  chat          talk to a model, with a context engine in between; --offline needs no model
  plugins       list the context engines, and choose one
  check-engine  what an engine keeps of the contract, and what it breaks

Each has --help.
"""


def main(arguments: list[str]) -> int:
    """Run a command; the exit status."""
    name, *rest = arguments or ["--help"]
    if name in {"--help", "-h", "help"}:
        sys.stdout.write(_USAGE.format(name=__package__))
        return 0 if arguments else 2
    if name not in _MODULES:
        sys.stderr.write(f"There is no command {name!r}; there are {', '.join(_MODULES)}.\n")
        return 2
    # Only what is needed is loaded: a chat starts faster without the conformance suite.
    run_command: Callable[[list[str]], int] = importlib.import_module(_MODULES[name], __package__).run_command
    try:
        return run_command(rest)
    except BrokenPipeError:  # the reader of our output has left, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
