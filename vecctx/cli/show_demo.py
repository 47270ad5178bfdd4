"""The demo as a person reads it."""

from collections.abc import Sequence
from pathlib import Path

from vecctx.cli.show import show_budget, show_recalled
from vecctx.cli.terminal import count, line, table
from vecctx.cli.views import View

_SHOWN_MARKS = 6


def show_opening(view: View) -> None:
    """What the conversation is."""
    first, last = (view[key][:10] for key in ("first_message", "last_message"))
    line(
        f"A chat of {count(view['messages'], 'message')} and {view['tokens']:,} tokens, {first} to {last}.",
        style="bold",
    )
    line(f"vecctx stored it word for word and indexed it in {view['indexed_in_seconds']:.0f} s, on this machine alone.")
    line(f"Now questions are asked about it. Each request may take {view['budget_tokens']:,} tokens.")
    line("The model is scripted; what counts is whether the passages that an answer needs are in the request.")


def show_request(view: View, number: str) -> None:
    """One question: what its request carried, and whether that is enough to answer it."""
    line()
    line(f"Question {number}: {view['question']}", style="bold")
    line(f"  {view['about']}; {view['origin']}")
    show_budget(view["request"])
    show_recalled(view["request"]["recalled"], _SHOWN_MARKS)
    rows = [
        (_verdict(piece["with_vecctx"]), _verdict(piece["with_window"]), f'"{piece["says"]}"')
        for piece in view["evidence"]
    ]
    line(
        f"  the same request under a sliding window: {view['window_tokens']:,} tokens, "
        f"the newest {count(view['window_turns'], 'turn')}"
    )
    table(("vecctx", "window", "is this in the request? (what the answer needs)"), rows, wraps=True)


def show_summary(view: View, store: Path | None) -> None:
    """All questions on one screen."""
    line()
    line("Summary: is the evidence in the request?", style="bold")
    rows = [
        (
            _share(request["found_with_vecctx"], request["evidence"]),
            _share(request["found_with_window"], request["evidence"]),
            request["sent_tokens"],
            request["window_tokens"],
            request["question"],
        )
        for request in view["requests"]
    ]
    table(("vecctx", "window", "tokens", "window's", "question"), rows, numbers=("tokens", "window's"))
    questions, whole = view["questions"], view["answerable"]
    line()
    line(
        f"All evidence was there for {whole['with_vecctx']} of {questions} questions with vecctx, "
        f"for {whole['with_window']} of {questions} with a sliding window of the same budget."
    )
    line("The questions were written before they were run; one that failed would still be here.")
    if store:
        line(f"Look on: vecctx why --store {store}   vecctx search 'brake pads' --store {store}")
    else:
        line("To look at the store afterwards: vecctx demo --store demo-store, then vecctx why --store demo-store")


def _verdict(place: str | None) -> str:
    return "yes" if place else "NO"


def _share(found: int, evidence: Sequence[View]) -> str:
    wanted = len(evidence)
    if found == wanted:
        return "yes"
    return f"{found} of {wanted}" if found else "NO"
