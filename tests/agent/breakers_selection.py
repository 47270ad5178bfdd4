"""Engines that break points about selection."""

from typing import Any

from agent.context_compressor import is_summary
from agent.context_engine import Message
from agent.messages import assistant_row, copy_rows, user_row
from tests.agent.engines import GoodEngine, Selecting, breaks


@breaks("select.shape")
class SelectsNothing(Selecting):
    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        return []


@breaks("select.inputs")
class EditsNested(GoodEngine):
    def select_context(self, request_messages: list[Message], **details: Any) -> list[Message] | None:
        content = request_messages[1]["content"]
        if isinstance(content, list):
            content[0]["text"] = "edited"
        return None


@breaks("select.own-copies")
class KeepsItsList(Selecting):
    kept: list[Message] | None = None

    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        self.kept = self.kept or rows
        return self.kept


@breaks("select.system")
class AddsSystemRow(Selecting):
    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        return [{"role": "system", "content": "remember"}, *rows]


@breaks("select.prefill")
class OffByTheOpening(Selecting):
    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        conversation = details["conversation_messages"] or []
        return [rows[0], *(copy_rows(conversation)[-1:] if rows[1]["content"] == "An example?" else rows[1:])]


@breaks("select.current-turn")
class ForgetsResults(Selecting):
    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        return rows[:-1]


@breaks("select.batches")
class CutsAnywhere(GoodEngine):
    def select_context(self, request_messages: list[Message], **details: Any) -> list[Message] | None:
        return request_messages[:1] + request_messages[1:][-14:]


@breaks("select.keys")
class MarksRows(Selecting):
    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        return [{**row, "engine_id": 7} for row in rows]


@breaks("select.dirty")
class TrustsIds(Selecting):
    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        assert all(row["tool_call_id"] for row in details["conversation_messages"] or [] if row["role"] == "tool")
        return rows


@breaks("select.little")
class NeedsRows(Selecting):
    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        return rows if len(details["conversation_messages"]) else None


@breaks("select.after-compression")
class DislikesSummaries(Selecting):
    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        assert not any(map(is_summary, details["conversation_messages"] or []))
        return rows


@breaks("select.alternation")
class StartsWithAnAnswer(Selecting):
    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        return [*rows[:1], assistant_row("as I said"), *rows[1:]]


@breaks("select.repeatable")
class Counts(Selecting):
    requests = 0

    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        self.requests += 1
        return [*rows[:1], user_row(f"request {self.requests}"), *rows[1:]]


@breaks("select.extends")
class Slides(Selecting):
    def change(self, rows: list[Message], details: dict[str, Any]) -> list[Message] | None:
        return [*rows[:1], user_row(f"{len(rows)} rows follow"), *rows[1:]]


@breaks("select.smaller")
class SelectsAll(GoodEngine):
    def select_context(self, request_messages: list[Message], **details: Any) -> list[Message] | None:
        return None
