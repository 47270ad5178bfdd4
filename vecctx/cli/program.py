"""The program `vecctx`: its commands, and what becomes of errors."""

import io
import logging
import signal
import sys
import threading
from functools import partial
from typing import Any, NoReturn

import click

from vecctx._version import __version__
from vecctx.cli.demo import demo
from vecctx.cli.doctor import doctor
from vecctx.cli.hermes_group import hermes
from vecctx.cli.replay import replay
from vecctx.cli.search import search
from vecctx.cli.stats import stats
from vecctx.cli.why import why
from vecctx.errors import VecctxError


class Program(click.Group):
    """A group of commands whose errors take one line each; a bug keeps its traceback."""

    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:  # noqa: ANN401 - click's own signature
        """The program's context, from its arguments."""
        try:
            return super().make_context(*args, **kwargs)
        except click.UsageError as error:
            _refuse(error)

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401 - whatever a command returns
        """Run the command that was named."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            _refuse(error)
        except VecctxError as error:
            raise _CouldNotError(str(error)) from error


@click.group(
    cls=Program,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start with `vecctx demo`: it needs no network, no key and no configuration.",
)
@click.version_option(__version__, message="vecctx %(version)s")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Keep every turn of a long chat, and send with each request what that request needs."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            # Chats hold whatever people pasted: what a terminal cannot show becomes a "?", never a crash.
            stream.reconfigure(errors="replace")
    handler = _StderrHandler(logging.WARNING)
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        ctx.call_on_close(partial(logger.removeHandler, handler))
    _tidy_when_ended(ctx)


for _command in (demo, replay, search, why, stats, doctor, hermes):
    main.add_command(_command)

_LOGGERS = ("vecctx", "agent")
"""Ours, and the reference host's; in a wheel that one is part of ours."""


class _CouldNotError(click.ClickException):
    """One line on stderr, and exit status 1."""

    def __init__(self, message: str) -> None:
        super().__init__(" ".join(message.split()))

    def show(self, file: Any = None) -> None:  # noqa: ANN401 - click's own signature
        click.echo(f"error: {self.format_message()}", file=file, err=True)


class _WrongUsageError(_CouldNotError):
    """One line on stderr, and exit status 2."""

    exit_code = 2


class _StderrHandler(logging.Handler):
    def emit(self, record: logging.LogRecord) -> None:
        click.echo(f"{record.levelname.lower()}: {self.format(record)}", err=True)


def _tidy_when_ended(ctx: click.Context) -> None:
    """Whoever ends the program or closes its terminal leaves no copy of a chat in the folder for temporary files."""
    if threading.current_thread() is not threading.main_thread():
        return
    for name in ("SIGTERM", "SIGHUP"):
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _leave)
            ctx.call_on_close(partial(signal.signal, number, signal.SIG_DFL))


def _leave(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)


def _refuse(error: click.UsageError) -> NoReturn:
    """Say what is wrong with the arguments and where to read on; a program called without any shows its help."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        raise error
    command = error.ctx.command_path if error.ctx else "vecctx"
    raise _WrongUsageError(f"{error.format_message().rstrip('.')}; see `{command} --help`") from error
