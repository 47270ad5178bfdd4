"""A session: the durable rows of a conversation, how large a request it would make, and what a turn came to."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .context_engine import Message
from .injection import sent_content
from .messages import copy_rows, estimate_tokens, strip_durable_keys


@dataclass(slots=True)
class Turn:
    """What happened in a turn."""

    turn_id: str
    reply: str = ""
    usage: dict[str, Any] | None = None
    api_call_count: int = 0
    is_interrupted: bool = False
    is_failed: bool = False
    exit_reason: str = "completed"
    notices: list[str] = field(default_factory=list)
    """What the host had to say besides the reply."""


@dataclass(slots=True)
class Session:
    """One conversation. Only the agent edits it; engines and models get copies."""

    session_id: str
    new_uid: Callable[[], str]
    clock: Callable[[], float]
    opening: list[Message] = field(default_factory=list)
    """The system row and the prefill: what each request starts with, and no durable row holds."""
    rows: list[Message] = field(default_factory=list)
    turn_count: int = 0
    anchor_tokens: int | None = None
    """What the provider counted for the last request; None where nothing is known."""
    anchor_rows: int = 0
    """How many rows there were then."""

    def append(self, row: Message, **durable: Any) -> Message:  # noqa: ANN401 - keys of stored rows
        """Store a row, with its uid and time."""
        stored = {**row, "message_uid": self.new_uid(), "timestamp": self.clock(), **durable}
        self.rows.append(stored)
        return stored

    def replace(self, rows: Sequence[Message]) -> None:
        """Store another history in place of this one; rows that have a uid keep it."""
        self.rows = [{"message_uid": self.new_uid(), "timestamp": self.clock(), **row} for row in copy_rows(list(rows))]
        self.anchor_tokens = None

    def request(self) -> list[Message]:
        """The whole conversation as a request: the opening, then the rows without their durable keys."""
        return copy_rows([*self.opening, *strip_durable_keys(map(sent_content, self.rows))])

    def anchor(self, prompt_tokens: int) -> None:
        """Remember what the provider counted for a request with all rows so far."""
        if prompt_tokens > 0:
            self.anchor_tokens, self.anchor_rows = prompt_tokens, len(self.rows)

    def pressure_tokens(self) -> int:
        """How large the next request is: counted by the provider plus what is new, else a rough size of everything.

        A good selection keeps this low by itself once a response arrived; before that the whole history counts.
        """
        if self.anchor_tokens is None:
            return estimate_tokens([*self.opening, *self.rows])
        return self.anchor_tokens + estimate_tokens(self.rows[self.anchor_rows :])

    def next_turn_id(self) -> str:
        """A name for the turn that starts."""
        self.turn_count += 1
        digest = hashlib.sha256(f"{self.session_id}:{self.turn_count}".encode()).hexdigest()[:8]
        return f"{self.session_id}:{self.turn_count}:{digest}"
