"""Recent turns and candidates into the budget."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from vecctx.values import Candidate, PastTurn, Quote

TAIL_SHARE = 0.15
"""Share of the free tokens that the newest turns get first. At 4000 it costs LoCoMo 0.9 points and BEAM none."""
NEWEST_SHARE = 0.25
"""Share that the very newest turn may take: "yes, do it" means nothing without it. A longer one is quoted."""
LENGTH_PRICE = 0.2
FREE_TOKENS = 100
"""What each doubling of a quote's length beyond this must bring in score. BEAM +17.6, LoCoMo no cost; without the
free part it would reward tiny messages."""
LONG_SHARE = 0.9
LONG_TOKENS = 2000
"""A message that would take more than this, or this share of the room, is quoted by the part that was found."""
_HEADER_TOKENS = 2
"""A quote's header line; where an estimate is too low, the last quotes give way."""
_DATE_TOKENS = 9
"""A date line, which stands before the first quote of each day."""
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Recent:
    """The newest turns that go along as they are."""

    spans: tuple[tuple[int, int], ...] = ()
    """Bounds in the history, in order, not overlapping."""
    tokens: int = 0
    left: tuple[PastTurn, ...] = ()
    """Turns among them that can only be quoted: no strict provider takes them, or the very newest is too long."""


@dataclass(frozen=True, slots=True)
class Picked:
    """The candidates that go along as quotes, and the best of those that do not."""

    quotes: tuple[Quote, ...] = ()
    tokens: int = 0
    lost: tuple[tuple[Candidate, str], ...] = ()
    """Best first, each with what it lost to."""


def reach(turns: Iterable[PastTurn], cost: Callable[[PastTurn], int], room: int) -> tuple[tuple[PastTurn, ...], bool]:
    """The newest turns that could go along at the most, newest first, and whether these are all and all fit.

    The very newest is among them even where it is too long: it is to be quoted then.

    `turns` are read no further than needed: a history may be a thousand times the budget.
    """
    found: list[PastTurn] = []
    used = 0
    for turn in turns:
        used += cost(turn) if turn.is_sound else 0
        if used > room:
            return tuple(found or [turn]), False
        found.append(turn)
    return tuple(found), True


def recent(turns: Sequence[PastTurn], cost: Callable[[PastTurn], int], room: int, newest_room: int = 0) -> Recent:
    """The newest sound turns whose tokens fit into `room`; the very newest may take `newest_room`.

    They end at the first turn that does not fit, so that nothing is missing between them. `turns` come newest first.
    """
    spans: list[tuple[int, int]] = []
    left: list[PastTurn] = []
    used = 0
    for number, turn in enumerate(turns):
        tokens = cost(turn) if turn.is_sound else 0
        if used + tokens > (room if spans else max(room, newest_room)):
            left += [turn] if number == 0 else []
            break
        if turn.is_sound:
            spans.append((turn.start, turn.end))
            used += tokens
        else:
            left.append(turn)
    return Recent(tuple(reversed(spans)), used, tuple(left))


def pick(candidates: Sequence[Candidate], room: int) -> Picked:
    """The candidates that bring most for their tokens, in the order of their value, as long as they fit.

    Value is the score less `LENGTH_PRICE` for each doubling of the length beyond `FREE_TOKENS`: at a fixed budget two
    short messages with good scores beat a long one with a slightly better score.
    """
    quotes: list[Quote] = []
    lost: list[tuple[Candidate, str]] = []
    days: set[float] = set()
    left = room
    for value, quote in sorted(
        (_valued(c, room) for c in candidates), key=lambda pair: (-round(pair[0], 6), pair[1].message.message_id)
    ):
        day = _day(quote)
        tokens = quote.tokens + (_DATE_TOKENS if day is not None and day not in days else 0)
        if tokens > left:
            lost.append((quote.candidate, f"no room: {tokens} tokens, {left} left, value {value:.2f}"))
            continue
        quotes.append(quote)
        days.update(() if day is None else (day,))
        left -= tokens
    return Picked(tuple(quotes), room - left, tuple(lost))


def _day(quote: Quote) -> float | None:
    said_at = quote.message.said_at
    return None if said_at is None else said_at // _DAY_SECONDS


def _valued(candidate: Candidate, room: int) -> tuple[float, Quote]:
    quote = _quote(candidate, room)
    return candidate.score - LENGTH_PRICE * max(0.0, math.log2(max(1, quote.tokens) / FREE_TOKENS)), quote


def _quote(candidate: Candidate, room: int) -> Quote:
    """The whole message, or the part that was found where the whole would crowd out the rest."""
    text = candidate.message.text
    whole = Quote(candidate, 0, len(text), candidate.message.tokens + _overhead(text))
    if whole.tokens <= min(LONG_SHARE * room, LONG_TOKENS) and not candidate.is_part:
        return whole
    start, end = candidate.best
    share = (end - start) / max(1, len(text))
    tokens = math.ceil(candidate.message.tokens * share * 1.25)  # dense parts of a text have more tokens than the mean
    return replace(whole, start=start, end=end, tokens=min(whole.tokens, tokens + _overhead(text[start:end])))


def _overhead(text: str) -> int:
    return _HEADER_TOKENS + text.count("\n")
