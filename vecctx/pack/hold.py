"""Keep the last selection while it serves: the same turn gets the same bytes, and more behind them."""

from collections.abc import Sequence
from hashlib import blake2b

from vecctx.pack.ledger import digest
from vecctx.values import Held, Row


def turn_key(user_key: str, key_before: str) -> str:
    """Names the user message that a request is sent for, by what it says and what it follows."""
    return blake2b(f"{key_before} {user_key}".encode(), digest_size=16).hexdigest()


def hold(name: str, history: Sequence[Row], spans: Sequence[tuple[int, int]], block: str | None) -> Held:
    """What the turn's next request needs; `spans` are bounds of the kept rows in the history, in order."""
    back = tuple((len(history) - start, len(history) - end) for start, end in spans)
    return Held(name, back, digest(*(row for start, end in spans for row in history[start:end])), block)


def held_spans(held: Held, history: Sequence[Row]) -> tuple[tuple[int, int], ...] | None:
    """Bounds of the kept rows in the history; None if they are not what was sent."""
    spans = tuple((len(history) - first, len(history) - last) for first, last in held.spans)
    if any(start < 0 for start, _ in spans):
        return None
    kept = [row for start, end in spans for row in history[start:end]]
    return spans if digest(*kept) == held.digest else None
