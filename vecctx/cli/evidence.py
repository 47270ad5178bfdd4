"""Whether what a question needs is in a message list."""

from collections.abc import Sequence
from dataclasses import dataclass

from vecctx.turns.content import text_of_row
from vecctx.values import Row


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage that an answer needs."""

    turn: str
    """The message that says it."""
    says: str
    """Words that stand in no other message of the conversation, all in one line."""


def place_of(evidence: Evidence, rows: Sequence[Row]) -> str | None:
    """How the passage got into a request: "kept" with its turn, "recalled" beside the question, or not at all."""
    for row in rows:
        if evidence.says in text_of_row(row):
            # Hosts join the recalled block with the user's message behind it.
            return "recalled" if row is rows[-1] else "kept"
    return None
