"""`chat`: a conversation with a model at a terminal, or with what comes through a pipe."""

import argparse
import contextlib
import importlib
import logging
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TextIO

from .commands import SlashCommand, run_line, with_plugins
from .conversation import Conversation, LiveModel, ShownModel
from .errors import HostError
from .host_tools import host_tools
from .interrupts import Interrupts, LeftAloneError
from .loop import Agent
from .offline import OfflineModel
from .screen import NoteHandler, Screen
from .streaming import StreamingClient
from .transcripts import Saved, Transcripts, new_session_id

_INTERRUPTED = 130  # what shells give to a program that Ctrl-C ended


def run_command(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] = os.environ,
    lines: TextIO | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Chat until the input ends; the exit status."""
    options = _parser().parse_args(arguments)
    screen = Screen(out or sys.stdout, err or sys.stderr)
    handler = NoteHandler(screen)
    logging.getLogger().addHandler(handler)
    try:
        conversation = _opened(options, environment, screen)
    except HostError as error:
        screen.note(f"chat: {error}")
        return 1
    else:
        return _chat(conversation, lines or sys.stdin)
    finally:
        logging.getLogger().removeHandler(handler)


def home_folder(environment: Mapping[str, str], chosen: str | None = None) -> Path:
    """Where settings, plugins and sessions are."""
    return Path(chosen or environment.get("HERMES_HOME") or "~/.hermes").expanduser()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"python -m {__package__} chat",
        description="Talk to a model, with the context engine that config.yaml names in between.",
    )
    add = parser.add_argument
    add("--base-url", metavar="URL", help="an OpenAI-compatible endpoint (default: $OPENAI_BASE_URL)")
    add("--model", metavar="NAME", help="what to ask the endpoint for")
    add("--key-env", metavar="NAME", help="the environment variable with the key (default: OPENAI_API_KEY)")
    add("--offline", action="store_true", help="no endpoint: quote what was sent that fits the question best")
    add("--resume", metavar="ID", nargs="?", const="", help="go on with a session; without ID the newest")
    add("--home", metavar="DIR", help="settings, plugins and sessions (default: $HERMES_HOME, else ~/.hermes)")
    add("--context-length", metavar="N", type=_positive, default=128_000, help="the model's window (default: 128000)")
    add("--timeout", metavar="SECONDS", type=float, default=120.0, help="how long to wait for a sign of the model")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number <= 0:
        raise argparse.ArgumentTypeError("give a number above 0")
    return number


def _opened(options: argparse.Namespace, environment: Mapping[str, str], screen: Screen) -> Conversation:
    home = home_folder(environment, options.home)
    transcripts = Transcripts(home)
    name = "offline" if options.offline else options.model
    shown = ShownModel(OfflineModel(), screen)
    shown.model = _model(options, environment, shown.on_text)
    saved = Saved(new_session_id()) if options.resume is None else _resumed(transcripts, options.resume)
    agent = Agent(
        shown,
        model=name,
        context_length=options.context_length,
        home=home,
        session_id=saved.session_id,
        history=saved.rows,
        tools=host_tools(),
        wait=shown.wait,
    )
    agent.session.turn_count = saved.turn_count
    place = "" if options.offline else f" at {options.base_url or environment['OPENAI_BASE_URL']}"
    went_on = f", {len(saved.rows)} messages so far" if saved.rows else ""
    screen.note(
        f"Model {name}{place}, engine {agent.engine.name}, session {saved.session_id}{went_on}. /help lists commands."
    )
    return Conversation(agent, shown, screen, transcripts, Interrupts(), name)


def _resumed(transcripts: Transcripts, session_id: str) -> Saved:
    """A session that is ours alone from here on; what another process wrote until then is in it.

    Raises:
        HostError: there is none, or another process holds it.
    """
    session_id = transcripts.load(session_id).session_id
    transcripts.hold(session_id)
    return transcripts.load(session_id)


def _model(options: argparse.Namespace, environment: Mapping[str, str], on_text: Callable[[str], None]) -> LiveModel:
    """The model that the options ask for.

    Raises:
        HostError: they do not say which.
    """
    if options.offline:
        return OfflineModel()
    base_url = options.base_url or environment.get("OPENAI_BASE_URL")
    if not base_url or not options.model:
        raise HostError("give --base-url URL and --model NAME, or --offline for a try without a model")
    if options.key_env and options.key_env not in environment:
        raise HostError(f"the environment variable {options.key_env} is not set")
    key = environment.get(options.key_env or "OPENAI_API_KEY", "")
    return StreamingClient(base_url, api_key=key, timeout_seconds=options.timeout, on_text=on_text)


def _chat(conversation: Conversation, lines: TextIO) -> int:
    """Read and answer until the end; Ctrl-C twice at the prompt is an end too."""
    commands = with_plugins(conversation.agent.commands)
    try:
        with conversation.interrupts.listening():
            _loop(conversation, commands, _reader(lines))
    except LeftAloneError:
        return _INTERRUPTED
    finally:
        conversation.transcripts.release()
    conversation.agent.close()
    return 0


def _loop(conversation: Conversation, commands: Mapping[str, SlashCommand], read: Callable[[], str | None]) -> None:
    was_interrupted = False
    while True:
        try:
            line = conversation.interrupts.read(read)
        except KeyboardInterrupt:
            if was_interrupted:
                return
            was_interrupted = True
            conversation.screen.is_mid_line = conversation.screen.out.isatty()  # behind the ^C that a terminal shows
            conversation.screen.note("Ctrl-C again ends the chat, as /quit does.")
            continue
        was_interrupted = False
        if line is None or (line.strip() and not run_line(conversation, commands, line.strip())):
            return


def _reader(lines: TextIO) -> Callable[[], str | None]:
    """What gives the next line, or None at the end; a terminal gets a prompt and a history."""
    if lines is sys.stdin and lines.isatty():
        with contextlib.suppress(ImportError):  # not on every system
            importlib.import_module("readline")
        return _prompted
    return lambda: lines.readline() or None


def _prompted() -> str | None:
    try:
        return input("> ")
    except EOFError:
        sys.stdout.write("\n")
        return None
