"""The read path: request -> align -> retrieve -> rank -> pack -> hold -> render."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from vecctx.errors import StoreError, VecctxError
from vecctx.pack import fill, hold, ledger
from vecctx.ports import Parts
from vecctx.rank.boost import lend
from vecctx.rank.fuse import best_of, best_places, fuse
from vecctx.rank.gate import is_related
from vecctx.retrieve.dense import dense
from vecctx.retrieve.lexical import asks_something, lexical, weight
from vecctx.turns import align, render
from vecctx.turns.content import text_of_content, text_of_row
from vecctx.turns.group import call_ids, past_turns
from vecctx.turns.identity import key_of
from vecctx.turns.redact import redact
from vecctx.values import Budget, Candidate, Hit, Mark, PastTurn, Place, Quote, Row, Scored, Selection, Spot

HITS = 1500
"""Chunks asked of each arm: more than its list takes, so that what the other arm listed has a score here too."""
BESIDE_CHARACTERS = 900
"""Of a long message that stands beside a hit, its beginning may be quoted."""
END_CHARACTERS = 400
"""Of a recent message that is only quoted: the beginning of what was asked, the end of what was said."""
RESERVE_SHARE = 0.08
"""Share of the budget kept free in the first request of a turn, so that its tool results only extend it."""
CUT_RESERVE_SHARE = 0.4
"""The same after a turn has outgrown the budget: one cut, deep enough that the next requests only extend it."""
GROWN_BUDGET = 1.25
"""A budget this much larger is another one: the turn is chosen for anew. What usage teaches moves it less."""
RECENT_SCORE = 2.0
"""A recent turn that can only be quoted goes before anything that was found."""
SHOWN_LOSSES = 20
"""Candidates that did not go along and are still recorded."""
SHOWN_CHARACTERS = 160
"""Of each text in the record: enough to recognise it."""
READ_CHARACTERS = 400
"""Of each text that is looked through for secrets before so much of it is recorded."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One provider request as the host hands it over, and where recall may look."""

    request: Sequence[Row]
    conversation: Sequence[Row] | None
    incoming: Row | None
    conversation_id: int
    scope: tuple[int, ...]
    """The conversations that recall may look into."""
    budget: Budget
    deadline_ms: int
    previous: ledger.Ledger
    """What was sent before, to tell how much of it the provider's cache can serve."""
    redacts: bool = True
    """Whether secrets are replaced in what the record quotes; what is sent stays as it is."""


@dataclass(frozen=True, slots=True)
class Sent:
    """The message list for the provider, and its record."""

    messages: list[dict[str, Any]]
    selection: Selection
    entry: ledger.Ledger


@dataclass(frozen=True, slots=True)
class Frame:
    """The request in its three parts, and what it asks."""

    head: Sequence[Row]
    history: Sequence[Row]
    current: Sequence[Row]
    durable: Sequence[Row]
    """The history's rows as the host keeps them, without what hooks added: these tell which message is which."""
    current_keys: frozenset[str]
    """Of the current turn's messages, as they are sent and as the host keeps them."""
    turn_key: str
    question: str
    fixed_tokens: tuple[int, int]
    """Of the head and of the current turn."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Which rows of the history go along, and what is quoted before the user's message."""

    spans: tuple[tuple[int, int], ...] = ()
    block: str | None = None
    recalled: tuple[Mark, ...] = ()
    dropped: tuple[Mark, ...] = ()
    notes: tuple[str, ...] = ()


def select(ask: Ask, parts: Parts) -> Sent | None:
    """What to send instead of the request; None if nobody asks anything.

    System message, prefill and the current turn always go along whole, even where they alone pass the budget.
    """
    started_ms = parts.clock.monotonic_ms()
    frame = _read(ask, parts)
    if frame is None:
        return None
    held = _held_plan(frame, ask, parts)
    plan = held if held and _used(frame, held.spans, held.block, parts) <= ask.budget.total_tokens else None
    if plan is None:
        left_ms = ask.deadline_ms - (parts.clock.monotonic_ms() - started_ms) if ask.deadline_ms else float("inf")
        found, notes = find(frame.question, ask.scope, parts, left_ms)
        notes = ("cut", *notes) if held else notes
        reserve_share = CUT_RESERVE_SHARE if held else RESERVE_SHARE
        plan = _plan(found, frame, ask, parts, reserve_share=reserve_share, notes=notes)
    return _send(ask, frame, plan, parts, started_ms)


def _read(ask: Ask, parts: Parts) -> Frame | None:
    split = align.split(ask.request, ask.conversation, ask.incoming)
    if split is None:
        return None
    head, current = ask.request[: split.history_start], ask.request[split.current_start :]
    durable = align.durable_rows(ask.request, ask.conversation, split)
    asked = ask.incoming or durable[split.current_start - split.history_start]
    start = len(durable) - len(current)
    # How far the talk had come tells this question from the same one behind the same answer, earlier on.
    before = f"{start} {key_of(durable[start - 1]) if start else ''}"
    return Frame(
        head=head,
        history=ask.request[split.history_start : split.current_start],
        current=current,
        durable=durable[:start],
        current_keys=frozenset(map(key_of, (*current, *durable[start:]))),
        turn_key=hold.turn_key(key_of(asked), before),
        question=text_of_content(asked.get("content")).strip(),
        fixed_tokens=(_count(head, parts), _count(current, parts)),
    )


def _held_plan(frame: Frame, ask: Ask, parts: Parts) -> Plan | None:
    """The plan of the turn's last request, if its rows are still there and the budget is still what it was."""
    before = parts.store.selection_of_turn(ask.conversation_id, frame.turn_key)
    if before is None or before.held is None:
        return None
    spans = hold.held_spans(before.held, frame.history)
    if spans is None or ask.budget.total_tokens > GROWN_BUDGET * before.budget.total_tokens:
        return None
    return Plan(spans, before.held.block, before.recalled, before.dropped, ("held",))


def find(
    question: str, scope: Sequence[int], parts: Parts, left_ms: float = float("inf")
) -> tuple[tuple[Candidate, ...], tuple[str, ...]]:
    """The messages of these conversations that are about a question, best first, and what was out of the ordinary."""
    if not asks_something(question):
        return (), ("nothing is asked",)
    words = lexical(parts.store, scope, question, HITS)
    meaning, notes = _by_meaning(question, scope, parts, left_ms)
    if not is_related(meaning, words.coverage):
        return (), (*notes, "nothing stored is about this")
    places = parts.store.places([hit.chunk_id for hit in (*meaning, *words.hits)])
    scored = fuse(best_of(meaning, places), lend(best_of(words.hits, places)), weight(question))
    return _with_text(scored, best_places(meaning, words.hits, places), parts), notes


def _by_meaning(
    question: str, scope: Sequence[int], parts: Parts, left_ms: float
) -> tuple[tuple[Hit, ...], tuple[str, ...]]:
    """The best chunks by meaning; none, with the reason, where the model or the index is late or broken."""
    try:
        return parts.runner.run(lambda: dense(parts.embedder, parts.index, scope, question, HITS), left_ms), ()
    except VecctxError as error:
        return (), (f"words only: {error}",)


def _with_text(scored: Sequence[Scored], found: Mapping[Spot, Place], parts: Parts) -> tuple[Candidate, ...]:
    """The messages with their text; those that nothing was found in stand beside one that was."""
    beside = parts.store.at([one.spot for one in scored if one.spot not in found])
    candidates = []
    for one in scored:
        place = found.get(one.spot)
        message = place.message if place else beside.get(one.spot)
        if message is not None and message.text.strip():
            best = (place.start, place.end) if place else (0, min(len(message.text), BESIDE_CHARACTERS))
            reason = one.reason if place else "beside a hit"
            candidates.append(Candidate(message, one.score, best, one.dense, one.lexical, reason))
    return tuple(candidates)


def _plan(
    found: Sequence[Candidate],
    frame: Frame,
    ask: Ask,
    parts: Parts,
    *,
    reserve_share: float,
    notes: tuple[str, ...],
) -> Plan:
    """Recent turns first, then what is recalled, then more recent turns into what is left."""
    free = ask.budget.total_tokens - sum(frame.fixed_tokens)
    if free <= 0:
        return Plan(notes=(*notes, "over the budget: system message and current turn alone"))
    room = free - min(int(reserve_share * ask.budget.total_tokens), free // 2)

    def cost(turn: PastTurn) -> int:
        return _count(frame.history[turn.start : turn.end], parts)

    turns, is_all = fill.reach(past_turns(frame.history, call_ids((*frame.head, *frame.current))), cost, room)
    tail_room = room if is_all else int(fill.TAIL_SHARE * room)
    recent = fill.recent(turns, cost, tail_room, int(fill.NEWEST_SHARE * room))
    overhead = parts.counter.count_message({"role": "user", "content": render.frame_text()})
    ends = _quoted_ends(recent, frame, ask, parts)
    usable = [*ends, *_not_sent(found, frame, recent, ends)]
    if not isinstance(frame.current[0].get("content"), str | list):
        usable = []  # a host could not merge the block with such a message, and two user messages would stand in a row
    picked = fill.pick(usable, room - recent.tokens - overhead)
    recent = fill.recent(turns, cost, room - picked.tokens - overhead * bool(picked.quotes), recent.tokens)
    kept_keys = _keys(frame, recent)
    quotes = _fitted([q for q in picked.quotes if q.message.key not in kept_keys], frame, recent, ask, parts)
    lost = [_mark(candidate, reason) for candidate, reason in picked.lost[:SHOWN_LOSSES]]
    recalled = tuple(_mark(quote.candidate, quote.candidate.reason, quote) for quote in render.in_order(quotes))
    return Plan(recent.spans, render.block(quotes), recalled, tuple(lost), notes)


def _quoted_ends(recent: fill.Recent, frame: Frame, ask: Ask, parts: Parts) -> list[Candidate]:
    """What was asked and what was said last in recent turns that do not go along as they are."""
    ends = [end for turn in recent.left for end in _ends_of(frame.durable[turn.start : turn.end])]
    if not ends:
        return []
    known = parts.store.known(ask.conversation_id, len(frame.durable) - min(turn.start for turn in recent.left))
    ids = {row.key: row.message_id for row in known}  # of equal texts the newest
    stored = parts.store.messages((ask.conversation_id,), [ids[key] for key, _ in ends if key in ids])
    first_keys = {key for key, is_first in ends if is_first}
    return [
        Candidate(
            message,
            RECENT_SCORE,
            _end_of(message.text, is_first=message.key in first_keys),
            is_part=True,
            reason="recent",
        )
        for message in stored
        if message.text.strip()
    ]


def _ends_of(rows: Sequence[Row]) -> list[tuple[str, bool]]:
    """The keys of a turn's first and last message, and whether it is the first."""
    last = [(key_of(rows[-1]), False)] if len(rows) > 1 else []
    return [(key_of(rows[0]), True), *last]


def _end_of(text: str, *, is_first: bool) -> tuple[int, int]:
    return (0, min(len(text), END_CHARACTERS)) if is_first else (max(0, len(text) - END_CHARACTERS), len(text))


def _not_sent(
    found: Sequence[Candidate], frame: Frame, recent: fill.Recent, ends: Sequence[Candidate]
) -> list[Candidate]:
    """Candidates whose text the request does not hold already, each text once."""
    whole = {end.message.key for end in ends if end.best == (0, len(end.message.text))}
    seen = _keys(frame, recent) | frame.current_keys | whole
    fresh = []
    for candidate in found:
        if candidate.message.key not in seen:
            seen.add(candidate.message.key)
            fresh.append(candidate)
    return fresh


def _keys(frame: Frame, recent: fill.Recent) -> set[str]:
    return {key_of(row) for start, end in recent.spans for row in frame.durable[start:end]}


def _fitted(quotes: list[Quote], frame: Frame, recent: fill.Recent, ask: Ask, parts: Parts) -> list[Quote]:
    """The quotes, less the last ones where the estimate of their tokens was too low."""
    while quotes and _used(frame, recent.spans, render.block(quotes), parts) > ask.budget.total_tokens:
        quotes = quotes[:-1]
    return quotes


def _send(ask: Ask, frame: Frame, plan: Plan, parts: Parts, started_ms: float) -> Sent:
    kept = [row for start, end in plan.spans for row in frame.history[start:end]]
    messages = render.render(frame.head, kept, plan.block, frame.current)
    entry = ledger.write(messages, parts.counter)
    selection = Selection(
        conversation_id=ask.conversation_id,
        turn_key=frame.turn_key,
        query=_excerpt(frame.question, redacts=ask.redacts),
        budget=ask.budget,
        used_tokens=sum(entry.tokens),
        system_tokens=frame.fixed_tokens[0],
        current_tokens=frame.fixed_tokens[1],
        kept=tuple(_kept_mark(row, parts, redacts=ask.redacts) for row in kept),
        recalled=plan.recalled,
        dropped=plan.dropped,
        left_out_rows=len(frame.history) - len(kept),
        reused_tokens=ledger.reused_tokens(ask.previous, entry),
        notes=plan.notes,
        elapsed_ms=round(parts.clock.monotonic_ms() - started_ms, 3),
        held=hold.hold(frame.turn_key, frame.history, plan.spans, plan.block),
        created_at=parts.clock.now(),
    )
    return Sent(messages, _recorded(selection, parts), entry)


def _recorded(selection: Selection, parts: Parts) -> Selection:
    """The selection with its number. A full disk costs the record, not the recall: what is stored can still be read."""
    try:
        return replace(selection, selection_id=parts.store.record_selection(selection))
    except StoreError as error:
        return replace(selection, notes=(*selection.notes, f"not recorded: {error}"))


def _mark(candidate: Candidate, reason: str, quote: Quote | None = None) -> Mark:
    message = candidate.message
    return Mark(
        message_id=message.message_id,
        role=message.role,
        excerpt=" ".join(message.text[slice(*candidate.best)].split())[:SHOWN_CHARACTERS],
        tokens=quote.tokens if quote else message.tokens,
        reason=reason,
        score=round(candidate.score, 4),
        dense=candidate.dense,
        lexical=candidate.lexical,
        said_at=message.said_at,
    )


def _kept_mark(row: Row, parts: Parts, *, redacts: bool) -> Mark:
    text = " ".join(_excerpt(text_of_row(row), redacts=redacts).split())
    return Mark(None, str(row.get("role")), text, parts.counter.count_message(row), "recent")


def _excerpt(text: str, *, redacts: bool) -> str:
    """The beginning of what the host sent, fit to be written; a secret is known only with what stands behind it."""
    beginning = text[:READ_CHARACTERS]
    return (_redacted(beginning) if redacts else beginning)[:SHOWN_CHARACTERS]


@lru_cache(maxsize=4096)  # a chat's rows come again with each request, and reading them takes longer than a selection
def _redacted(text: str) -> str:
    return redact(text)[0]


def _used(frame: Frame, spans: Sequence[tuple[int, int]], block: str | None, parts: Parts) -> int:
    kept = sum(_count(frame.history[start:end], parts) for start, end in spans)
    quoted = parts.counter.count_message({"role": "user", "content": block}) if block else 0
    return sum(frame.fixed_tokens) + kept + quoted


def _count(rows: Sequence[Row], parts: Parts) -> int:
    return sum(map(parts.counter.count_message, rows))
