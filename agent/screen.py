"""What a chat writes: answers and results to one stream, remarks and warnings to another, in whole lines."""

import logging
import shutil
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TextIO

_WIDEST = 100
_BAR_CELLS = 40
_CONTROLS = dict.fromkeys((*range(9), *range(11, 32), *range(127, 160)))  # a model could move the cursor


@dataclass(slots=True)
class Screen:
    """Two streams, and whether a line of an answer is still open."""

    out: TextIO
    err: TextIO
    is_mid_line: bool = False

    def stream(self, text: str) -> None:
        """A piece of an answer, as it comes."""
        printable = clean(text)
        if printable:
            self._write(self.out, printable)
            self.is_mid_line = not printable.endswith("\n")

    def end_line(self) -> None:
        """Close the line that an answer left open."""
        if self.is_mid_line:
            self._write(self.out, "\n")
            self.is_mid_line = False

    def say(self, text: str) -> None:
        """A result, in lines of its own."""
        self.end_line()
        self._write(self.out, f"{clean(text)}\n")

    def note(self, text: str) -> None:
        """A remark of the program, in one line."""
        self.end_line()
        self._write(self.err, f"{one_line(text)}\n")

    def _write(self, stream: TextIO, text: str) -> None:
        stream.write(text.encode(stream.encoding or "utf-8", "replace").decode(stream.encoding or "utf-8"))
        stream.flush()


class NoteHandler(logging.Handler):
    """Shows warnings of the host and of plugins as remarks."""

    def __init__(self, screen: Screen) -> None:
        super().__init__(logging.WARNING)
        self._screen = screen

    def emit(self, record: logging.LogRecord) -> None:
        """Show one; its traceback stays out, since the message says what happened."""
        try:
            self._screen.note(f"{record.levelname.lower()}: {record.getMessage()}")
        except (TypeError, ValueError):  # a plugin's own mistake in its message
            self._screen.note(f"{record.levelname.lower()}: {record.msg}")


def clean(text: str) -> str:
    """A text without characters that would control a terminal."""
    return text.translate(_CONTROLS)


def one_line(text: str, characters: int = 400) -> str:
    """A text as one line, cut where it gets long."""
    line = clean(" ".join(text.split()))
    return line if len(line) <= characters else f"{line[: characters - 1]}…"


def bar(used: int, limit: int, mark: int = 0) -> str:
    """How much of a limit is used, with a mark on the way, such as `[######|......]`."""
    if limit <= 0:
        return "[" + "?" * _BAR_CELLS + "]"
    filled = min(-(-used * _BAR_CELLS // limit), _BAR_CELLS)
    cells = ["#"] * filled + ["."] * (_BAR_CELLS - filled)
    if 0 < mark < limit:
        cells[mark * _BAR_CELLS // limit] = "|"
    return "[" + "".join(cells) + "]"


def width() -> int:
    """How many characters a line may have: what a terminal shows without folding, and no more than reads well."""
    return min(shutil.get_terminal_size((_WIDEST, 0)).columns, _WIDEST)


def cut(line: str) -> str:
    """A line that fits."""
    return line if len(line) <= width() else f"{line[: width() - 1]}…"


def table(rows: Iterable[Sequence[str]]) -> str:
    """Rows in columns, two blanks between them; what is too long for the screen is cut."""
    cells = [[one_line(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = ("  ".join(cell.ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip() for row in cells)
    return "\n".join(map(cut, lines))
