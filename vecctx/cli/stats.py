"""`vecctx stats`: what is in the store."""

from pathlib import Path

import click

from vecctx.cli import options
from vecctx.cli.terminal import count, fields, json_or
from vecctx.cli.views import View

_MEBIBYTE = 1 << 20


@click.command(short_help="See how much is stored.", epilog="Example: vecctx stats --json")
@options.existing_store
@options.as_json
def stats(store: Path | None, as_json: bool) -> None:
    """Show how much is stored, from when, and whether all of it is indexed."""
    json_or(as_json, _sizes(store), _show)


def _sizes(store: Path | None) -> View:
    from vecctx.cli import views
    from vecctx.cli.opening import existing_store, located_store

    with existing_store(store) as opened:
        sizes = opened.parts.store.stats(opened.parts.embedder.identity)
    return views.stats(sizes, located_store(store)[1])


def _show(view: View) -> None:
    roles = ", ".join(f"{number:,} {role}" for role, number in view["messages_by_role"].items())
    first, last = ((view[key] or "?")[:10] for key in ("first_message", "last_message"))
    waiting = view["not_yet_indexed"]
    lines = (
        ("store", f"{view['store']} ({view['bytes_on_disk'] / _MEBIBYTE:.1f} MiB)"),
        ("conversations", f"{view['conversations']:,} in {count(view['sessions'], 'session')}"),
        ("messages", f"{view['messages']:,} in {count(view['turns'], 'turn')}" + (f" ({roles})" if roles else "")),
        ("said", f"{first} to {last}" if view["first_message"] else "no message has a date"),
        ("indexed", f"{view['indexed_passages']:,} of {count(view['passages'], 'passage')}"),
        ("requests", f"{view['selections']:,} recorded; see `vecctx why`"),
        ("secrets", f"{view['replaced_secrets']:,} replaced before they were written"),
    )
    note = [("waiting", f"{count(waiting, 'passage')} to embed; until then found by words only")] if waiting else []
    fields([*lines, *note], label_columns=15, indent=0)
