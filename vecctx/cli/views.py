"""Values as plain dicts: what `--json` prints and what the terminal shows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from vecctx.cli.evidence import place_of
from vecctx.values import Candidate, Mark, Row, Selection, StoreStats

if TYPE_CHECKING:
    from vecctx.cli.checks import Finding
    from vecctx.cli.play import Played

View: TypeAlias = dict[str, Any]

SHOWN_CHARACTERS = 300
"""Of each message in a list of results."""


def selection(value: Selection) -> View:
    """What was chosen for one request, and why."""
    kept_tokens, recalled_tokens = (sum(mark.tokens for mark in marks) for marks in (value.kept, value.recalled))
    fixed_tokens = value.system_tokens + value.current_tokens
    return {
        "selection": value.selection_id,
        "question": text(value.query),
        "chosen_at": moment(value.created_at),
        "budget_tokens": value.budget.total_tokens,
        "budget_limited_by": value.budget.limited_by,
        "overhead_tokens": value.budget.overhead_tokens,
        "used_tokens": value.used_tokens,
        "system_tokens": value.system_tokens,
        "kept_tokens": kept_tokens,
        # The frame around the quotes belongs to them.
        "recalled_tokens": max(recalled_tokens, value.used_tokens - fixed_tokens - kept_tokens)
        if recalled_tokens
        else 0,
        "current_tokens": value.current_tokens,
        "reused_tokens": value.reused_tokens,
        "kept_turns": sum(mark.role == "user" for mark in value.kept),
        "left_out_messages": value.left_out_rows,
        "elapsed_ms": value.elapsed_ms,
        "notes": list(map(text, value.notes)),
        "kept": list(map(mark, value.kept)),
        "recalled": [mark(one) for one in sorted(value.recalled, key=_best_first)],
        "dropped": list(map(mark, value.dropped)),
    }


def mark(value: Mark) -> View:
    """One message of a selection."""
    return {
        "message": value.message_id,
        "date": day(value.said_at),
        "role": value.role,
        "tokens": value.tokens,
        "score": value.score,
        "meaning": rounded(value.dense),
        "words": rounded(value.lexical),
        "reason": text(value.reason),
        "text": text(value.excerpt),
    }


def found(value: Candidate) -> View:
    """One message that a search found, by the part that was found."""
    start, end = value.best
    passage = value.message.text[start:end]
    return {
        "message": value.message.message_id,
        "conversation": value.message.conversation_id,
        "date": day(value.message.said_at),
        "role": value.message.role,
        "score": rounded(value.score),
        "meaning": rounded(value.dense),
        "words": rounded(value.lexical),
        "reason": value.reason,
        "text": text(passage[:SHOWN_CHARACTERS]),
        "is_whole": len(passage[:SHOWN_CHARACTERS]) == len(value.message.text),
    }


def search(query: str, candidates: Sequence[Candidate], limit: int, notes: Sequence[str], pending: int) -> View:
    """What a search found."""
    return {
        "query": text(query),
        "found": len(candidates),
        "not_yet_indexed": pending,
        "notes": list(map(text, notes)),
        "results": list(map(found, candidates[:limit])),
    }


def opening(history: Sequence[Row], tokens: int, budget_tokens: int, seconds: float) -> View:
    """The conversation that the demo starts from."""
    return {
        "messages": len(history),
        "tokens": tokens,
        "first_message": moment(history[0]["timestamp"]),
        "last_message": moment(history[-1]["timestamp"]),
        "budget_tokens": budget_tokens,
        "indexed_in_seconds": round(seconds, 1),
    }


def played(value: "Played", tokens: Callable[[Sequence[Row]], int]) -> View:
    """One question of the demo: its request, and the same request under a sliding window."""
    question = value.question
    pieces = [
        {
            "message": piece.turn,
            "says": piece.says,
            "with_vecctx": place_of(piece, value.sent),
            "with_window": place_of(piece, value.window),
        }
        for piece in question.evidence
    ]
    return {
        "question": question.text,
        "about": question.about,
        "origin": question.origin,
        "answer": question.answer,
        "request": selection(value.selection),
        "sent_tokens": tokens(value.sent),
        "window_tokens": tokens(value.window),
        # The question is the last user message.
        "window_turns": sum(row.get("role") == "user" for row in value.window) - 1,
        "evidence": pieces,
        "found_with_vecctx": sum(piece["with_vecctx"] is not None for piece in pieces),
        "found_with_window": sum(piece["with_window"] is not None for piece in pieces),
    }


def demo(opening: View, requests: Sequence[View]) -> View:
    """The whole demo."""
    whole = {
        name: sum(request[f"found_{name}"] == len(request["evidence"]) for request in requests)
        for name in ("with_vecctx", "with_window")
    }
    return {"conversation": opening, "requests": list(requests), "questions": len(requests), "answerable": whole}


def replay(value: Selection, window_tokens: int, window_turns: int, sent: Sequence[Row] | None) -> View:
    """What would be sent for a question; the messages themselves where they are asked for."""
    view = {"request": selection(value), "window_tokens": window_tokens, "window_turns": window_turns}
    return view if sent is None else {**view, "messages": messages(sent)}


def stats(value: StoreStats, folder: Path) -> View:
    """Sizes of a store."""
    return {
        "store": text(str(folder)),
        "bytes_on_disk": value.bytes_on_disk,
        "conversations": value.conversations,
        "sessions": value.sessions,
        "turns": value.turns,
        "messages": value.messages,
        "messages_by_role": {text(role): count for role, count in value.roles.items()},
        "first_message": moment(value.oldest_said_at),
        "last_message": moment(value.newest_said_at),
        "passages": value.chunks,
        "indexed_passages": value.vectors,
        "not_yet_indexed": value.pending,
        "selections": value.selections,
        "replaced_secrets": value.redactions,
    }


def doctor(findings: "Sequence[Finding]") -> View:
    """What the checks found."""
    checks = [{key: text(value) for key, value in asdict(finding).items()} for finding in findings]
    problems = sum(finding.state == "problem" for finding in findings)
    return {"is_well": not problems, "problems": problems, "checks": checks}


def messages(rows: Sequence[Row]) -> list[Any]:
    """A message list as it is sent."""
    return [plain(row) for row in rows]


def plain(value: object) -> Any:  # noqa: ANN401 - any JSON
    """Any JSON, with text that every program can read."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, Mapping):
        return {text(str(key)): plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple) else value


def text(value: str) -> str:
    """A text that can be written as UTF-8: lone surrogates become "?"."""
    return value.encode("utf-8", "replace").decode()


def day(said_at: float | None) -> str | None:
    """The day of a moment in UTC."""
    when = moment(said_at)
    return when[:10] if when else None


def moment(said_at: float | None) -> str | None:
    """A moment in UTC as ISO text; None where it is not known or no calendar has it."""
    if said_at is None:
        return None
    try:
        return datetime.fromtimestamp(said_at, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (OverflowError, ValueError, OSError):
        return None


def _best_first(value: Mark) -> tuple[float, int]:
    return -(value.score or 0.0), value.message_id or 0


def rounded(score: float | None) -> float | None:
    """A score with as many digits as mean something."""
    return None if score is None else round(score, 3)
