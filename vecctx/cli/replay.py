"""`vecctx replay`: what would be sent for a question behind a transcript."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace as changed
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from vecctx.cli import options
from vecctx.cli.terminal import json_or, line, print_json
from vecctx.cli.views import View
from vecctx.errors import VecctxError

if TYPE_CHECKING:
    from vecctx.cli.transcript import Transcript
    from vecctx.settings import Settings

_SHOWN_MARKS = 12
_HEAD_ROLES = ("system", "developer")


@click.command(
    short_help="See what would be sent after a transcript of yours.",
    epilog="Example: vecctx replay chat.jsonl --ask 'what did we decide about the port?' --budget 4000",
)
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--ask", "question", required=True, metavar="TEXT", help="The question that follows the transcript.")
@options.budget(None, "Tokens that the request may take. Default: the setting budget_tokens (32000).")
@click.option("--session", "session_id", metavar="ID", help="The session, where the file holds several.")
@click.option("--show", "shows_messages", is_flag=True, help="Print the messages that would be sent, in full.")
@options.kept_store("Default: a temporary one, removed at the end.")
@options.as_json
def replay(  # noqa: PLR0917 - click hands its options over by name
    file: Path,
    question: str,
    budget_tokens: int | None,
    session_id: str | None,
    shows_messages: bool,
    store: Path | None,
    as_json: bool,
) -> None:
    """Store and index the transcript in FILE, ask TEXT, and show what vecctx would send to the model.

    FILE holds messages in OpenAI's format: a JSON list, an object with "messages", one message a line, or sessions as
    Hermes exports them. Nothing is sent anywhere.
    """
    from vecctx.cli.transcript import read_transcript
    from vecctx.settings import home_folder, load_settings

    if not question.strip():
        raise click.BadParameter("there is no question in it", param_hint="--ask")
    # A tool may take its time, an agent's user may not: no deadline here.
    settings = changed(load_settings(home_folder()), deadline_ms=0)
    if budget_tokens is not None:
        settings = changed(settings, budget_tokens=budget_tokens)
    view = _replayed(read_transcript(file, session_id), question, settings, store, shows_messages=shows_messages)
    json_or(as_json, view, _show)


def _replayed(
    transcript: "Transcript", question: str, settings: "Settings", store: Path | None, *, shows_messages: bool
) -> View:
    from vecctx import wiring
    from vecctx.cli import views
    from vecctx.cli.opening import scratch_home
    from vecctx.cli.progress import index
    from vecctx.cli.window import sliding_window
    from vecctx.engine import VecctxEngine

    head, history = _parted(transcript.messages)
    asked = {"role": "user", "content": question}
    with (
        scratch_home(settings, store) as (own_settings, home),
        closing(wiring.open_parts(own_settings, home)) as opened,
        closing(VecctxEngine()) as engine,
    ):
        engine.on_session_start(transcript.session_id, hermes_home=str(home))
        engine.on_turn_complete(history)
        if engine.get_status()["is_behind"]:
            raise VecctxError(engine.problem or "the transcript could not be stored; the warning before says why")
        index(opened, len(history))
        conversation = [*history, asked]
        sent = engine.select_context([*head, *conversation], conversation_messages=conversation, incoming_message=asked)
        selection = opened.parts.store.selection(engine.get_status()["last_selection_id"])
        if sent is None or selection is None:
            raise VecctxError(engine.problem or "vecctx chose nothing for this request; the warning before says why")
        counter = opened.parts.counter
        window = sliding_window(head, history, [asked], selection.budget.total_tokens, counter)
        turns = sum(row.get("role") == "user" for row in window) - 1
        tokens = sum(map(counter.count_message, window))
    return views.replay(selection, tokens, turns, sent if shows_messages else None)


def _parted(messages: Sequence[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The system messages that a transcript begins with, and the conversation."""
    start = next((number for number, row in enumerate(messages) if row["role"] not in _HEAD_ROLES), len(messages))
    return list(messages[:start]), list(messages[start:])


def _show(view: View) -> None:
    from vecctx.cli.show import show_budget, show_recalled

    request = view["request"]
    line(f"Question: {request['question']}", style="bold")
    show_budget(request)
    line(
        f"  window    a sliding window of this budget would hold the newest {view['window_turns']:,} turns "
        f"({view['window_tokens']:,} tokens)"
    )
    show_recalled(request["recalled"], _SHOWN_MARKS)
    if "messages" in view:
        line()
        line("The messages:", style="bold")
        print_json(view["messages"])
