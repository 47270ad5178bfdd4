import gc
import logging
import sys
import weakref
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from agent.config import HostConfig
from agent.plugins import load_engine
from tests.fakes.embedder import FakeEmbedder
from tests.host import WINDOW_TOKENS, Session
from vecctx import wiring
from vecctx.engine import VecctxEngine
from vecctx.hermes import register


class FakeContext:
    """What Hermes hands to a plugin, as far as it is asked."""

    def __init__(self) -> None:
        self.engine: Any = None
        self.commands: dict[str, Callable[[str], str]] = {}
        self.hints: list[str] = []

    def register_context_engine(self, engine: object) -> None:
        self.engine = engine

    def register_command(
        self, name: str, handler: Callable[[str], str], description: str = "", args_hint: str = ""
    ) -> None:
        self.commands[name] = handler
        self.hints.append(args_hint)


FakeContext.__module__ = "hermes_cli.plugins"


@pytest.fixture
def hermes(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """Hermes' plugin manager, with a command line that serves no agent yet."""
    manager = SimpleNamespace(_plugin_commands={}, _cli_ref=SimpleNamespace(agent=None))
    module = ModuleType("hermes_cli.plugins")
    vars(module)["get_plugin_manager"] = lambda: manager
    monkeypatch.setitem(sys.modules, "hermes_cli.plugins", module)
    return manager


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[VecctxEngine], None]:
    """Lets an engine serve a conversation of one turn."""
    monkeypatch.setattr(wiring, "embedder_for", lambda settings: FakeEmbedder())

    def serve(engine: VecctxEngine) -> None:
        engine.update_model(model="test-model", context_length=WINDOW_TOKENS)
        session = Session(engine, tmp_path).start()
        session.turn("The bucket is blue-harbour-42.", "Noted.")
        session.ask("Which bucket?")

    return serve


def test_the_reference_hosts_chat_talks_to_its_own_engine(served: Callable[[VecctxEngine], None]) -> None:
    loaded = load_engine(HostConfig(engine="vecctx"))
    engine, command = loaded.engine, loaded.commands["vecctx"]
    assert isinstance(engine, VecctxEngine)

    before = command.run("status")
    served(engine)

    assert before is not None
    assert before.startswith("No conversation")
    assert (command.run("status") or "").startswith("vecctx serves this conversation.\nThe last request took ")
    assert "blue-harbour-42" in (command.run("search bucket") or "")
    engine.close()


def test_hermes_that_is_merely_installed_beside_another_host_is_not_asked(
    hermes: SimpleNamespace, served: Callable[[VecctxEngine], None]
) -> None:
    """It once was: its modules are loaded there, and no chat of its command line was found."""
    loaded = load_engine(HostConfig(engine="vecctx"))
    assert isinstance(loaded.engine, VecctxEngine)
    served(loaded.engine)

    assert "The last request took" in (loaded.commands["vecctx"].run("") or "")
    loaded.engine.close()


def test_in_hermes_it_talks_to_the_engine_of_the_chats_agent(
    hermes: SimpleNamespace, served: Callable[[VecctxEngine], None]
) -> None:
    ctx = FakeContext()
    register(ctx)
    own = ctx.engine.clone_for_agent()
    served(own)

    hermes._cli_ref.agent = SimpleNamespace(context_compressor=own)

    assert "The last request took" in ctx.commands["vecctx"]("")
    assert ctx.hints == ["status | why | search TEXT | help"]
    own.close()


@pytest.mark.parametrize("agent", [None, SimpleNamespace(context_compressor=object())])
def test_in_hermes_an_engine_of_another_chat_is_never_shown(
    hermes: SimpleNamespace, served: Callable[[VecctxEngine], None], agent: object
) -> None:
    """In a gateway the registered engine may be another user's."""
    ctx = FakeContext()
    register(ctx)
    served(ctx.engine)
    hermes._cli_ref = SimpleNamespace(agent=agent) if agent else None

    assert ctx.commands["vecctx"]("search bucket").startswith("No conversation")
    ctx.engine.close()


def test_a_second_agent_of_the_process_offers_no_second_command(hermes: SimpleNamespace) -> None:
    hermes._plugin_commands["vecctx"] = object()
    ctx = FakeContext()

    register(ctx)

    assert ctx.engine is not None
    assert ctx.commands == {}


def test_the_command_keeps_no_engine_alive(hermes: SimpleNamespace) -> None:
    """The table of commands outlives the agents; their engines, and the store with them, did too."""
    ctx = FakeContext()
    register(ctx)
    command, engine = ctx.commands["vecctx"], weakref.ref(ctx.engine)

    del ctx
    gc.collect()

    assert engine() is None
    assert command("status").startswith("No conversation")


def test_a_host_without_commands_gets_the_engine() -> None:
    offered: list[object] = []

    register(SimpleNamespace(register_context_engine=offered.append))

    assert len(offered) == 1


def test_a_host_that_refuses_the_command_keeps_the_engine(caplog: pytest.LogCaptureFixture) -> None:
    ctx = FakeContext()
    ctx.register_command = 3  # type: ignore[assignment,method-assign] # a host that is broken there

    with caplog.at_level(logging.WARNING):
        register(ctx)

    assert ctx.engine is not None
    assert "the command /vecctx is not there" in caplog.text
