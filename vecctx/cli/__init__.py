"""The command line."""

from vecctx.cli.program import main

__all__ = ["main"]
