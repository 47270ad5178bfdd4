"""The conversation and the questions that the demo ships."""

import gzip
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from typing import Any

from vecctx.cli.evidence import Evidence

_DATA = files("vecctx.cli") / "data"


@dataclass(frozen=True, slots=True)
class Question:
    """A question about the conversation, with what its answer needs."""

    text: str
    answer: str
    about: str
    """What kind of question it is."""
    origin: str
    """Who wrote it."""
    evidence: tuple[Evidence, ...]


def conversation() -> list[dict[str, Any]]:
    """The messages as a host stores them, with names and times of their own."""
    lines = gzip.decompress((_DATA / "longmemeval.jsonl.gz").read_bytes()).decode().splitlines()
    return [_row(json.loads(line)) for line in lines]


def questions() -> tuple[Question, ...]:
    """The questions, in the order in which they are asked."""
    content = json.loads((_DATA / "questions.json").read_text(encoding="utf-8"))
    return tuple(
        Question(
            text=item["question"],
            answer=item["answer"],
            about=item["about"],
            origin=item["origin"],
            evidence=tuple(Evidence(**piece) for piece in item["evidence"]),
        )
        for item in content["questions"]
    )


def _row(item: dict[str, str]) -> dict[str, Any]:
    said_at = datetime.fromisoformat(item["said_at"]).replace(tzinfo=UTC).timestamp()
    return {"role": item["role"], "content": item["text"], "message_uid": item["id"], "timestamp": said_at}
