"""What a plugin loader calls to get the engine, and with it the chat's command."""

import logging
import sys
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
    offer = getattr(ctx, "register_command", None)
    # Hermes registers each agent's engine, but has one table of commands, and warns of a second entry.
    if offer is None or chat_command.NAME in getattr(_hermes_plugins(), "_plugin_commands", {}):
        return
    details = {"description": chat_command.DESCRIPTION, "args_hint": chat_command.ARGUMENTS_HINT}
    offer(chat_command.NAME, lambda text: chat_command.answer(text, _engine_here(engine)), **taken_by(offer, details))


def _engine_here(registered: VecctxEngine) -> VecctxEngine | None:
    """The engine of the chat in which the command was typed; None where that cannot be known.

    In a gateway it cannot: another user's conversation must not be shown, so none is.
    """
    plugins = _hermes_plugins()
    if plugins is None:
        # A host with a table for each agent. One that was only the pattern for others has no session.
        return registered if registered._session_id else None  # noqa: SLF001 - a host's attribute, for hosts
    agent = getattr(getattr(plugins, "_cli_ref", None), "agent", None)
    engine = getattr(agent, "context_compressor", None)
    return engine if isinstance(engine, VecctxEngine) else None


def _hermes_plugins() -> Any:  # noqa: ANN401 - Hermes' own class
    """Hermes' plugin manager; None in another host."""
    module = sys.modules.get("hermes_cli.plugins")
    return module.get_plugin_manager() if module else None
