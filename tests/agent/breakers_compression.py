"""Engines that break points about compression."""

import os
from pathlib import Path

from agent.context_compressor import is_summary
from agent.context_engine import Message
from agent.messages import copy_rows, estimate_tokens, user_row
from tests.agent.engines import Compressing, GoodEngine, breaks


@breaks("should-compress")
class AnswersANumber(GoodEngine):
    def should_compress(self, prompt_tokens: int | None = None) -> bool:
        return prompt_tokens or 0  # type: ignore[return-value]


@breaks("compress.keywords")
class NoFocus(GoodEngine):
    def compress(self, messages: list[Message], current_tokens: int | None = None) -> list[Message]:  # type: ignore[override]
        return messages


@breaks("compress.valid")
class KeepsTheLastTwo(Compressing):
    def change(self, rows: list[Message]) -> list[Message]:
        return rows[-2:]


@breaks("compress.not-larger")
class Explains(Compressing):
    def change(self, rows: list[Message]) -> list[Message]:
        return [user_row("this is a summary " * 9000), *rows]


@breaks("compress.question")
class ForgetsTheQuestion(Compressing):
    def change(self, rows: list[Message]) -> list[Message]:
        return [user_row("go on")]


@breaks("compress.again")
class CompressesOnce(Compressing):
    def change(self, rows: list[Message]) -> list[Message]:
        assert not any(map(is_summary, rows))
        return super().change(rows)


@breaks("compress.large-turn")
class GivesUp(Compressing):
    def change(self, rows: list[Message]) -> list[Message]:
        assert estimate_tokens(rows) < 3 * self.context_length
        return super().change(rows)


@breaks("compress.dirty")
class TrustsHistories(Compressing):
    def change(self, rows: list[Message]) -> list[Message]:
        assert all(row["tool_call_id"] for row in rows if row["role"] == "tool")
        return super().change(rows)


@breaks("compress.little")
class NeedsTwo(Compressing):
    def change(self, rows: list[Message]) -> list[Message]:
        return super().change(rows) if rows[1:] else [rows[0]]


@breaks("compress.shrinks")
class NeverCompresses(Compressing):
    def change(self, rows: list[Message]) -> list[Message]:
        return rows


@breaks("compress.same-object")
class AlwaysCopies(Compressing):
    def change(self, rows: list[Message]) -> list[Message]:
        return copy_rows(super().change(rows))


@breaks("compress.inputs")
class EditsTheHistory(Compressing):
    def change(self, rows: list[Message]) -> list[Message]:
        content = rows[0]["content"]
        if isinstance(content, list):
            content.append({"type": "text", "text": "seen"})
        return super().change(rows)


@breaks("compress.publishes-nothing")
class WritesWhileCompressing(Compressing):
    def change(self, rows: list[Message]) -> list[Message]:
        (Path(os.environ["HERMES_HOME"]) / "summaries.txt").write_text("one")
        return super().change(rows)


@breaks("prune.inputs")
class PrunesInPlace(GoodEngine):
    def prune_tool_results_only(
        self, messages: list[Message], current_tokens: int | None = None
    ) -> tuple[list[Message], int]:
        messages[0]["content"] = "pruned"
        return messages, 1
