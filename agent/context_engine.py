"""The contract between a host and a context engine: what is called when, and what an engine may leave out."""

import copy
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Self, TypeAlias

from .thresholds import resolve_model_threshold as resolve_model_threshold  # noqa: PLC0414 - engines import it from here

Message: TypeAlias = dict[str, Any]
"""A chat message in the OpenAI format; durable rows carry more keys (`message_uid`, `timestamp`, ...)."""


class ContextEngine(ABC):
    """Decides what of a long conversation a model gets to see.

    One engine serves one agent. Four members must be written; everything else has a default that changes nothing.
    The host sets attributes of its own on an engine, so a subclass has no `__slots__`, and it looks some up by name,
    so a subclass has no `__getattr__` that invents them. `__init__` has no side effects: listings construct engines.
    """

    last_prompt_tokens: int = 0
    """Prompt size that the provider counted last; the host sets -1 after a compaction, until usage arrives."""
    last_completion_tokens: int = 0
    last_total_tokens: int = 0
    threshold_tokens: int = 0
    """Prompt size from which the host should compress."""
    context_length: int = 0
    """The model's window, in tokens; 0 while unknown."""
    compression_count: int = 0
    threshold_percent: float = 0.75
    """Share of the window that `threshold_tokens` stands for."""
    protect_first_n: int = 3
    protect_last_n: int = 6
    model_thresholds: Mapping[str, float] | None = None
    """`threshold_percent` for models by a part of their name, as `resolve_model_threshold` reads it."""
    awaiting_real_usage_after_compression: bool = False
    """Set by the host when it compacted; the engine clears it in `update_from_response`."""

    # What every engine writes.

    @property
    @abstractmethod
    def name(self) -> str:
        """What `context.engine` in the config names this engine by."""

    @abstractmethod
    def update_from_response(self, usage: dict[str, Any]) -> None:
        """Take in a response's usage: prompt_tokens, completion_tokens, total_tokens, ...; it may be empty."""

    @abstractmethod
    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        """Whether the host should call `compress` now. The number may be a rough size of the whole history."""

    @abstractmethod
    def compress(
        self, messages: list[Message], current_tokens: int | None = None, focus_topic: str | None = None
    ) -> list[Message]:
        """A shorter, valid history, or the same list object if there is nothing to do.

        It runs on a pool thread, on a private copy without the system row, and may be given up on: it publishes
        nothing. A subclass may add the keywords `force`, `memory_context` and `bypass_cooldown`; the host passes
        those that it finds in the signature.
        """

    # What an engine may write: the request and the turn.

    def select_context(
        self,
        request_messages: list[Message],
        *,
        conversation_messages: list[Message] | None = None,
        incoming_message: Message | None = None,
        budget_tokens: int = 0,
    ) -> list[Message] | None:
        """The messages to send in place of the request, or None for the request as it is.

        Asked for each request, also for one that is tried again. `request_messages` starts with the system row;
        `conversation_messages` are the durable rows, which have none; `incoming_message` started the turn;
        `budget_tokens` is the whole window.
        """
        del request_messages, conversation_messages, incoming_message, budget_tokens
        return None

    def on_turn_complete(self, messages: list[Message], usage: dict[str, Any] | None = None, **meta: Any) -> None:  # noqa: ANN401 - the host's meta grows
        """The turn ended and its rows are durable. Meta: turn_id, api_call_count, interrupted, failed, ...

        Best effort: a turn that failed early may not be told.
        """
        del messages, usage, meta

    # Compression, beyond the two that must be written.

    def should_compress_preflight(self, messages: list[Message]) -> bool:
        """Whether to compress at the start of a turn although the size is below the threshold."""
        del messages
        return False

    def should_compress_info(self, prompt_tokens: int | None = None) -> tuple[bool, str | None]:
        """Asked after a no of `should_compress`: the answer, and a reason for the user where there is one."""
        return self.should_compress(prompt_tokens), None

    def should_defer_preflight_to_real_usage(self, prompt_tokens: int) -> bool:
        """Whether to wait for the provider's count instead of trusting a rough estimate."""
        del prompt_tokens
        return False

    def has_content_to_compress(self, messages: list[Message]) -> bool:
        """Whether compression on request has anything to work on."""
        return bool(messages)

    def prune_tool_results_only(
        self, messages: list[Message], current_tokens: int | None = None
    ) -> tuple[list[Message], int]:
        """A history with old tool results shortened, and how many were; the same list and 0 for none."""
        del current_tokens
        return messages, 0

    def get_automatic_compaction_status_message(
        self,
        *,
        phase: str = "",
        default_message: str = "",
        **context: Any,  # noqa: ANN401 - the host's context grows
    ) -> str | None:
        """What the user is told while the host compacts; None for nothing."""
        del phase, context
        return default_message or None

    # Tools that the model can call.

    def get_tool_schemas(self) -> list[dict[str, Any]]:
        """Tools of this engine, each with name, description and parameters."""
        return []

    def handle_tool_call(self, name: str, args: dict[str, Any], **context: Any) -> str:  # noqa: ANN401 - the host's context grows
        """The result of one of the engine's tools, as JSON. It may run on another thread."""
        del args, context
        return json.dumps({"error": f"context engine {self.name!r} has no tool {name!r}"})

    # The engine's life. A host may also call `bind_session_state(session_db, session_id)` where an engine defines it.

    def update_model(  # noqa: PLR0917 - the contract's order; hosts pass keywords
        self,
        model: str,
        context_length: int,
        base_url: str = "",
        api_key: str = "",
        provider: str = "",
        api_mode: str = "",
    ) -> None:
        """The model and its window are known or have changed."""
        del base_url, api_key, api_mode
        own = vars(self).setdefault("_config_threshold_percent", self.threshold_percent)
        self.context_length = context_length
        self.threshold_percent = resolve_model_threshold(model, self.model_thresholds, own, provider)
        self.threshold_tokens = int(context_length * self.threshold_percent)

    def on_session_start(self, session_id: str, **details: Any) -> None:  # noqa: ANN401 - the host's details grow
        """A session starts, or goes on after a compaction (`boundary_reason="compression"`, `old_session_id`)."""
        del session_id, details

    def on_session_end(self, session_id: str, messages: list[Message]) -> None:
        """A session ends, or was compacted and goes on: no reason to close anything shared."""
        del session_id, messages

    def on_session_reset(self) -> None:
        """The next messages belong to a new conversation."""
        self.last_prompt_tokens = 0
        self.last_completion_tokens = 0
        self.last_total_tokens = 0
        self.compression_count = 0

    def clone_for_agent(self) -> Self:
        """An engine for another agent, made from one that a plugin registered for all."""
        return copy.deepcopy(self)

    def is_available(self) -> bool:
        """Whether this engine could work here; asked by listings."""
        return True

    def get_status(self) -> dict[str, Any]:
        """Figures for people and logs."""
        return {
            "engine": self.name,
            "last_prompt_tokens": self.last_prompt_tokens,
            "threshold_tokens": self.threshold_tokens,
            "context_length": self.context_length,
            "compression_count": self.compression_count,
        }
