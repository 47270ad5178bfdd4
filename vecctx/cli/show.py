"""A selection as a person reads it."""

from collections.abc import Sequence

from vecctx.cli.terminal import count, fields, table
from vecctx.cli.views import View

_BAR_CHARACTERS = 76
_SEGMENTS = (("system", "s"), ("kept", "="), ("recalled", "#"), ("current", ">"))


def show_budget(view: View) -> None:
    """The budget, what it went to, and how much of it the provider has seen already."""
    used, budget, left_out = view["used_tokens"], view["budget_tokens"], view["left_out_messages"]
    shares = (
        f"s system {view['system_tokens']:,}",
        f"= kept {view['kept_tokens']:,}",
        f"# recalled {view['recalled_tokens']:,}",
        f"> this turn {view['current_tokens']:,}",
        f". free {max(0, budget - used):,}",
    )
    kept = f"{count(view['kept_turns'], 'recent turn')} word for word ({count(len(view['kept']), 'message')})"
    lines = [
        ("tokens", f"{used:,} of {budget:,}; {_limits(view)}"),
        ("", f"[{_bar(view)}]"),
        ("", "   ".join(shares)),
        ("kept", kept),
        ("recalled", _recalled(len(view["recalled"]))),
        ("left out", f"{count(left_out, 'message')} of the history as they are; all stay in the store, word for word"),
        ("cache", _cache(view)),
        ("time", f"chosen in {view['elapsed_ms']:,.0f} ms"),
    ]
    if view["notes"]:
        lines.append(("notes", "; ".join(view["notes"])))
    fields(lines)


def show_marks(marks: Sequence[View], shown: int | None = None) -> None:
    """Messages of a selection, with date, score and reason."""
    rows = [
        (
            mark["message"],
            mark["date"],
            mark["role"],
            mark["tokens"],
            mark["score"],
            found_by(mark["reason"]),
            mark["text"],
        )
        for mark in marks[:shown]
    ]
    table(("id", "date", "who", "tokens", "score", "found by", "text"), rows, numbers=("id", "tokens", "score"))


def found_by(reason: str) -> str:
    """Why a message was chosen, short enough for a column."""
    return _SHORT_REASONS.get(reason, reason)


def _limits(view: View) -> str:
    names = {
        "budget_tokens": "the budget is what budget_tokens says",
        "window": "the model's window is the limit",
        "threshold": "the host's compaction threshold is the limit",
        "host": "the host asked for this limit",
    }
    overhead = view["overhead_tokens"]
    kept_free = f", {overhead:,} are kept for what only the provider counts" if overhead else ""
    limited_by = str(view["budget_limited_by"])
    return names.get(limited_by, limited_by) + kept_free


def _recalled(messages: int) -> str:
    if not messages:
        return "nothing: no older message that is not here already seems to matter"
    return f"{count(messages, 'older message')} that may matter for this question, quoted by date"


def _cache(view: View) -> str:
    reused = view["reused_tokens"]
    if not reused:
        return "0 tokens begin like a request before"
    share = reused / view["used_tokens"]
    return f"{reused:,} tokens ({share:.0%}) begin like the request before: the provider's cache has them"


def _bar(view: View) -> str:
    whole = max(view["budget_tokens"], view["used_tokens"], 1)
    bar, done = "", 0
    for name, sign in _SEGMENTS:
        done += view[f"{name}_tokens"]
        bar += sign * max(0, min(_BAR_CHARACTERS, round(_BAR_CHARACTERS * done / whole)) - len(bar))
    return bar.ljust(_BAR_CHARACTERS, ".")


_SHORT_REASONS = {"meaning and words": "meaning+words", "beside a hit": "its neighbour"}
