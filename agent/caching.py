"""Prompt-cache markers in Anthropic's manner: on the system row and the last three messages."""

from collections.abc import Sequence

from .context_engine import Message

MARKER_KEY = "cache_control"
ROLLING_MARKERS = 3  # a request may carry four, and one is the system row's


def mark(rows: Sequence[Message]) -> list[Message]:
    """The rows with markers, as a key of their own on copies: the content stays as it is."""
    first_rolling = len(rows) - ROLLING_MARKERS
    return [
        {**row, MARKER_KEY: {"type": "ephemeral"}} if i >= first_rolling or row.get("role") == "system" else row
        for i, row in enumerate(rows)
    ]


def unmark(rows: Sequence[Message]) -> list[Message]:
    """The rows without markers: what a provider's cache compares."""
    return [{key: row[key] for key in row if key != MARKER_KEY} for row in rows]
