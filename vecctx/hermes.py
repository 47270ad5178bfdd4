"""What a plugin loader calls to get the engine, and with it the chat's command."""

import importlib
import logging
from typing import Any

from vecctx import chat_command
from vecctx.engine import VecctxEngine
from vecctx.summarizer import taken_by

logger = logging.getLogger(__name__)


def register(ctx: Any) -> None:  # noqa: ANN401 - each host hands over its own
    """Offer the engine, which `context.engine: vecctx` in the host's config chooses, and the command `/vecctx`."""
    engine = VecctxEngine()
    ctx.register_context_engine(engine)
    try:
        _offer_command(ctx, engine)
    except Exception as error:  # the host's code; without the command the engine serves all the same
        logger.warning("the command /%s is not there: %r", chat_command.NAME, error)


def _offer_command(ctx: Any, engine: VecctxEngine) -> None:  # noqa: ANN401 - the same
    offer, plugins = getattr(ctx, "register_command", None), _hermes_plugins(ctx)
    # Hermes registers each agent's engine, but has one table of commands, and warns of a second entry.
    if offer is None or chat_command.NAME in getattr(plugins, "_plugin_commands", {}):
        return

    def run(text: str) -> str:
        return chat_command.answer(text, _engine_here(engine, _hermes_plugins(ctx)))

    details = {"description": chat_command.DESCRIPTION, "args_hint": chat_command.ARGUMENTS_HINT}
    offer(chat_command.NAME, run, **taken_by(offer, details))


def _engine_here(registered: VecctxEngine, plugins: Any) -> VecctxEngine | None:  # noqa: ANN401 - Hermes' own class
    """The engine of the chat in which the command was typed; None where that cannot be known.

    In a gateway it cannot: another user's conversation must not be shown, so none is.
    """
    if plugins is None:
        # A host with a table for each agent. One that was only the pattern for others has no session.
        return registered if registered._session_id else None  # noqa: SLF001 - a host's attribute, for hosts
    agent = getattr(getattr(plugins, "_cli_ref", None), "agent", None)
    engine = getattr(agent, "context_compressor", None)
    return engine if isinstance(engine, VecctxEngine) else None


def _hermes_plugins(ctx: Any) -> Any:  # noqa: ANN401 - the same
    """Hermes' plugin manager; None in another host, also where Hermes is installed beside it."""
    if type(ctx).__module__.partition(".")[0] not in {"plugins", "hermes_cli"}:
        return None
    return importlib.import_module("hermes_cli.plugins").get_plugin_manager()
