"""Points about select_context: what may be sent in place of a request."""

import json
from itertools import product

from .bench import SYSTEM, Bench, compress, expect, request_of, select
from .host import Message, assistant_row, copy_rows, estimate_tokens, is_message_list, user_row
from .point import advised, required
from .rules import alternation_problems, key_problems, list_problems, selection_problems
from .samples import QUESTION, current_turn, dirty_conversations, long_conversation, stored


def long_request() -> list[Message]:
    """Durable rows larger than the window, the current turn three rounds of tools into its work."""
    return stored([*long_conversation(), *current_turn(3)])


@required("select.shape")
def shape(bench: Bench) -> None:
    """It returns None or a list of dicts with something in it, which JSON can hold."""
    engine = bench.selecting_engine()
    for rows in (stored([QUESTION]), long_request()):
        selection = select(engine, rows)
        expect(is_message_list(selection), f"it is {selection!r:.80}")
        json.dumps(selection)


@required("select.inputs")
def inputs(bench: Bench) -> None:
    """What it is handed stays as it was, also inside of nested contents: hosts may hand over their live list."""
    engine, rows = bench.selecting_engine(), long_request()
    rows[0]["content"] = [{"type": "text", "text": rows[0]["content"]}]
    handed = request_of(rows), copy_rows(rows), copy_rows(rows[-10:-9])
    before = json.dumps(handed)
    engine.select_context(
        handed[0], conversation_messages=handed[1], incoming_message=handed[2][0], budget_tokens=16_000
    )
    expect(json.dumps(handed) == before, "it edits what it is handed")


@required("select.own-copies")
def own_copies(bench: Bench) -> None:
    """A host that edits what it got, for cache markers, edits nothing that the engine sends again."""
    engine, rows = bench.selecting_engine(), long_request()
    first = select(engine, rows)
    before = json.dumps(first)
    for row in first:
        row["content"] = "edited"
    expect(json.dumps(select(engine, rows)) == before, "the next selection holds the host's edits")


@required("select.system")
def system(bench: Bench) -> None:
    """The system row is first and unchanged, there is no other, and none where the request has none."""
    engine, rows = bench.selecting_engine(), long_request()
    for opening in ([SYSTEM], []):
        selection = select(engine, rows, opening=opening)
        systems = [row for row in selection if row.get("role") == "system"]
        expect(systems == opening and selection[: len(opening)] == opening, f"{len(systems)} system rows, or changed")


@required("select.prefill")
def prefill(bench: Bench) -> None:
    """Rows between the system row and the history, which no durable row stands for, break nothing."""
    engine, rows = bench.selecting_engine(), long_request()
    opening = [SYSTEM, user_row("An example?"), assistant_row("This is one.")]
    selection = select(engine, rows, opening=opening)
    found = selection_problems(selection, [*opening, *request_of(rows)[1:]])
    expect(not found, "; ".join(found[:2]))


@required("select.current-turn")
def whole_turn(bench: Bench) -> None:
    """The current turn is whole and last: its question, and each call and result since."""
    engine, history = bench.selecting_engine(), long_conversation()
    for rounds in range(4):
        rows = stored([*history, *current_turn(rounds)])
        found = selection_problems(select(engine, rows), request_of(rows))
        expect(not found, f"after {rounds} rounds of tools: {'; '.join(found[:2])}")


@required("select.batches")
def batches(bench: Bench) -> None:
    """Each call is followed by all of its results, there are no orphans, and no id comes twice."""
    engine = bench.selecting_engine()
    # Nine conversations that end at each place of the pattern which calls make in them.
    for turns, rounds in product((30, 31, 32), (0, 1, 2)):
        rows = stored([*long_conversation(turns), *current_turn(rounds)])
        found = list_problems(select(engine, rows))
        expect(not found, "; ".join(found[:2]))


@required("select.keys")
def keys(bench: Bench) -> None:
    """Its rows carry no keys of its own: those that do not begin with "_" reach the provider."""
    engine, rows = bench.selecting_engine(), long_request()
    found = key_problems(select(engine, rows), request_of(rows))
    expect(not found, "; ".join(found))


@required("select.dirty")
def dirty(bench: Bench) -> None:
    """Histories that are not clean are no error, and it adds nothing invalid to them."""
    engine = bench.selecting_engine()
    for name, rows in dirty_conversations().items():
        found = selection_problems(select(engine, rows), request_of(rows))
        expect(not found, f"{name}: {'; '.join(found[:2])}")


@required("select.little")
def little(bench: Bench) -> None:
    """A request of one row, without durable rows, without an incoming message or a budget, is no error."""
    engine = bench.selecting_engine()
    request = [SYSTEM, dict(QUESTION)]
    for conversation, incoming, budget in ((None, None, 0), ([], None, 16_000), ([dict(QUESTION)], dict(QUESTION), 0)):
        selection = engine.select_context(
            copy_rows(request), conversation_messages=conversation, incoming_message=incoming, budget_tokens=budget
        )
        expect(selection is None or is_message_list(selection), f"it is {selection!r:.80}")


@required("select.after-compression")
def after_compression(bench: Bench) -> None:
    """It selects from a history that it has compressed itself."""
    engine, rows = bench.selecting_engine(), long_request()
    shorter = stored(compress(engine, copy_rows(rows)))
    engine.on_session_start("check", boundary_reason="compression", old_session_id="check")
    found = selection_problems(select(engine, shorter), request_of(shorter))
    expect(not found, "; ".join(found[:2]))


@advised("select.alternation")
def alternation(bench: Bench) -> None:
    """No two answers follow each other and none stands first: some providers refuse that."""
    engine, rows = bench.selecting_engine(), long_request()
    found = alternation_problems(select(engine, rows))
    expect(not found, "; ".join(found))


@advised("select.repeatable")
def repeatable(bench: Bench) -> None:
    """The same request twice gives the same bytes, so that a provider's cache holds."""
    engine, rows = bench.selecting_engine(), long_request()
    expect(json.dumps(select(engine, rows)) == json.dumps(select(engine, rows)), "the second time it differs")


@advised("select.extends")
def extends(bench: Bench) -> None:
    """In a tool loop each selection begins with the one before: else every round is paid in full."""
    engine, history = bench.selecting_engine(), long_conversation()
    before: list[Message] = []
    for rounds in range(5):
        selection = select(engine, stored([*history, *current_turn(rounds)]))
        expect(selection[: len(before)] == before, f"round {rounds} does not begin with the request before it")
        before = copy_rows(selection)


@advised("select.smaller")
def smaller(bench: Bench) -> None:
    """A selection is smaller than a request that does not fit into the window."""
    engine, rows = bench.selecting_engine(), long_request()
    request = request_of(rows)
    expect(estimate_tokens(select(engine, rows)) < estimate_tokens(request), "it is as large as the request")


POINTS = (
    *(shape, inputs, own_copies, system, prefill, whole_turn, batches, keys, dirty, little, after_compression),
    *(alternation, repeatable, extends, smaller),
)
