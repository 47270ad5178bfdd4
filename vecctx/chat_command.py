"""The slash command `/vecctx`: what a person in a chat asks the engine that serves it."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

NAME = "vecctx"
DESCRIPTION = "what the last request carried and why, and what was said earlier"
ARGUMENTS_HINT = "status | why | search TEXT | help"
_SHOWN_CHARACTERS = 160
"""Of each message: two lines of a terminal."""
_SHOWN_MESSAGES = 10
_HELP = """\
/vecctx status        whether the engine serves, and what the last request took
/vecctx why           what of the last request was kept, recalled and dropped
/vecctx search TEXT   what was said about TEXT earlier in this conversation
/vecctx help          this list
On the command line, `vecctx --help` shows more."""
_NOT_HERE = (
    "No conversation that vecctx serves can be seen from here. In a terminal chat, send a message first; elsewhere use "
    "`vecctx hermes status`, `vecctx why` and `vecctx search` on the command line."
)


class Served(Protocol):
    """The engine of a conversation, as far as the command asks it."""

    def get_status(self) -> dict[str, Any]:
        """Figures."""

    def describe_last_selection(self) -> dict[str, Any]:
        """What of the last request was kept, recalled and dropped."""

    def handle_tool_call(self, name: str, args: dict[str, Any]) -> str:
        """The result of one of its tools, which look only where this conversation may look."""


def answer(text: str, engine: Served | None) -> str:
    """What `/vecctx TEXT` shows; None is a chat whose engine is not known."""
    name, _, rest = text.strip().partition(" ")
    if name == "help":
        return _HELP
    command = _COMMANDS.get(name or "status")
    if command is None:
        return f"There is no /vecctx {_line(name)}.\n{_HELP}"
    return _NOT_HERE if engine is None else command(engine, rest.strip())


def _status(engine: Served, _text: str) -> str:
    status = engine.get_status()
    if status["problem"]:
        return f"vecctx stands aside, and requests go out as the host makes them: {status['problem']}"
    used, budget = status["last_selection_tokens"], status["budget_tokens"]
    lines = ["vecctx serves this conversation."]
    if used is None:
        lines.append("It chose nothing for the last request yet.")
    else:
        lines.append(f"The last request took {used:,} of {budget:,} tokens; /vecctx why shows what is in it.")
    return "\n".join([*lines, *(f"note: {note}" for note in status["last_notes"])])


def _why(engine: Served, _text: str) -> str:
    chosen = engine.describe_last_selection()
    if not chosen:
        return "Nothing was chosen for a request of this conversation yet."
    kept, recalled, dropped = chosen["kept"], chosen["recalled"], chosen["dropped"]
    lines = [f"Kept as they were: {_sum(kept)}, the newest turns."]
    lines += [f"Recalled: {_sum(recalled)}.", *_marks(recalled)] if recalled else ["Recalled: nothing."]
    if dropped:
        lines += [f"Not sent: {_sum(dropped)}, the next best that found no room.", *_marks(dropped)]
    return "\n".join(lines)


def _search(engine: Served, text: str) -> str:
    if not text:
        return "What shall be looked for? /vecctx search TEXT"
    found = json.loads(engine.handle_tool_call("vecctx_search", {"query": text, "limit": _SHOWN_MESSAGES}))
    if "error" in found:
        return f"The search failed: {found['error']}"
    lines = [
        f"  {result['id']}  {result['date'] or 'undated'}  {result['role']}: {_line(result['text'])}"
        for result in found["results"]
    ]
    return "\n".join(["Found, best first:", *lines]) if lines else "Nothing was found in this conversation."


def _marks(marks: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = []
    for mark in marks[:_SHOWN_MESSAGES]:
        score = "" if mark["score"] is None else f" {mark['score']:.2f}"
        lines.append(f"  {mark['role']}, {mark['reason']}{score}: {_line(mark['text'])}")
    more = len(marks) - len(lines)
    return [*lines, f"  and {more:,} more"] if more else lines


def _sum(marks: Sequence[Mapping[str, Any]]) -> str:
    noun = "message" if len(marks) == 1 else "messages"
    return f"{len(marks):,} {noun} of {sum(mark['tokens'] for mark in marks):,} tokens"


def _line(text: str) -> str:
    """A text on one line and not too long, without what commands a terminal."""
    plain = "".join(character if character.isprintable() else " " for character in text)
    words = " ".join(plain.split())
    return words if len(words) <= _SHOWN_CHARACTERS else words[: _SHOWN_CHARACTERS - 1] + "…"


_COMMANDS: Mapping[str, Callable[[Served, str], str]] = {"status": _status, "why": _why, "search": _search}
