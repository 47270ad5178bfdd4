"""Line up what the host hands over with what is known: requests with conversations, transcripts with the store."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from vecctx.turns.content import text_of_content
from vecctx.turns.identity import key_of
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
    head = _leading_system_rows(request)
    # Providers take one: another that the durable conversation begins with is a row like any other.
    head -= min(_leading_system_rows(conversation or ()), max(0, head - 1))
    head += _prefill_length(request[head:], conversation)
    current = _incoming_position(request, head, conversation, incoming)
    if current is None:
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
    stored = _Stored(known)
    fresh: list[int] = []
    behind, is_in_step = 0, True
    for number, row in enumerate(transcript):
        following = transcript[number + 1 : number + 2]
        position = stored.position_of_uid.get(row.uid or "")
        if position is not None and stored.is_new_version(row):
            fresh.append(number)
            continue
        if position is None:
            position = stored.match(row, behind, following, is_in_step=is_in_step)
        if position is None and not (behind == 0 and stored.is_newest(row)):
            fresh.append(number)
            is_in_step = behind == 0
        elif position is not None:
            if behind == 0:  # nothing new is said before what is known: these came with the compaction, and again
                fresh = [early for early in fresh if not stored.has(transcript[early])]
            behind, is_in_step = max(behind, position + 1), True
    return tuple(fresh)


def seam(known: Sequence[Known], transcript: Sequence[Keyed], length: int) -> int | None:
    """Where the transcript goes on behind the newest known rows, told by the last `length` of them.

    None if they do not stand together in it, or do so more than once here or there: "ok", "done" tells nothing.
    """
    run = known[-length:]
    ends = _ends_of(run, transcript)
    is_repeated = len(_ends_of(run, [Keyed("", row.key, row.uid) for row in known])) > 1
    return ends[0] if len(ends) == 1 and not is_repeated else None


def _ends_of(run: Sequence[Known], rows: Sequence[Keyed]) -> list[int]:
    """Every position behind which a run of rows ends."""
    return [
        end
        for end in range(len(run), len(rows) + 1)
        if run and all(_same(row, other) for row, other in zip(run, rows[end - len(run) : end], strict=True))
    ]


class _Stored:
    """The known rows of a conversation, to be found by uid or by content."""

    def __init__(self, known: Sequence[Known]) -> None:
        self._known = known
        self._positions: defaultdict[str, list[int]] = defaultdict(list)
        self._keys_of_uid: defaultdict[str, set[str]] = defaultdict(set)
        self.position_of_uid: dict[str, int] = {}
        for position, row in enumerate(known):
            self._positions[row.key].append(position)
            if row.uid:
                self._keys_of_uid[row.uid].add(row.key)
                self.position_of_uid.setdefault(row.uid, position)

    def has(self, row: Keyed) -> bool:
        """Whether a row of this content is known, wherever it stands."""
        return row.key in self._positions

    def is_new_version(self, row: Keyed) -> bool:
        """A user's edit is a message of its own; a host's (a pruned result, rows merged into one) is the old, worse."""
        is_edit = row.role == "user" and row.key not in self._keys_of_uid.get(row.uid or "", ())
        return is_edit and (not row.absorbed_uids or any(uid not in self.position_of_uid for uid in row.absorbed_uids))

    def is_newest(self, row: Keyed) -> bool:
        """Whether a row is the newest known one: a transcript may begin with it."""
        return bool(self._known) and _same(self._known[-1], row)

    def match(self, row: Keyed, behind: int, following: Sequence[Keyed], *, is_in_step: bool) -> int | None:
        """The known position of a row that has none by uid.

        While rows follow each other as they are known, the next one is taken as it comes; a jump must be borne out by
        the row that follows. Behind something new every match must be borne out: an "ok" that follows other words than
        the known one is another "ok".
        """
        positions = self._positions.get(row.key, [])
        candidates = positions[bisect_left(positions, behind) :]
        if is_in_step and candidates[:1] == [behind] and self._may_be(row, behind):
            return behind
        for position in reversed(candidates):
            if self._may_be(row, position) and self._is_borne_out(position, following, is_in_step=is_in_step):
                return position
        return None

    def _may_be(self, row: Keyed, position: int) -> bool:
        uid = self._known[position].uid
        return not (row.uid and uid) or row.uid == uid

    def _is_borne_out(self, position: int, following: Sequence[Keyed], *, is_in_step: bool) -> bool:
        if not following:
            return is_in_step
        return position + 1 < len(self._known) and _same(self._known[position + 1], following[0])


def _leading_system_rows(rows: Sequence[Row]) -> int:
    return next((n for n, row in enumerate(rows) if row.get("role") not in ("system", "developer")), len(rows))


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


def _incoming_position(
    request: Sequence[Row], head: int, conversation: Sequence[Row] | None, incoming: Row | None
) -> int | None:
    """Where the incoming message stands by the durable rows, which no hook adds to; None if they do not say."""
    if incoming is None or not conversation or len(conversation) != len(request) - head:
        return None
    key = key_of(incoming)
    for number in range(len(conversation) - 1, -1, -1):
        if conversation[number].get("role") == "user" and key_of(conversation[number]) == key:
            return head + number if request[head + number].get("role") == "user" else None
    return None


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


def _same(known: Known, row: Keyed) -> bool:
    if known.uid and row.uid:
        # What a user edits keeps its uid; what a host cuts short or merges is the same row.
        is_edited = row.role == "user" and known.key != row.key and not row.absorbed_uids
        return known.uid == row.uid and not is_edited
    return known.key == row.key
