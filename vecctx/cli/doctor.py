"""`vecctx doctor`: whether everything works, and what to do where it does not."""

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING

import click

from vecctx.cli import options
from vecctx.cli.terminal import console, line, print_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vecctx.cli.checks import Finding

_INDENT = " " * 22


@click.command(short_help="Check that everything works.", epilog="Example: vecctx doctor --store ~/.hermes/vecctx")
@options.existing_store
@options.as_json
@click.pass_context
def doctor(ctx: click.Context, store: Path | None, as_json: bool) -> None:
    """Check versions, settings, model, tokenizer and store; exit with 1 where there is a problem.

    "ok" is fine, "note" needs nothing of you, "problem" comes with what to do. A damaged index is rebuilt.
    """
    from vecctx.cli import views
    from vecctx.cli.checks import check_all

    findings = list(check_all(store) if as_json else _shown(check_all(store)))
    view = views.doctor(findings)
    if as_json:
        print_json(view)
    else:
        line()
        line("Everything works." if view["is_well"] else f"Problems: {view['problems']}. Each one says what to do.")
    ctx.exit(0 if view["is_well"] else 1)


def _shown(findings: "Iterator[Finding]") -> "Iterator[Finding]":
    """The findings, each shown as it comes."""
    width = max(40, console().width - len(_INDENT))
    for finding in findings:
        stop = "" if finding.detail.endswith((".", "?", "!")) else "."
        text = finding.detail + (f"{stop} To do: {finding.remedy}" if finding.remedy else "")
        first, *others = textwrap.wrap(text, width, break_on_hyphens=False) or [""]
        line(f"{finding.state:<9}{finding.name:<13}{first}", style=_STYLES[finding.state])
        for other in others:
            line(f"{_INDENT}{other}")
        yield finding


_STYLES = {"ok": None, "note": "yellow", "problem": "red"}
