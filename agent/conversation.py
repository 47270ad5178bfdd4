"""One conversation of a chat: the agent, the model behind it, and the file that keeps both."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from .context_engine import Message
from .errors import CompressionTimeoutError, ProviderError
from .interrupts import Interrupts
from .loop import Agent
from .messages import calls_of, estimate_tokens, text_of
from .provider import message_of, usage_of
from .screen import Screen, one_line, width
from .transcripts import SessionError, Transcripts, new_session_id

T = TypeVar("T")


class LiveModel(Protocol):
    """A model client that a user can stop."""

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """The response to a chat-completions body."""

    def begin(self) -> None:
        """A turn starts."""

    def cancel(self) -> None:
        """The turn shall end."""

    def wait(self, seconds: float) -> None:
        """Let time pass between two attempts."""


@dataclass(slots=True)
class ShownModel:
    """A model whose answers, tool calls and failures are shown as they come."""

    model: LiveModel
    screen: Screen
    last_request: list[Message] = field(default_factory=list)
    last_usage: dict[str, Any] = field(default_factory=dict)
    _streamed: str = ""
    _problem: str = ""

    def on_text(self, text: str) -> None:
        """Show a piece of the answer that arrives."""
        self._streamed += text
        self.screen.stream(text)

    def complete(self, body: dict[str, Any]) -> dict[str, Any]:
        """The model's response, shown."""
        self.last_request, self._streamed = body["messages"], ""
        try:
            response = self.model.complete(body)
            row = message_of(response)
        except ProviderError as error:
            self._problem = str(error)
            raise
        finally:
            self.screen.end_line()
        self.last_usage = usage_of(response)
        text = text_of(row)
        if text and not self._streamed:
            self.screen.say(text)
        for call in calls_of(row):
            function = call.get("function") or {}
            self.screen.note(f"-> {function.get('name')} {function.get('arguments')}")
        return response

    def wait(self, seconds: float) -> None:
        """Say what went wrong, and let time pass before it is tried again."""
        self.screen.note(one_line(f"Asking again in {seconds:g} s: {self._problem}", width()))
        self.model.wait(seconds)


@dataclass(slots=True)
class Conversation:
    """What the commands of a chat work on."""

    agent: Agent
    shown: ShownModel
    screen: Screen
    transcripts: Transcripts
    interrupts: Interrupts
    model: str

    def say(self, text: str) -> None:
        """One turn, shown and saved. Ctrl-C ends the turn."""
        self.shown.model.begin()
        self.interruptible(lambda: self._saved(lambda: self.agent.run_turn(text)))
        self._tell_end()

    def compress(self, focus: str) -> None:
        """Compact on request."""
        before = self.agent.history
        try:
            is_smaller = self.interruptible(lambda: self._saved(lambda: self.agent.compress(focus or None)))
        except CompressionTimeoutError as error:
            self.screen.note(f"Nothing is changed: {error}.")
            return
        after = self.agent.history
        self.screen.say(
            f"{_size(before)} became {_size(after)}." if is_smaller else "There was nothing to make smaller."
        )

    def start_over(self, *, is_new: bool) -> None:
        """Another session: a new one, whose engine hears of the old one's end, or a mere reset."""
        old, new = self.agent.session.session_id, new_session_id()
        (self.agent.new_session if is_new else self.agent.reset)(new)
        self.transcripts.release()
        self.shown.last_request, self.shown.last_usage = [], {}
        kept = f" The old one can be taken up with --resume {old}." if old in self.transcripts.ids() else ""
        self.screen.say(f"Session {new}.{kept}")

    def use_model(self, name: str) -> None:
        """Go on with another model."""
        self.model = name
        self.agent.set_model(name)

    def interruptible(self, work: Callable[[], T]) -> T:
        """What `work` returns or raises. The first Ctrl-C asks the turn to end, the second says what is waited for.

        Raises:
            LeftAloneError: the third.
        """
        return self.interrupts.run(work, self._stop, self._say_busy)

    def _saved(self, work: Callable[[], T]) -> T:
        """Do something, and keep what is new."""
        session = self.agent.session
        try:
            return work()
        finally:
            try:
                self.transcripts.hold(session.session_id)
                self.transcripts.save(session.session_id, session.rows, session.turn_count)
            except SessionError as error:
                self.screen.note(f"warning: {error}")

    def _stop(self) -> None:
        self.agent.interrupt()
        self.shown.model.cancel()

    def _say_busy(self) -> None:
        self.screen.note("The engine or a tool is still at work; Ctrl-C once more ends the program.")

    def _tell_end(self) -> None:
        turn = self.agent.last_turn
        for notice in turn.notices:
            self.screen.note(f"{notice}.".replace("..", "."))
        if turn.is_interrupted:
            self.screen.note("(interrupted)")
        elif turn.is_failed:
            self.screen.note(f"No reply: {turn.reply}")
        elif not turn.reply:
            self.screen.note("(an empty reply)")


def _size(rows: list[Message]) -> str:
    count = f"{len(rows)} message{'' if len(rows) == 1 else 's'}"
    return f"{count} (about {estimate_tokens(rows):,} tokens)"
