"""The write path: messages -> turns -> store, and then chunks -> vectors."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from vecctx.ports import Embedder, Store, TokenCounter
from vecctx.retrieve.dense import passage
from vecctx.retrieve.lexical import terms
from vecctx.turns import align, identity
from vecctx.turns.chunk import chunk
from vecctx.turns.content import text_of_row
from vecctx.turns.group import group
from vecctx.turns.payload import payload_of
from vecctx.turns.redact import redact
from vecctx.values import Chunk, Known, Message, Row

SEAM_ROWS = 8
"""So many rows in a row tell where a transcript goes on from the store, unless the same run happened before."""
SEAM_NEAR = 64
SEAM_FAR = 512
"""How far from the end of transcript and store the seam is looked for, before the whole of both is lined up. Mostly
it is at the very end, and a history may have a hundred thousand rows."""
EMBED_BATCH = 32
"""Chunks embedded between two commits: about a quarter of a second of work that a crash can cost."""


@dataclass(frozen=True, slots=True)
class Ingested:
    """What one hand-over brought."""

    message_ids: tuple[int, ...] = ()
    redactions: int = 0


def ingest(
    rows: Sequence[Row],
    conversation_id: int,
    *,
    store: Store,
    counter: TokenCounter,
    redacts: bool,
    said_at: float | None = None,
) -> Ingested:
    """Store what is new in a transcript of completed turns; committed when this returns.

    The whole transcript arrives each time: what the store has is passed over, also after a compaction, from a stale
    copy, or when an earlier hand-over was missed. `said_at` is the time of a live turn whose host gives none.
    """
    while True:
        newest = store.known(conversation_id, SEAM_FAR)
        fresh = new_rows(rows, newest, conversation_id, store)
        if not fresh:
            return Ingested()
        moment = said_at if is_one_turn(fresh) else None
        read = [read_row(row, counter=counter, redacts=redacts, said_at=moment) for row in fresh]
        redactions = sum(count for _, count in read)
        behind = newest[-1].message_id if newest else None
        turns = group([message for message, _ in read])
        message_ids = store.add_turns(conversation_id, turns, behind=behind, redactions=redactions)
        if message_ids is not None:  # else another process was faster: look again at what is new
            return Ingested(message_ids, redactions)


def locate(rows: Sequence[Row], expected: int | None, *, owner: str, store: Store, is_fresh: bool) -> int | None:
    """The conversation that a transcript belongs to; None for one that the store does not know yet.

    The rows decide, and the session's own conversation (`expected`) breaks ties: a host may hand another session to
    an engine without a word. `is_fresh` says that the session was started just now, so that no rows are no surprise.
    """
    if expected is None or not store.known(expected, 1):
        return expected
    if all(map(identity.is_synthetic, rows)):
        return expected if is_fresh else None
    return holder(rows, expected, owner=owner, store=store)


def holder(rows: Sequence[Row], expected: int | None, *, owner: str, store: Store) -> int | None:
    """The conversation that holds these rows, `expected` before others; None if none holds enough of them."""
    first, last = list(islice(talk_of(rows), SEAM_ROWS // 2)), list(talk_of(rows[-SEAM_NEAR:]))
    sample = [keyed(row) for row in (*first, *last[-SEAM_ROWS:])]
    uids = {row.uid for row in sample if row.uid}
    keys = {row.key for row in sample if not row.uid}
    if expected is not None and not uids and _goes_on(last, store.known(expected, SEAM_ROWS // 2)):
        return expected  # its new rows are not held yet; that another one holds the same "ok" means nothing
    held = store.holding(owner, sorted(uids), sorted(keys))
    enough = min(2, len(uids) + len(keys))
    best = max(held, key=lambda found: (held[found], found == expected, found), default=None)
    return best if best is not None and held[best] >= enough else None


def _goes_on(rows: Sequence[Row], newest: Sequence[Known]) -> bool:
    """Whether the newest stored rows stand together among these."""
    run, keys = [row.key for row in newest], list(map(identity.key_of, rows))
    return bool(run) and any(keys[start : start + len(run)] == run for start in range(len(keys) - len(run) + 1))


def name_of_stranger(session_id: str, rows: Sequence[Row]) -> str:
    """A session name for a transcript that came under another session's name, the same each time it comes."""
    first = next(iter(talk_of(rows)), None)
    name = "empty" if first is None else identity.uid_of(first) or identity.key_of(first)  # many talks begin with "hi"
    return f"{session_id}#{name}"


def embed_pending(store: Store, embedder: Embedder, limit: int = EMBED_BATCH) -> int:
    """Embed and commit the oldest chunks without a vector; gives how many, 0 when nothing waits."""
    chunks = store.pending(embedder.identity, limit)
    if chunks:
        vectors = embedder.embed_texts([passage(piece) for piece in chunks])
        store.add_vectors(embedder.identity, [piece.chunk_id for piece in chunks], vectors)
    return len(chunks)


def new_rows(rows: Sequence[Row], newest: Sequence[Known], conversation_id: int, store: Store) -> Sequence[Row]:
    """The rows of a transcript that a conversation does not have yet; `newest` are the last ones that it has."""
    if not newest:
        return list(talk_of(rows))
    for window in (SEAM_NEAR, SEAM_FAR):
        recent = list(talk_of(rows[-window:]))
        end = align.seam(newest[-window:], [keyed(row) for row in recent], SEAM_ROWS)
        if end is not None:
            return recent[end:]
    talk = list(talk_of(rows))
    fresh = align.unseen(store.known(conversation_id), [keyed(row) for row in talk])
    return [talk[number] for number in fresh]


def talk_of(rows: Sequence[Row]) -> Iterator[Row]:
    """The rows that somebody said: neither the host's notices and summaries nor our own frames."""
    return (row for row in rows if not identity.is_synthetic(row))


def keyed(row: Row) -> align.Keyed:
    """A row reduced to what identifies it."""
    absorbed = row.get("_absorbed_message_uids")
    absorbed = tuple(map(str, absorbed)) if isinstance(absorbed, list | tuple) else ()
    return align.Keyed(str(row.get("role")), identity.key_of(row), identity.uid_of(row), absorbed)


def is_one_turn(rows: Sequence[Row]) -> bool:
    """Whether rows are one turn, which was said just now, and not a history that is handed over late."""
    return len([row for row in rows if row.get("role") == "user"]) <= 1


def read_row(row: Row, *, counter: TokenCounter, redacts: bool, said_at: float | None) -> tuple[Message, int]:
    """A row as it is stored, and how many secrets were replaced in it."""
    text, payload = text_of_row(row), payload_of(row)
    text, in_text = redact(text) if redacts else (text, 0)
    payload, in_payload = redact(payload) if redacts and payload else (payload, 0)
    message = Message(
        role=str(row.get("role")),
        text=text,
        payload=payload,
        key=identity.key_of(row),
        uid=identity.uid_of(row),
        said_at=_stamp(row) or said_at,
        tokens=counter.count_text(text),
        chunks=tuple(Chunk(start, end, terms(text[start:end])) for start, end in chunk(text)),
    )
    return message, max(in_text, in_payload)


def _stamp(row: Row) -> float | None:
    """When the host says that a row was said; None where it gives no time, or a number that is none."""
    stamp = row.get("timestamp")
    if isinstance(stamp, bool) or not isinstance(stamp, int | float):
        return None
    return float(stamp) if 0 < stamp < _YEAR_5000 else None


_YEAR_5000 = 1e11
"""In Unix seconds; larger numbers count something else."""
