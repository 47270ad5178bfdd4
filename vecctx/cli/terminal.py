"""Output for people: plain where it is piped, and safe whatever a chat holds."""

import json
import os
import sys
import unicodedata
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_PIPED_COLUMNS = 100


def console(*, to_stderr: bool = False) -> "Console":
    """A console on stdout or stderr, with colours only where a person looks at it."""
    from rich.console import Console

    stream = sys.stderr if to_stderr else sys.stdout
    width = None if stream.isatty() or os.environ.get("COLUMNS") else _PIPED_COLUMNS
    return Console(file=stream, width=width, highlight=False, markup=False, emoji=False)


def columns() -> int:
    """The width of what stands on stdout."""
    return console().width


def print_json(view: object) -> None:
    """A view as JSON on stdout; what the stream cannot hold is escaped, so that nothing of it is lost."""
    text = json.dumps(view, ensure_ascii=False, indent=2)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        text = json.dumps(view, indent=2)
    sys.stdout.write(f"{text}\n")


def line(text: str = "", style: str | None = None) -> None:
    """A line on stdout; a long one is wrapped at words."""
    console().print(printable(text), style=style)


def fields(pairs: Sequence[tuple[str, str]], *, label_columns: int = 10, indent: int = 2) -> None:
    """Labels with their texts beside them; a long text goes on below itself."""
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 0))
    grid.add_column(width=label_columns)
    grid.add_column()
    for label, text in pairs:
        grid.add_row(Text(label), Text(printable(text)))
    _print(grid, indent)


def table(
    columns: Sequence[str], rows: Sequence[Sequence[object]], numbers: Sequence[str] = (), *, wraps: bool = False
) -> None:
    """A table without a frame; the last column takes what is left, and is cut there unless it wraps."""
    from rich.table import Table
    from rich.text import Text

    grid = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim", expand=True)
    for name in columns[:-1]:
        grid.add_column(Text(name), justify="right" if name in numbers else "left", no_wrap=True)
    grid.add_column(Text(columns[-1]), no_wrap=not wraps, overflow="fold" if wraps else "ellipsis", ratio=1)
    for row in rows:
        grid.add_row(*(Text(printable(cell_text(cell))) for cell in row))
    _print(grid, 2)


def cell_text(value: object) -> str:
    """A value as it stands in a table."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def printable(text: str) -> str:
    """A text without control characters: a stored message must not command the terminal."""
    return "".join(
        character if character == "\n" or unicodedata.category(character) not in _UNSEEN else " " for character in text
    )


def count(number: int, one: str, many: str | None = None) -> str:
    """A number with its noun."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def json_or(as_json: bool, view: Any, show: Any) -> None:  # noqa: ANN401 - a view and what shows it
    """Print a view as JSON, or show it."""
    if as_json:
        print_json(view)
    else:
        show(view)


def _print(grid: "Table", indent: int) -> None:
    """Print without the blanks that fill up the lines."""
    from rich.padding import Padding

    screen = console()
    with screen.capture() as captured:
        screen.print(Padding(grid, (0, 0, 0, indent)))
    sys.stdout.write("\n".join(text.rstrip(" ") for text in captured.get().split("\n")))


_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co"})
