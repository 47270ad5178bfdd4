"""Line up what the host hands over with what is known: requests with conversations, transcripts with the store."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from vecctx.turns.content import text_of_content
from vecctx.values import Known, Row


@dataclass(frozen=True, slots=True)
class Split:
    """A request in its three parts; `request[:history_start]` is the head, `request[current_start:]` this turn."""

    history_start: int
    current_start: int


@dataclass(frozen=True, slots=True)
class Keyed:
    """A row of a transcript, reduced to what identifies it."""

    role: str
    key: str
    uid: str | None
    absorbed_uids: tuple[str, ...] = ()
    """Rows that the host merged into this one."""


def split(request: Sequence[Row], conversation: Sequence[Row] | None, incoming: Row | None) -> Split | None:
    """Where head, history and current turn begin; None if nobody asks anything.

    The head is the system message and the host's prefill: rows that the durable conversation does not have.
    """
    head = next((n for n, row in enumerate(request) if row.get("role") not in ("system", "developer")), len(request))
    head += _prefill_length(request[head:], conversation)
    current = _current_start(request, head, incoming)
    return None if current is None else Split(head, current)


def durable_rows(request: Sequence[Row], conversation: Sequence[Row] | None, split: Split) -> Sequence[Row]:
    """The rows behind the head as the host keeps them, without text that a hook added; else the request's own.

    They line up with `request[split.history_start:]` one to one.
    """
    rows = request[split.history_start :]
    return conversation if conversation and len(conversation) == len(rows) else rows


def past_rows(request: Sequence[Row], conversation: Sequence[Row] | None, split: Split) -> Sequence[Row]:
    """The durable rows of all turns before the current one, also those that the request does not carry."""
    current_length = len(request) - split.current_start
    rows = conversation or request[split.history_start :]
    return rows[: max(0, len(rows) - current_length)]


def unseen(known: Sequence[Known], transcript: Sequence[Keyed]) -> tuple[int, ...]:
    """Positions of the transcript's rows that the store does not have, in order.

    Rows are matched by uid where both sides have one, else by content in the order of the conversation: a transcript
    may lack its beginning (compaction), its end (a stale copy) or both, and a repeated "ok" is a message of its own.
    """
    uids = {row.uid: row.key for row in known if row.uid}
    by_key = _positions(known)
    fresh, behind = [], 0
    for number, row in enumerate(transcript):
        if row.uid and row.uid in uids:
            if _is_new_version(row, uids):
                fresh.append(number)
            continue
        position = _match(row, known, by_key, behind, transcript[number + 1 : number + 2])
        if position is None:
            fresh.append(number)
        else:
            behind = position + 1
    return tuple(fresh)


def seam(known: Sequence[Known], transcript: Sequence[Keyed]) -> int | None:
    """Where the transcript goes on behind the newest known rows; None if they do not stand together in it."""
    length = len(known)
    if not length:
        return None
    for end in range(len(transcript), length - 1, -1):
        if all(_same(row, other) for row, other in zip(known, transcript[end - length : end], strict=True)):
            return end
    return None


def _prefill_length(rows: Sequence[Row], conversation: Sequence[Row] | None) -> int:
    """Rows that stand before the conversation's first; 0 unless the rest lines up with it."""
    if not conversation or len(rows) <= len(conversation):
        return 0
    extra = len(rows) - len(conversation) - sum(row.get("role") in ("system", "developer") for row in rows)
    if extra <= 0:
        return 0
    ends = ((rows[extra], conversation[0]), (rows[-1], conversation[-1]))
    return extra if all(_corresponds(row, other) for row, other in ends) else 0


def _corresponds(row: Row, durable: Row) -> bool:
    """Whether a request's row may be this durable one, to which a hook may have added text."""
    is_like = row.get("role") == durable.get("role") and row.get("tool_call_id") == durable.get("tool_call_id")
    return is_like and text_of_content(durable.get("content")).strip() in text_of_content(row.get("content"))


def _current_start(request: Sequence[Row], head: int, incoming: Row | None) -> int | None:
    """The incoming user message; hosts add text behind it, and user rows after it while the turn goes on."""
    users = (n for n in range(len(request) - 1, head - 1, -1) if request[n].get("role") == "user")
    newest = next(users, None)
    if newest is None or incoming is None:
        return newest
    wanted = text_of_content(incoming.get("content")).strip()
    if not wanted or _says(request[newest], wanted):
        return newest
    return next((n for n in users if _says(request[n], wanted)), newest)


def _says(row: Row, wanted: str) -> bool:
    return wanted in text_of_content(row.get("content"))


def _positions(known: Sequence[Known]) -> dict[str, list[int]]:
    positions = defaultdict(list)
    for position, row in enumerate(known):
        positions[row.key].append(position)
    return positions


def _is_new_version(row: Keyed, uids: dict[str, str]) -> bool:
    """A user's edit is a message of its own; a host's (a pruned result, rows merged into one) is the old one, worse."""
    is_edit = row.role == "user" and uids[row.uid or ""] != row.key
    return is_edit and (not row.absorbed_uids or any(uid not in uids for uid in row.absorbed_uids))


def _match(
    row: Keyed, known: Sequence[Known], by_key: dict[str, list[int]], behind: int, following: Sequence[Keyed]
) -> int | None:
    """The known position of a row; a jump must be borne out by the row that follows, or lead to the newest row."""
    candidates = [
        position for position in by_key.get(row.key, ()) if position >= behind and _may_be(row, known[position])
    ]
    if not candidates:
        return None
    if candidates[0] == behind:
        return behind
    last = len(known) - 1
    borne_out: Callable[[int], bool] = lambda position: (  # noqa: E731 - shorter than a nested function
        position == last or not following or (position < last and _same(known[position + 1], following[0]))
    )
    return next((position for position in reversed(candidates) if borne_out(position)), None)


def _may_be(row: Keyed, known: Known) -> bool:
    return not (row.uid and known.uid) or row.uid == known.uid


def _same(known: Known, row: Keyed) -> bool:
    return known.uid == row.uid if known.uid and row.uid else known.key == row.key
