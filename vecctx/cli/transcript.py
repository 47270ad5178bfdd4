"""Transcript files as message rows: OpenAI's format in JSON or JSONL, and what Hermes exports."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vecctx.errors import TranscriptError

ROLES = ("system", "developer", "user", "assistant", "tool", "function")

_SHOWN_SESSIONS = 5
_FORMATS = "a JSON list of messages, an object with `messages`, or one message a line"


@dataclass(frozen=True, slots=True)
class Transcript:
    """One conversation from a file."""

    session_id: str
    messages: tuple[dict[str, Any], ...]


def read_transcript(path: Path, session_id: str | None = None) -> Transcript:
    """The conversation in a file; of several, the one that is named.

    Raises:
        TranscriptError: there is none that can be read; the message says what is wrong where.
    """
    sessions = _sessions(path, _documents(path, _read(path)))
    rows = _chosen(path, sessions, session_id)
    messages = tuple(_checked(path, row, place) for place, row in rows[1] if not _is_undone(row))
    if not messages:
        raise TranscriptError(path, f"there is no message in it; expected {_FORMATS}")
    return Transcript(rows[0] or path.stem, messages)


def _read(path: Path) -> str:
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise TranscriptError(path, "there is no such file; check the path") from error
    except IsADirectoryError as error:
        raise TranscriptError(path, "is a folder; name a file in it") from error
    except OSError as error:
        raise TranscriptError(path, f"cannot be read ({error.strerror}); check its permissions") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise TranscriptError(path, f"is not text in UTF-8; expected {_FORMATS}") from error
    if "\0" in text:
        raise TranscriptError(path, f"is a binary file; expected {_FORMATS}")
    if not text.strip():
        raise TranscriptError(path, f"is empty; expected {_FORMATS}")
    return text


def _documents(path: Path, text: str) -> list[tuple[int, Any]]:
    """The JSON values of a file, each with the line it begins at: one for the whole file, or one a line."""
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if len(lines) > 1 and _is_json(lines[0][1]):
        return [(number, _parsed(path, line, number)) for number, line in lines]
    return [(lines[0][0], _parsed(path, text, None))]


def _is_json(line: str) -> bool:
    try:
        json.loads(line)
    except (ValueError, RecursionError):
        return False
    return True


def _parsed(path: Path, text: str, line: int | None) -> Any:  # noqa: ANN401 - any JSON
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        problem = f"is no complete JSON ({error.msg.removesuffix(' at')} at column {error.colno}); repair or remove it"
        raise TranscriptError(path, problem, line=line or error.lineno) from error
    except (ValueError, RecursionError) as error:
        raise TranscriptError(path, f"is no JSON that can be read ({error})", line=line) from error


def _sessions(path: Path, documents: Sequence[tuple[int, Any]]) -> list[tuple[str, list[tuple[str, Any]]]]:
    """Each conversation in the file: its id, and its rows with the places they stand at."""
    if len(documents) == 1 and isinstance(documents[0][1], list):
        documents = [(number, value) for number, value in enumerate(documents[0][1], start=1)]
        place = "message"
    else:
        place = "line"
    if not documents:
        raise TranscriptError(path, f"there is no message in it; expected {_FORMATS}")
    are_sessions = [isinstance(value, Mapping) and "messages" in value for _, value in documents]
    if not any(are_sessions):
        return [("", [(f"{place} {number}", value) for number, value in documents])]
    if not all(are_sessions):
        number = documents[are_sessions.index(False)][0]
        raise TranscriptError(path, f"{place} {number} is no session, although others are; expected {_FORMATS}")
    return [_session(path, value) for _, value in documents]


def _session(path: Path, value: Mapping[str, Any]) -> tuple[str, list[tuple[str, Any]]]:
    rows = value["messages"]
    if not isinstance(rows, list):
        raise TranscriptError(path, f"`messages` is {_kind(rows)}; expected a list of messages")
    session_id = str(value.get("id") or value.get("session_id") or "")
    return session_id, [(f"message {number}", row) for number, row in enumerate(rows, start=1)]


def _chosen(
    path: Path, sessions: Sequence[tuple[str, list[tuple[str, Any]]]], session_id: str | None
) -> tuple[str, list[tuple[str, Any]]]:
    if session_id is not None:
        sessions = [session for session in sessions if session[0] == session_id] or [*sessions, ("", [])]
    if len(sessions) == 1:
        return sessions[0]
    ids = [name for name, _ in sessions if name]
    listed = ", ".join(ids[:_SHOWN_SESSIONS]) + (", ..." if len(ids) > _SHOWN_SESSIONS else "")
    problem = f"has no session {session_id!r}" if session_id is not None else f"holds {len(sessions)} sessions"
    raise TranscriptError(path, f"{problem}; choose one with --session: {listed or 'none has an id'}")


def _checked(path: Path, row: object, place: str) -> dict[str, Any]:
    if not isinstance(row, dict):
        raise TranscriptError(path, f"{place} is {_kind(row)}; expected a message with `role` and `content`")
    role = row.get("role")
    if role not in ROLES:
        said = "has no role" if role is None else f"has the role {role!r}, which nobody knows"
        raise TranscriptError(path, f"{place} {said}; expected one of {', '.join(ROLES)}")
    content = row.get("content")
    if content is None and not row.get("tool_calls") and not row.get("function_call") and role != "tool":
        raise TranscriptError(path, f"{place} ({role}) has neither `content` nor `tool_calls`")
    if content is not None and not isinstance(content, str | list | dict):
        raise TranscriptError(path, f"{place}: its content is {_kind(content)}; expected text or a list of parts")
    return row


def _is_undone(row: object) -> bool:
    """Whether a row of a Hermes export was taken back by its user: kept in storage, and no part of the chat."""
    return isinstance(row, dict) and row.get("active") in (0, False) and not row.get("compacted")


def _kind(value: object) -> str:
    return _KINDS.get(type(value), "nothing")


_KINDS = {str: "a text", int: "a number", float: "a number", bool: "true or false", dict: "an object", list: "a list"}
