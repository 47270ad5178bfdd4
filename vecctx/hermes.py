"""What a plugin loader calls to get the engine, and with it the chat's command."""

import importlib
import logging
import weakref
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
    offer, is_hermes = getattr(ctx, "register_command", None), _is_of_hermes(ctx)
    # Hermes registers each agent's engine, but has one table of commands, and warns of a second entry.
    if offer is None or (is_hermes and chat_command.NAME in getattr(_hermes_plugins(), "_plugin_commands", {})):
        return
    registered = weakref.ref(engine)  # the table outlives the agent, and must not keep its store open

    def run(text: str) -> str:
        return chat_command.answer(text, _engine_of_hermes_chat() if is_hermes else _if_bound(registered()))

    details = {"description": chat_command.DESCRIPTION, "args_hint": chat_command.ARGUMENTS_HINT}
    offer(chat_command.NAME, run, **taken_by(offer, details))


def _engine_of_hermes_chat() -> VecctxEngine | None:
    """The engine of the terminal's agent.

    A gateway has none, nor says whose chat it was: another user's conversation must not be shown, so none is.
    """
    agent = getattr(getattr(_hermes_plugins(), "_cli_ref", None), "agent", None)
    engine = getattr(agent, "context_compressor", None)
    return engine if isinstance(engine, VecctxEngine) else None


def _if_bound(engine: VecctxEngine | None) -> VecctxEngine | None:
    """The engine, unless it was only the pattern for those of the agents: that one has no session."""
    return engine if engine is not None and engine._session_id else None  # noqa: SLF001 - an attribute for hosts


def _is_of_hermes(ctx: object) -> bool:
    """Whether a context is Hermes' own; its modules may be loaded in other hosts, where it is installed beside them."""
    return type(ctx).__module__.partition(".")[0] in {"plugins", "hermes_cli"}


def _hermes_plugins() -> Any:  # noqa: ANN401 - Hermes' own class
    return importlib.import_module("hermes_cli.plugins").get_plugin_manager()
