"""`vecctx hermes`: put vecctx into Hermes, take it out again, and see how it is doing there."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vecctx.cli import options
from vecctx.cli.terminal import count, fields, json_or, line
from vecctx.cli.views import View

if TYPE_CHECKING:
    from vecctx.cli.hermes_home import HermesHome

_home = click.option(
    "--home",
    type=click.Path(path_type=Path),
    help="Home of Hermes, or of one of its profiles. Default: $HERMES_HOME, else ~/.hermes.",
)
_dry_run = click.option("--dry-run", "is_dry_run", is_flag=True, help="Say what would be done, and do nothing.")


@click.group(short_help="Put vecctx into Hermes, or take it out.", epilog="Example: vecctx hermes install --dry-run")
def hermes() -> None:
    """Put vecctx into Hermes, take it out again without a trace, and see how it is doing there."""


@hermes.command(
    short_help="Put it in, and switch it on.", epilog="Example: vecctx hermes install --home ~/.hermes/profiles/work"
)
@_home
@_dry_run
@options.as_json
def install(home: Path | None, is_dry_run: bool, as_json: bool) -> None:
    """Write a small plugin directory, and set context.engine in config.yaml; nothing else there is touched.

    May be run again, after an upgrade for one.
    """
    from vecctx.cli import hermes_install
    from vecctx.cli.hermes_home import located_home

    plan = hermes_install.plan_installation(located_home(home))
    if not is_dry_run:
        hermes_install.install(plan)
    view = {
        **_view(plan.home, plan.steps, is_dry_run),
        "undo": _command("uninstall", home),
        "notes": hermes_install.notes_on(plan.home),
    }
    json_or(as_json, view, _show_installation)


@hermes.command(short_help="Take it out; what is stored stays.", epilog="Example: vecctx hermes uninstall --dry-run")
@_home
@_dry_run
@click.option("--delete-store", "deletes_store", is_flag=True, help="Delete all stored conversations, too.")
@options.as_json
def uninstall(home: Path | None, is_dry_run: bool, deletes_store: bool, as_json: bool) -> None:
    """Put config.yaml back as it was, and remove the plugin directory.

    The stored conversations stay unless you say otherwise. May be run again.
    """
    from vecctx.cli import hermes_uninstall
    from vecctx.cli.hermes_home import located_home

    plan = hermes_uninstall.plan_removal(located_home(home))
    store = _store_of(plan.home, must_know=deletes_store)
    if store and not (deletes_store or is_dry_run or as_json):
        deletes_store = _wants_to_delete(store)
    steps = [*plan.steps, *([f"delete the store {store}"] if store and deletes_store else [])]
    if not is_dry_run:
        hermes_uninstall.uninstall(plan)
        if store and deletes_store:
            hermes_uninstall.delete_store(store)
    kept = None if store is None or deletes_store else str(store)
    view = {**_view(plan.home, steps, is_dry_run), "config": plan.outcome, "kept_store": kept}
    json_or(as_json, view, _show_removal)


@hermes.command(short_help="See how it is doing there.", epilog="Example: vecctx hermes status --json")
@_home
@options.as_json
def status(home: Path | None, as_json: bool) -> None:
    """Say whether vecctx is installed and active, how much it stored, what it chose last, and what is wrong."""
    from vecctx.cli import hermes_status
    from vecctx.cli.hermes_home import located_home

    json_or(as_json, hermes_status.view(hermes_status.status_of(located_home(home))), _show_status)


def is_terminal() -> bool:
    """Whether somebody sits there who can be asked."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _view(home: "HermesHome", steps: Sequence[str], is_dry_run: bool) -> View:
    return {"home": str(home.folder), "is_dry_run": is_dry_run, "steps": list(steps)}


def _store_of(home: "HermesHome", *, must_know: bool) -> Path | None:
    """The home's store; settings that are wrong are no reason to keep the plugin."""
    from vecctx.cli.hermes_uninstall import store_of
    from vecctx.errors import SettingsError

    try:
        return store_of(home)
    except SettingsError:
        if must_know:
            raise
        return None


def _wants_to_delete(store: Path) -> bool:
    """What the user answers; no where nobody can be asked."""
    if not is_terminal():
        return False
    return click.confirm(f"Delete the stored conversations in {store}, too? This cannot be undone.", default=False)


def _command(name: str, home: Path | None) -> str:
    return f"vecctx hermes {name}" + (f" --home {home}" if home else "")


def _show_installation(view: View) -> None:
    if not view["steps"]:
        line(f"vecctx is installed in {view['home']} already; there is nothing to do.")
    elif view["is_dry_run"]:
        _show_steps("This would:", view)
    else:
        _show_steps("Done:", view)
        line("New conversations use it; running hosts must be started again.")
    for note in view["notes"]:
        line(f"note: {note}")
    line(f"To undo it: {view['undo']}")


def _show_removal(view: View) -> None:
    if not view["steps"]:
        line(f"vecctx is not installed in {view['home']}; there is nothing to do.")
    else:
        _show_steps("This would:" if view["is_dry_run"] else "Done:", view)
    if view["kept_store"]:
        line(f"The stored conversations stay in {view['kept_store']} (--delete-store deletes them).")


def _show_steps(title: str, view: View) -> None:
    line(title)
    fields([("-", step) for step in view["steps"]], label_columns=2)


def _show_status(view: View) -> None:
    chosen = view["last_selection"]
    active = "yes" if view["is_active"] else f"no; context.engine names {view['engine'] or 'none'}"
    lines = [
        ("home", view["home"]),
        ("installed", "yes" if view["is_installed"] else "no"),
        ("active", active),
        ("version", view["version"]),
        ("store", _stored(view)),
        ("last choice", _choice(chosen) if chosen else "none yet"),
    ]
    fields(lines, label_columns=13, indent=0)
    for problem in view["problems"]:
        line(f"problem: {problem}", style="red")
    for note in view["notes"]:
        line(f"note: {note}")


def _stored(view: View) -> str:
    if not view["store"]:
        return "none yet; the first conversation makes it"
    return f"{view['store']}: {count(view['messages'], 'message')} in {count(view['turns'], 'turn')}"


def _choice(chosen: View) -> str:
    tokens = f"{chosen['used_tokens']:,} of {chosen['budget_tokens']:,} tokens"
    return f"{chosen['chosen_at'] or 'undated'}, {tokens}; see `vecctx why`"
