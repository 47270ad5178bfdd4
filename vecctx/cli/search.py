"""`vecctx search`: what was said about something."""

from pathlib import Path

import click

from vecctx.cli import options
from vecctx.cli.terminal import count, json_or, line, table
from vecctx.cli.views import View


@click.command(
    short_help="Find what was said about something.",
    epilog="Example: vecctx search 'which hotel did we choose' --limit 5",
)
@click.argument("words", nargs=-1, required=True, metavar="TEXT")
@click.option("--limit", type=click.IntRange(1, 200), default=10, show_default=True, help="Messages to show.")
@options.existing_store
@options.as_json
def search(words: tuple[str, ...], limit: int, store: Path | None, as_json: bool) -> None:
    """Find what was said about TEXT, by meaning and by words, best first."""
    text = " ".join(words).strip()
    if not text:
        raise click.BadParameter("there is nothing to look for", param_hint="TEXT")
    json_or(as_json, _found(text, limit, store), _show)


def _found(text: str, limit: int, store: Path | None) -> View:
    from vecctx.cli import views
    from vecctx.cli.opening import existing_store
    from vecctx.selection import find

    with existing_store(store) as opened:
        parts = opened.parts
        candidates, notes = find(text, parts.store.conversations_of(None), parts)
        pending = parts.store.pending_count(parts.embedder.identity)
    return views.search(text, candidates, limit, notes, pending)


def _show(view: View) -> None:
    from vecctx.cli.show import found_by

    for note in view["notes"]:
        line(f"note: {note}")
    if view["not_yet_indexed"]:
        waiting = count(view["not_yet_indexed"], "passage is", "passages are")
        line(f"note: {waiting} not embedded yet and found by words only; the agent does that when it runs")
    if not view["results"]:
        line("Nothing was found.")
        return
    line(f"The best {len(view['results'])} of {count(view['found'], 'message')}:")
    rows = [
        (
            result["message"],
            result["date"],
            result["role"],
            result["score"],
            found_by(result["reason"]),
            _one_line(result["text"]),
        )
        for result in view["results"]
    ]
    table(("id", "date", "who", "score", "found by", "text"), rows, numbers=("id", "score"))


def _one_line(text: str) -> str:
    return " ".join(text.split())
