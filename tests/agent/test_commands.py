import io
from pathlib import Path
from typing import Any

import pytest

from agent.commands import BUILT_IN, run_line, with_plugins
from agent.config import HostConfig
from agent.context_engine import Message
from agent.conversation import Conversation, ShownModel
from agent.errors import CompressionTimeoutError, ProviderError, TurnInterruptedError
from agent.interrupts import Interrupts
from agent.loop import Agent
from agent.messages import user_row
from agent.plugin_context import Command
from agent.screen import Screen
from agent.testing import Reply, ScriptedModel, call
from agent.tools import Tool
from agent.transcripts import Transcripts
from tests.agent.support import ListeningEngine, chat


class Live(ScriptedModel):
    """A scripted model that can be cancelled and waited for."""

    def begin(self) -> None:
        """Nothing to forget."""

    def cancel(self) -> None:
        """Nothing to stop."""

    def wait(self, seconds: float) -> None:
        """Nothing to wait for."""


class Halving(ListeningEngine):
    def compress(
        self, messages: list[Message], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> list[Message]:
        self.tell("compress", focus_topic)
        return messages[-1:] if len(messages) > 1 else messages


class Chat:
    """A conversation whose output can be read."""

    def __init__(self, home: Path, script: Any = lambda _body: "ok", engine: Any = None, **options: Any) -> None:
        self.out, self.err = io.StringIO(), io.StringIO()
        screen = Screen(self.out, self.err)
        self.model, self.engine = Live(script), engine or ListeningEngine()
        shown = ShownModel(self.model, screen)
        self.agent = Agent(shown, engine=self.engine, config=HostConfig(), session_id="s1", wait=shown.wait, **options)
        self.conversation = Conversation(self.agent, shown, screen, Transcripts(home), Interrupts(), "first")
        self.commands = with_plugins({})

    def type(self, *lines: str) -> list[str]:
        """What is answered and remarked."""
        assert all(run_line(self.conversation, self.commands, line) for line in lines)
        return (self.out.getvalue() + self.err.getvalue()).splitlines()


def test_a_message_is_answered_and_kept(tmp_path: Path) -> None:
    assert Chat(tmp_path).type("hi") == ["ok"]
    assert [row["content"] for row in Transcripts(tmp_path).load("s1").rows] == ["hi", "ok"]


@pytest.mark.parametrize("line", ["/etc/hosts is a file", "/", "a /new b", "//new"])
def test_what_only_looks_like_a_command_is_a_message(tmp_path: Path, line: str) -> None:
    made = Chat(tmp_path)

    made.type(line)

    assert made.model.requests[0][-1]["content"] == line


@pytest.mark.parametrize(("line", "told"), [("/comtext", "the nearest is /context"), ("/zzzzz", "/help lists all")])
def test_an_unknown_command_is_no_message(tmp_path: Path, line: str, told: str) -> None:
    made = Chat(tmp_path)

    (answer,) = made.type(line)

    assert told in answer
    assert made.model.bodies == []


def test_new_ends_the_session_for_the_engine_and_reset_does_not(tmp_path: Path) -> None:
    made = Chat(tmp_path)

    new, reset = made.type("hi", "/new", "/RESET")[1:]

    assert len(made.engine.told("on_session_end")) == 1
    assert len(made.engine.told("on_session_reset")) == 2
    assert new.endswith("The old one can be taken up with --resume s1.")
    assert "--resume" not in reset  # nothing was said in between
    assert made.agent.history == []
    assert Transcripts(tmp_path).load("s1").rows


def test_compress_hands_over_the_focus_and_tells_the_sizes(tmp_path: Path) -> None:
    made = Chat(tmp_path, engine=Halving(), history=chat(2))

    lines = made.type("/compress the keys", "/compress")

    assert made.engine.told("compress") == ["the keys", None]
    assert lines[0].startswith("4 messages (about ")
    assert " became 2 messages (about " in lines[0]  # the one that is left, and the newest that a user wrote
    assert Transcripts(tmp_path).load("s1").rows == tuple(made.agent.history)


def test_a_compression_that_takes_too_long_changes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = Chat(tmp_path, history=chat(2))

    def late(_focus: str | None = None) -> bool:
        raise CompressionTimeoutError("compress() took longer than 1 s")

    monkeypatch.setattr(made.agent, "compress", late)

    assert made.type("/compress") == ["Nothing is changed: compress() took longer than 1 s."]


def test_the_model_can_be_changed(tmp_path: Path) -> None:
    made = Chat(tmp_path)

    assert made.type("/model", "/model second", "hi") == ["The model is first.", "The model is second.", "ok"]
    assert made.model.bodies[0]["model"] == "second"
    assert made.engine.told("update_model")[-1][0] == "second"


def test_the_context_counts_what_the_provider_counted(tmp_path: Path) -> None:
    made = Chat(tmp_path, [Reply("ok", usage={"prompt_tokens": 64_000})])

    assert "64,000 of 128,000 tokens sent" in "\n".join(made.type("hi", "/context"))


def test_help_lists_every_command(tmp_path: Path) -> None:
    lines = Chat(tmp_path).type("/help")

    assert [line.split()[0] for line in lines] == [f"/{name}" for name in BUILT_IN]
    assert all(len(line) <= 100 for line in lines)


def test_quit_ends_the_chat(tmp_path: Path) -> None:
    made = Chat(tmp_path)

    assert not run_line(made.conversation, made.commands, "/quit")


def test_a_command_of_a_plugin_never_takes_a_name_of_the_chat(caplog: pytest.LogCaptureFixture) -> None:
    commands = with_plugins({"Quit": Command("Quit", lambda _text: "no")})

    assert commands["quit"] is BUILT_IN["quit"]
    assert len(caplog.records) == 1


def test_a_tool_call_is_shown_and_its_reply_once(tmp_path: Path) -> None:
    tool = Tool("read", "reads", lambda: "content")

    assert Chat(tmp_path, [Reply("wait", [call("c1", "read")]), "done"], tools=[tool]).type("hi") == [
        "wait",
        "done",
        "-> read {}",
    ]


def test_what_was_streamed_is_not_shown_twice(tmp_path: Path) -> None:
    pieces: list[Any] = []

    def streaming(_body: dict[str, Any]) -> str:
        for text in ("hel", "lo"):
            pieces[0](text)
        return "hello"

    made = Chat(tmp_path, streaming)
    pieces.append(made.conversation.shown.on_text)

    assert made.type("hi") == ["hello"]


def test_tries_failures_interrupts_and_empty_replies_are_told(tmp_path: Path) -> None:
    busy = ProviderError("busy", is_retryable=True)
    made = Chat(tmp_path, [busy, "ok", ProviderError("bad key"), TurnInterruptedError(), Reply()])

    assert made.type("one", "two", "three", "four") == [
        "ok",
        "Asking again in 0.5 s: busy",
        "No reply: bad key",
        "(interrupted)",
        "(an empty reply)",
    ]


def test_a_session_that_cannot_be_saved_goes_on(tmp_path: Path) -> None:
    (tmp_path / "chat-sessions").write_text("in the way")

    lines = Chat(tmp_path).type("one", "two")

    assert lines[:2] == ["ok", "ok"]
    assert all("s1 is not saved" in line for line in lines[2:])


def test_a_taken_up_conversation_is_sent_along(tmp_path: Path) -> None:
    made = Chat(tmp_path, history=[user_row("before")])

    made.type("hi")

    assert "before" in made.model.requests[0][1]["content"]
