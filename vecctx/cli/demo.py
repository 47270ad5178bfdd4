"""`vecctx demo`: a real long conversation, questions about it, and what each request carried."""

from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vecctx.cli import options
from vecctx.cli.terminal import print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vecctx.cli.play import Player
    from vecctx.cli.views import View

_DEFAULT_BUDGET_TOKENS = 8000


@click.command(
    short_help="Try it: a real long conversation, and questions about it.",
    epilog="Example: vecctx demo --budget 4000 --store demo-store, and then: vecctx why --store demo-store",
)
@options.budget(_DEFAULT_BUDGET_TOKENS, "Tokens that each request may take.")
@options.kept_store("Default: a temporary one, removed at the end.")
@options.as_json
def demo(budget_tokens: int, store: Path | None, as_json: bool) -> None:
    """Index a real conversation of over 100,000 tokens, ask about it, and show what each request carries.

    No network and no chat model are needed: the answers are scripted, and what a model would get to see is real.
    Each request stands beside a plain sliding window of the same budget: the newest whole turns that fit.
    """
    from vecctx.cli import sample, show_demo, views

    questions = sample.questions()
    requests: list[View] = []
    with _indexed(budget_tokens, store) as (player, opening):
        if not as_json:
            show_demo.show_opening(opening)
        for number, question in enumerate(questions, start=1):
            requests.append(views.played(player.ask(question), player.tokens))
            if not as_json:
                show_demo.show_request(requests[-1], f"{number} of {len(questions)}")
    view = views.demo(opening, requests)
    if as_json:
        print_json(view)
    else:
        show_demo.show_summary(view, store)


@contextmanager
def _indexed(budget_tokens: int, store: Path | None) -> "Iterator[tuple[Player, View]]":
    """A host whose conversation is stored and indexed, and what is known of it."""
    from vecctx import wiring
    from vecctx.cli import sample, views
    from vecctx.cli.opening import scratch_home
    from vecctx.cli.play import Player
    from vecctx.cli.progress import index
    from vecctx.settings import Settings

    history = sample.conversation()
    with (
        scratch_home(Settings(budget_tokens=budget_tokens), store) as (settings, home),
        closing(wiring.open_parts(settings, home)) as opened,
        # A budget has a session of its own: what was sent under another one would be held on to.
        closing(Player(home, f"demo-{budget_tokens}", history, opened)) as player,
    ):
        player.hand_over()
        seconds = index(opened, len(history))
        yield player, views.opening(history, player.tokens(history), budget_tokens, seconds)
