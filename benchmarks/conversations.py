"""Conversations with labelled questions, from a JSON-lines file.

One conversation a line:

    {"conv": name, "turns": [{"id", "role", "text", "ts"?, "who"?}], "qs": [{"q", "ev": [turn ids], "cat"?}]}

A name in `who` that is not the role is put before the text, as people write transcripts.
"""

import gzip
import json
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Question:
    """A question, and the messages that answer it."""

    text: str
    evidence: tuple[int, ...]
    category: str


@dataclass(frozen=True, slots=True)
class Conversation:
    """Messages in order, and what is asked about them."""

    name: str
    messages: tuple[dict[str, Any], ...]
    questions: tuple[Question, ...]


def load(path: Path) -> list[Conversation]:
    """All conversations of a file; questions without evidence are left out."""
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8") as lines:
        return [_conversation(json.loads(line)) for line in lines if line.strip()]


def _conversation(row: dict[str, Any]) -> Conversation:
    places = {turn["id"]: number for number, turn in enumerate(row["turns"])}
    first_speaker = row["turns"][0].get("who")
    questions = []
    for question in row["qs"]:
        evidence = tuple(sorted({places[name] for name in question.get("ev") or () if name in places}))
        if evidence and isinstance(question["q"], str):
            questions.append(Question(question["q"], evidence, str(question.get("cat") or "")))
    return Conversation(row["conv"], tuple(_message(turn, first_speaker) for turn in row["turns"]), tuple(questions))


def _message(turn: dict[str, Any], first_speaker: str | None) -> dict[str, Any]:
    who = turn.get("who")
    role = turn.get("role")
    if role not in ("user", "assistant"):
        role = "user" if who == first_speaker else "assistant"
    named = f"{who}: {turn['text']}" if who and who not in ("user", "assistant", "system") else turn["text"]
    stamp = _seconds(turn.get("ts"))
    return {"role": role, "content": named, **({"timestamp": stamp} if stamp is not None else {})}


def _seconds(stamp: object) -> float | None:
    try:
        return datetime.fromisoformat(f"{stamp}+00:00").timestamp()
    except ValueError:
        return None
