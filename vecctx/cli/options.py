"""Options that several commands share."""

from collections.abc import Callable
from os import PathLike
from pathlib import Path
from typing import Any, TypeAlias

import click

Decorator: TypeAlias = Callable[[Callable[..., Any]], Callable[..., Any]]


class _Folder(click.Path):
    """A folder's path; an empty one, as from a variable that nobody set, would be the folder that one stands in."""

    def convert(
        self, value: str | PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str | bytes | PathLike[str]:
        if not str(value).strip():
            self.fail("it is empty; name a folder", param, ctx)
        return super().convert(value, param, ctx)


_FOLDER = _Folder(path_type=Path)

as_json: Decorator = click.option("--json", "as_json", is_flag=True, help="Print the data as JSON.")

existing_store: Decorator = click.option(
    "--store",
    type=_FOLDER,
    help="Folder of the store. Default: the one of the agent's home, $HERMES_HOME/vecctx.",
)


def kept_store(default: str) -> Decorator:
    """The option `--store` of a command that makes one."""
    return click.option("--store", type=_FOLDER, help=f"Keep the store in this folder. {default}")


def budget(default: int | None, help_text: str) -> Decorator:
    """The option `--budget`."""
    return click.option(
        "--budget",
        "budget_tokens",
        type=_Tokens(),
        default=default,
        show_default=default is not None,
        help=help_text,
    )


class _Tokens(click.ParamType[int]):
    name = "tokens"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """A number of tokens from what was typed."""
        try:
            tokens = int(str(value))
        except ValueError:
            tokens = 0
        if tokens < 1:
            self.fail(f"{value!r} is no budget; expected a whole number of tokens from 1, such as 8000", param, ctx)
        return tokens
