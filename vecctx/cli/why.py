"""`vecctx why`: what a request carried, and why."""

from pathlib import Path

import click

from vecctx.cli import options
from vecctx.cli.terminal import count, json_or, line
from vecctx.cli.views import View


@click.command(
    short_help="See what a request carried, and why.",
    epilog="Example: vecctx why        (the newest request)        vecctx why 12        (an earlier one)",
)
@click.argument("selection", type=click.IntRange(min=1), required=False)
@options.existing_store
@options.as_json
def why(selection: int | None, store: Path | None, as_json: bool) -> None:
    """Show what was sent for a request, what was recalled, what stayed behind, and why.

    SELECTION is the number of a request; without it the newest one is shown.
    """
    json_or(as_json, _recorded(selection, store), _show)


def _recorded(number: int | None, store: Path | None) -> View:
    from vecctx.cli import views
    from vecctx.cli.opening import existing_store
    from vecctx.errors import NotFoundError

    with existing_store(store) as opened:
        recorded, newest = opened.parts.store.selection(number), opened.parts.store.selection()
    if recorded is not None:
        return views.selection(recorded)
    if newest is None:
        raise NotFoundError("no request was recorded in this store yet; talk to the agent first")
    raise NotFoundError(f"there is no selection {number}; the newest one is {newest.selection_id}")


def _show(view: View) -> None:
    from vecctx.cli.show import show_budget, show_marks

    line(
        f"Selection {view['selection']}, {view['chosen_at'] or 'undated'}, took {view['elapsed_ms']:,.0f} ms",
        style="bold",
    )
    line(f"Question: {view['question']}")
    line()
    show_budget(view)
    for title, marks in _lists(view):
        line()
        line(title, style="bold")
        if marks:
            show_marks(marks)


def _lists(view: View) -> tuple[tuple[str, list[View]], ...]:
    kept, recalled, dropped = view["kept"], view["recalled"], view["dropped"]
    return (
        (f"Kept as they were: {count(len(kept), 'message')} of the newest turns", kept),
        (
            f"Recalled: {count(len(recalled), 'older message')}, best first; the request has them in the order of time",
            recalled,
        ),
        (f"Not sent: the {count(len(dropped), 'next best message')} that found no room", dropped),
    )
