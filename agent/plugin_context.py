"""What a plugin gets to register its context engine with, and what can be wrong with it."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .context_engine import ContextEngine
from .errors import HostError

logger = logging.getLogger(__name__)

_NEEDED = ("name", "update_from_response", "should_compress", "compress")


@dataclass(frozen=True, slots=True)
class Command:
    """A slash command of a plugin: it gets what follows the name as one text, and returns what to show."""

    name: str
    run: Callable[[str], str | None]
    description: str = ""


@dataclass(slots=True)
class PluginContext:
    """What a plugin's `register(ctx)` gets."""

    engine: ContextEngine | None = None
    commands: dict[str, Command] = field(default_factory=dict)

    def register_context_engine(self, engine: ContextEngine) -> None:
        """Offer an engine. Only one: a second is refused."""
        if not all(hasattr(engine, member) for member in _NEEDED):
            raise PluginError(f"{engine!r} is no context engine; it needs {', '.join(_NEEDED)}")
        if self.engine is not None:
            logger.warning("context engine %s is refused: %s is registered already", engine.name, self.engine.name)
            return
        self.engine = engine

    def register_command(self, name: str, handler: Callable[[str], str | None], description: str = "") -> None:
        """Offer a slash command; a name that is taken is refused."""
        name = name.lstrip("/")
        if name in self.commands:
            logger.warning("command /%s is refused: there is one already", name)
            return
        self.commands[name] = Command(name, handler, description)

    def _leave_out(self, *_args: Any, **_kwargs: Any) -> None:  # noqa: ANN401 - whatever a plugin offers
        """Take what only a whole agent has a use for, so that one plugin may serve both: the engine is what counts."""

    register_tool = register_hook = register_cli_command = register_memory_provider = _leave_out


class PluginError(HostError):
    """A plugin cannot be found or used."""


class NoEngineError(PluginError):
    """A plugin works, but offers no context engine."""


class OtherEngineError(PluginError):
    """A plugin offers an engine of another name than its own."""

    def __init__(self, engine_name: str) -> None:
        super().__init__(f"its plugin registers {engine_name!r} instead")
        self.engine_name = engine_name
