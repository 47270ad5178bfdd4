"""Points about should_compress and compress: what may become of a history."""

import hashlib
import json
from pathlib import Path

from .bench import Bench, compress, expect, set_window
from .host import Message, assistant_row, copy_rows, estimate_tokens, is_message_list, user_row
from .point import advised, required
from .rules import has_text_of, list_problems, new_problems
from .samples import QUESTION, current_turn, dirty_conversations, long_conversation, stored


def long_history() -> list[Message]:
    """Durable rows of twice the window, with the question that is being answered."""
    return stored([*long_conversation(), *current_turn(2)])


@required("should-compress")
def asked(bench: Bench) -> None:
    """should_compress takes one number by position, answers with a bool, and never raises: that would end the turn."""
    engine = bench.engine()
    for tokens in (0, 1, -1, 12_000, 10**9):
        expect(isinstance(engine.should_compress(tokens), bool), f"should_compress({tokens}) gives no bool")
    expect(isinstance(engine.should_compress(), bool), "should_compress() gives no bool")
    set_window(engine, 0)
    expect(isinstance(engine.should_compress(100), bool), "it gives no bool while the window is unknown")


@required("compress.keywords")
def keywords(bench: Bench) -> None:
    """It takes current_tokens and focus_topic as keywords, and does without both."""
    rows = long_history()
    for options in ({}, {"current_tokens": 20_000}, {"current_tokens": None, "focus_topic": "billing"}):
        result = bench.engine().compress(copy_rows(rows), **options)
        expect(isinstance(result, list), f"it gives {type(result).__name__}")


@required("compress.valid")
def valid(bench: Bench) -> None:
    """The result is a list of dicts with whole batches, without orphans, with a user row and no system row."""
    result = compress(bench.engine(), long_history())
    found = _problems(result)
    expect(not found, "; ".join(found[:2]))


@required("compress.not-larger")
def not_larger(bench: Bench) -> None:
    """The result is never larger than the history: hosts refuse it."""
    for rows in (long_history(), long_conversation(2), stored([QUESTION])):
        before, after = estimate_tokens(rows), estimate_tokens(compress(bench.engine(), copy_rows(rows)))
        expect(after <= before, f"{before} tokens became {after}")


@required("compress.question")
def question(bench: Bench) -> None:
    """The newest user message is kept word for word, with the calls and results that follow it."""
    for rounds in (0, 2):
        rows = stored([*long_conversation(), *current_turn(rounds)])
        result = compress(bench.engine(), copy_rows(rows))
        expect(has_text_of(result, QUESTION), f"the question is gone, after {rounds} rounds of tools")
        ids = {row.get("tool_call_id") for row in result}
        expect(not rounds or f"now_{rounds - 1}_1" in ids, "the newest results of the turn are gone")


@required("compress.again")
def again(bench: Bench) -> None:
    """A history that was compressed and went on can be compressed again, five times over."""
    engine, rows = bench.engine(), long_history()
    for n in range(5):
        before = estimate_tokens(rows)
        result = compress(engine, copy_rows(rows))
        found = _problems(result)
        expect(not found, f"the {n + 1}. time: {'; '.join(found[:2])}")
        expect(estimate_tokens(result) <= before, f"the {n + 1}. time it is larger")
        expect(has_text_of(result, QUESTION), f"the {n + 1}. time the newest question is gone")
        more = [row for row in long_conversation(40)[40:] if row["role"] != "tool" and "tool_calls" not in row]
        rows = stored([*result, assistant_row("done"), *more, QUESTION])
        engine.on_session_start("check", boundary_reason="compression", old_session_id="check")


@required("compress.large-turn")
def large_turn(bench: Bench) -> None:
    """A turn larger than the window gives a valid list with its question, whatever else has to go."""
    rows = stored([*long_conversation(10), *current_turn(12, result_words=3000)])
    result = compress(bench.engine(), copy_rows(rows))
    found = _problems(result)
    expect(not found, "; ".join(found[:2]))
    expect(has_text_of(result, QUESTION), "the question is gone")
    expect(estimate_tokens(result) <= estimate_tokens(rows), "it is larger")


@required("compress.dirty")
def dirty(bench: Bench) -> None:
    """Histories that are not clean are no error, and it adds nothing invalid to them."""
    for name, rows in dirty_conversations().items():
        result = compress(bench.engine(), copy_rows(rows))
        expect(is_message_list(result), f"{name}: it gives {result!r:.60}")
        new = new_problems(result, rows)
        expect(not new, f"{name}: {'; '.join(new[:2])}")
        expect(has_text_of(result, QUESTION), f"{name}: the question is gone")


@required("compress.little")
def little(bench: Bench) -> None:
    """Nothing, one row, or a row without content is no error."""
    for rows in ([], [dict(QUESTION)], [user_row("")], [user_row(None), assistant_row(None)]):
        result = compress(bench.engine(), copy_rows(rows))
        expect(isinstance(result, list), f"it gives {type(result).__name__} for {len(rows)} rows")


@advised("compress.shrinks")
def shrinks(bench: Bench) -> None:
    """A history of twice the window gets smaller: else the host has nothing left but to refuse the turn."""
    rows = long_history()
    before, after = estimate_tokens(rows), estimate_tokens(compress(bench.engine(), copy_rows(rows)))
    expect(after < before, f"{before} tokens stay {after}")


@advised("compress.same-object")
def same_object(bench: Bench) -> None:
    """Where there is nothing to do the same list object comes back, so that nobody has to compare."""
    rows = stored([QUESTION])
    result = compress(bench.engine(), rows)
    expect(result is rows or estimate_tokens(result) < estimate_tokens(rows), "an equal list comes back as a new one")


@advised("compress.inputs")
def inputs(bench: Bench) -> None:
    """The history it is given stays as it was, also inside of nested contents."""
    rows = long_history()
    rows[0]["content"] = [{"type": "text", "text": rows[0]["content"]}]
    before = json.dumps(rows)
    compress(bench.engine(), rows)
    expect(json.dumps(rows) == before, "it edits the list it is given")


@advised("compress.publishes-nothing")
def publishes_nothing(bench: Bench) -> None:
    """It writes nothing durable, since its result may be thrown away: what lasts is written at the boundary."""
    engine = bench.engine()
    before = _files(bench.home)
    compress(engine, long_history())
    changed = sorted(str(path) for path, content in _files(bench.home).items() if before.get(path) != content)
    expect(not changed, f"it writes {', '.join(changed[:3])}")


@required("prune.inputs")
def prune_inputs(bench: Bench) -> None:
    """prune_tool_results_only leaves the list it is given as it was: hosts hand over the live one."""
    engine, rows = bench.engine(), long_history()
    before = json.dumps(rows)
    pruned, count = engine.prune_tool_results_only(rows, current_tokens=estimate_tokens(rows))
    expect(json.dumps(rows) == before, "it edits the list it is given")
    expect(not count or not _problems(pruned), "the pruned list is not valid")


def _problems(result: list[Message]) -> list[str]:
    if not is_message_list(result):
        return [f"it gives {result!r:.60}"]
    systems = ["it holds a system row"] if any(row.get("role") == "system" for row in result) else []
    users = [] if any(row.get("role") == "user" for row in result) else ["it holds no user row"]
    return list_problems(result) + systems + users


def _files(home: Path) -> dict[Path, str]:
    # A mere look into a SQLite database makes an empty log and an index of it: that publishes nothing.
    files = (path for path in home.rglob("*") if path.is_file() and path.stat().st_size and path.suffix != ".db-shm")
    return {path.relative_to(home): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


POINTS = (
    *(asked, keywords, valid, not_larger, question, again, large_turn, dirty, little, prune_inputs),
    *(shrinks, same_object, inputs, publishes_nothing),
)
