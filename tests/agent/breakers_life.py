"""Engines that break points about usage, turns, sessions and content."""

from typing import Any, ClassVar

from agent.context_engine import Message
from agent.messages import text_of
from tests.agent.engines import Compressing, GoodEngine, Selecting, breaks


@breaks("usage.odd")
class TrustsUsage(GoodEngine):
    def update_from_response(self, usage: dict[str, Any]) -> None:
        super().update_from_response({"prompt_tokens": int(usage["prompt_tokens"])})


@breaks("usage.awaiting")
class NeverClears(GoodEngine):
    def update_from_response(self, usage: dict[str, Any]) -> None:
        self.last_prompt_tokens = 900


@breaks("usage.figures")
class KeepsNoFigures(GoodEngine):
    def update_from_response(self, usage: dict[str, Any]) -> None:
        self.awaiting_real_usage_after_compression = False


@breaks("turn.complete")
class KnowsAllMeta(GoodEngine):
    def on_turn_complete(  # type: ignore[override]
        self,
        messages: list[Message],
        *,
        usage: Any,
        turn_id: str,
        task_id: str,
        api_call_count: int,
        interrupted: bool,
        failed: bool,
        turn_exit_reason: str,
    ) -> None:
        """Takes what today's hosts send, and no more."""


@breaks("turn.interrupted")
class ExpectsAnAnswer(GoodEngine):
    def on_turn_complete(self, messages: list[Message], usage: dict[str, Any] | None = None, **meta: Any) -> None:
        assert messages[-1]["role"] == "assistant"


@breaks("turn.inputs")
class EditsTheTranscript(GoodEngine):
    def on_turn_complete(self, messages: list[Message], usage: dict[str, Any] | None = None, **meta: Any) -> None:
        messages.pop()


class WithSession(Selecting):
    session_id: str | None = None

    def on_session_start(self, session_id: str, **details: Any) -> None:
        self.session_id = session_id

    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        assert self.session_id is not None
        return rows


@breaks("session.end")
class ClosesAtTheEnd(WithSession):
    def on_session_end(self, session_id: str, messages: list[Message]) -> None:
        self.session_id = None


@breaks("session.rotation")
class NeedsItsHome(GoodEngine):
    def on_session_start(self, session_id: str, **details: Any) -> None:
        self.home = details["hermes_home"]


@breaks("session.reset")
class NeedsAStart(WithSession):
    def on_session_reset(self) -> None:
        self.session_id = None


@breaks("session.review")
class NeedsASession(WithSession):
    pass


@breaks("content.odd")
class Encodes(Selecting):
    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        "".join(text_of(row) for row in rows).encode()
        return rows


@breaks("content.large")
class HasALimit(Compressing):
    def change(self, rows: list[Message]) -> list[Message]:
        assert all(len(text_of(row)) < 500_000 for row in rows)
        return super().change(rows)


@breaks("parallel")
class Alone(GoodEngine):
    alive: ClassVar[set[str]] = set()

    def on_session_start(self, session_id: str, **details: Any) -> None:
        self.alive.add(session_id)
        assert len(self.alive) == 1

    def on_session_end(self, session_id: str, messages: list[Message]) -> None:
        self.alive.discard(session_id)


@breaks("chat")
class FailsInAChat(GoodEngine):
    def on_turn_complete(self, messages: list[Message], usage: dict[str, Any] | None = None, **meta: Any) -> None:
        raise RuntimeError("on_turn_complete is broken")
