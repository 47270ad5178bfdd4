"""The slash commands of a chat: its own, and those that came with the engine's plugin."""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches

from . import context_view
from .conversation import Conversation
from .errors import HostError
from .messages import estimate_tokens
from .plugin_context import Command
from .provider import figure
from .screen import table

logger = logging.getLogger(__name__)

_COMMAND = re.compile(r"/([A-Za-z?][\w-]*)(?:\s+(.*))?", re.DOTALL)  # a path such as /etc/hosts is a message


@dataclass(frozen=True, slots=True)
class SlashCommand:
    """A command: `run` gets what follows its name, and says whether the chat goes on."""

    usage: str
    description: str
    run: Callable[[Conversation, str], bool]


def run_line(conversation: Conversation, commands: Mapping[str, SlashCommand], line: str) -> bool:
    """Run a command or say a message; False if the chat shall end."""
    found = _COMMAND.fullmatch(line.strip())
    if found is None:
        conversation.say(line)
        return True
    name, text = found[1].lower(), (found[2] or "").strip()
    if name not in commands:
        near = get_close_matches(name, commands, 1)
        hint = f"the nearest is /{near[0]}, and /help lists all" if near else "/help lists all"
        conversation.screen.note(f"There is no command /{name}; {hint}.")
        return True
    return commands[name].run(conversation, text)


def with_plugins(plugin_commands: Mapping[str, Command]) -> dict[str, SlashCommand]:
    """All commands by name. A name that the chat has is never a plugin's."""
    commands = dict(BUILT_IN)
    for name, command in plugin_commands.items():
        if name.lower() in commands:
            logger.warning("command /%s of the engine's plugin is left out: the chat has one", name)
            continue
        commands[name.lower()] = SlashCommand(
            f"/{name}", command.description or "(of the engine)", _plugin_run(command)
        )
    commands["help"] = SlashCommand("/help", "this list", lambda conversation, _text: _help(conversation, commands))
    return commands


def _new(conversation: Conversation, _text: str) -> bool:
    conversation.start_over(is_new=True)
    return True


def _reset(conversation: Conversation, _text: str) -> bool:
    conversation.start_over(is_new=False)
    return True


def _compress(conversation: Conversation, text: str) -> bool:
    conversation.compress(text)
    return True


def _context(conversation: Conversation, _text: str) -> bool:
    shown = conversation.shown
    used_tokens = figure(shown.last_usage.get("prompt_tokens")) or estimate_tokens(shown.last_request)
    rows, engine = conversation.agent.history, conversation.agent.engine
    conversation.screen.say(context_view.describe(engine, rows, shown.last_request, used_tokens))
    return True


def _model(conversation: Conversation, text: str) -> bool:
    if text:
        conversation.use_model(text)
    conversation.screen.say(f"The model is {conversation.model}.")
    return True


def _quit(_conversation: Conversation, _text: str) -> bool:
    return False


def _help(conversation: Conversation, commands: Mapping[str, SlashCommand]) -> bool:
    rows = [(command.usage, command.description) for command in commands.values()]
    conversation.screen.say(table(rows))
    return True


def _plugin_run(command: Command) -> Callable[[Conversation, str], bool]:
    def run(conversation: Conversation, text: str) -> bool:
        try:
            answer = conversation.interruptible(lambda: command.run(text))
        except Exception as error:  # a plugin is someone else's code
            reason = error if isinstance(error, HostError) else repr(error)
            conversation.screen.note(f"/{command.name} failed: {reason}")
            return True
        if answer:
            conversation.screen.say(str(answer))
        return True

    return run


BUILT_IN: Mapping[str, SlashCommand] = {
    "new": SlashCommand("/new", "end this session for the engine, and start a new one", _new),
    "reset": SlashCommand("/reset", "forget this conversation", _reset),
    "compress": SlashCommand(
        "/compress [focus]", "shorten the conversation, but not what is about the focus", _compress
    ),
    "context": SlashCommand("/context", "how full the window is, and what the last request held", _context),
    "model": SlashCommand("/model [name]", "the model, or another one from now on", _model),
    "help": SlashCommand("/help", "this list", _quit),
    "quit": SlashCommand("/quit", "end the chat, as the end of input does", _quit),
}
"""`help` gets its meaning when the list is complete."""
