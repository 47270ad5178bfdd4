"""What is measured: the engine as a host drives it, and what people use today."""

import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from benchmarks.conversations import Conversation
from vecctx.engine import VecctxEngine
from vecctx.ports import TokenCounter
from vecctx.turns.group import past_turns

SYSTEM = {"role": "system", "content": "You are a helpful assistant."}
WINDOW_TOKENS = 1_000_000


class Contestant(Protocol):
    """Takes in a conversation, and then chooses for questions at its end."""

    name: str

    def ask(self, question: str, budget_tokens: int) -> Sequence[dict[str, Any]]:
        """The messages that would be sent."""


class Vecctx:
    """The engine on a store of its own; each question is asked of a fresh clone."""

    name = "vecctx"

    def __init__(self, conversation: Conversation) -> None:
        self._conversation = conversation
        self._folder = tempfile.TemporaryDirectory(prefix="vecctx-bench-")
        self._engine = self._started(VecctxEngine(WINDOW_TOKENS), None)
        messages = list(conversation.messages)
        ends = [n for n in range(1, len(messages)) if messages[n]["role"] == "user" != messages[n - 1]["role"]]
        for end in (*ends, len(messages)):
            self._engine.on_turn_complete(messages[:end])
        if not self._engine.flush(3600):
            raise RuntimeError(f"{conversation.name} was not embedded; run `vecctx doctor`")

    def ask(self, question: str, budget_tokens: int) -> Sequence[dict[str, Any]]:
        """What the engine selects; the whole request where it leaves that alone."""
        engine = self._started(self._engine.clone_for_agent(), budget_tokens)
        asked = {"role": "user", "content": question}
        request = [
            SYSTEM,
            *({k: v for k, v in row.items() if k != "timestamp"} for row in self._conversation.messages),
            asked,
        ]
        chosen = engine.select_context(
            request,
            conversation_messages=[*self._conversation.messages, asked],
            incoming_message=asked,
            budget_tokens=WINDOW_TOKENS,
        )
        engine.close()
        return chosen if chosen is not None else request

    def _started(self, engine: VecctxEngine, budget_tokens: int | None) -> VecctxEngine:
        budget = f"    budget_tokens: {budget_tokens}\n" if budget_tokens else "    {}\n"
        Path(self._folder.name, "config.yaml").write_text(f"context:\n  vecctx:\n{budget}", encoding="utf-8")
        engine.update_model("bench", WINDOW_TOKENS)
        engine.on_session_start(self._conversation.name, hermes_home=self._folder.name)
        return engine

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._engine.close()
        self._folder.cleanup()


class SlidingWindow:
    """The newest whole turns that fit."""

    name = "sliding window"

    def __init__(self, conversation: Conversation, counter: TokenCounter) -> None:
        self._messages = conversation.messages
        self._counter = counter

    def ask(self, question: str, budget_tokens: int) -> Sequence[dict[str, Any]]:
        """System message, newest turns, question."""
        asked = {"role": "user", "content": question}
        left = budget_tokens - self._counter.count_message(SYSTEM) - self._counter.count_message(asked)
        first = len(self._messages)
        for turn in past_turns(self._messages, frozenset()):
            left -= sum(map(self._counter.count_message, self._messages[turn.start : turn.end]))
            if left < 0:
                break
            first = turn.start
        return [SYSTEM, *self._messages[first:], asked]


class Oracle:
    """The evidence itself, shortest first: what no packer can beat."""

    name = "(oracle)"

    def __init__(self, conversation: Conversation, counter: TokenCounter) -> None:
        self._evidence = {question.text: question.evidence for question in conversation.questions}
        self._messages = conversation.messages
        self._counter = counter

    def ask(self, question: str, budget_tokens: int) -> Sequence[dict[str, Any]]:
        """System message, evidence, question."""
        asked = {"role": "user", "content": question}
        left = budget_tokens - self._counter.count_message(SYSTEM) - self._counter.count_message(asked)
        rows = sorted((self._messages[n] for n in self._evidence[question]), key=self._counter.count_message)
        kept = []
        for row in rows:
            left -= self._counter.count_message(row)
            kept += [row] if left >= 0 else []
        return [SYSTEM, *kept, asked]
