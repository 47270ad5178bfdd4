"""A selection as a person reads it."""

from collections.abc import Sequence

from vecctx.cli.terminal import columns, count, fields, line, table
from vecctx.cli.views import View

_BAR_CHARACTERS = 76
_BAR_FRAME = 14
"""What stands beside the bar in its line."""
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
        ("recalled", _recalled(view)),
        ("left out", f"{count(left_out, 'message')} of the history as they are; all stay in the store, word for word"),
        ("cache", _cache(view)),
        ("time", f"chosen in {view['elapsed_ms']:,.0f} ms"),
    ]
    if view["notes"]:
        lines.append(("notes", "; ".join(_LONG_NOTES.get(note, note) for note in view["notes"])))
    fields(lines)


def show_recalled(marks: Sequence[View], shown: int) -> None:
    """The best recalled messages, and how many there are beside them; nothing where there is none."""
    if marks:
        more = len(marks) - shown
        line("  recalled, best first" + (f" ({more:,} more are not shown)" if more > 0 else ""))
        show_marks(marks, shown)


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


def _recalled(view: View) -> str:
    if view["recalled"]:
        return f"{count(len(view['recalled']), 'older message')} that may matter for this question, quoted by date"
    if view["dropped"] or view["used_tokens"] > view["budget_tokens"]:
        return "nothing: the budget leaves no room for it"
    return "nothing: no older message that is not here already seems to matter"


def _cache(view: View) -> str:
    reused = view["reused_tokens"]
    if not reused:
        return "0 tokens begin like a request before"
    share = reused / view["used_tokens"]
    return f"{reused:,} tokens ({share:.0%}) begin like the request before: the provider's cache has them"


def _bar(view: View) -> str:
    whole = max(view["budget_tokens"], view["used_tokens"], 1)
    width = max(1, min(_BAR_CHARACTERS, columns() - _BAR_FRAME))
    bar, done = "", 0
    for name, sign in _SEGMENTS:
        done += view[f"{name}_tokens"]
        bar += sign * max(0, min(width, round(width * done / whole)) - len(bar))
    return bar.ljust(width, ".")


_LONG_NOTES = {
    "held": "held: as it was chosen for this question before",
    "cut": "cut: this turn outgrew the budget, and was chosen for anew",
}
_SHORT_REASONS = {"meaning and words": "meaning+words", "beside a hit": "its neighbour"}
