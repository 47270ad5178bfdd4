"""Indexing with a progress bar."""

import time
from typing import TYPE_CHECKING

from vecctx.cli.terminal import console, count

if TYPE_CHECKING:
    from vecctx.wiring import Opened

_LOOK_SECONDS = 0.2


def index(opened: "Opened", messages: int) -> float:
    """Wait until everything stored has its vector, with a bar on stderr; gives the seconds it took.

    Where the model fails the rest is found by words, and a warning has said so.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    screen = console(to_stderr=True)
    started = time.monotonic()
    total = _pending(opened)
    if not screen.is_terminal:
        screen.print(f"indexing {count(messages, 'message')} in {count(total, 'passage')} ...")
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=screen, disable=not screen.is_terminal or not total) as bar:
        task = bar.add_task(f"indexing {count(messages, 'message')}", total=total)
        opened.worker.wake()
        while not opened.worker.wait(_LOOK_SECONDS) and opened.worker.error is None:
            bar.update(task, completed=total - _pending(opened))
        bar.update(task, completed=total - _pending(opened))
    opened.flush()
    return time.monotonic() - started


def _pending(opened: "Opened") -> int:
    return opened.parts.store.pending_count(opened.parts.embedder.identity)
