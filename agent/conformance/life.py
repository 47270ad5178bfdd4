"""Points about an engine's life: usage, turns, sessions, odd content, and several at once."""

import json
import threading
from typing import Any

from .bench import Bench, complete_turn, compress, expect, request_of, select, set_window
from .host import Message, assistant_row, copy_rows, inherits, is_message_list, tool_call, tool_row, user_row
from .point import advised, required
from .rules import selection_problems
from .samples import QUESTION, current_turn, long_conversation, megabyte, odd_contents, stored

_ODD_USAGES: tuple[dict[str, Any], ...] = (
    {},
    {"prompt_tokens": None, "completion_tokens": None, "total_tokens": None},
    {"prompt_tokens": 0},
    {"prompt_tokens": -5, "completion_tokens": -1},
    {"prompt_tokens": 12.7, "total_tokens": 10**12},
    {"prompt_tokens": "12", "completion_tokens": ""},
    {"prompt_tokens": float("nan")},
    {"prompt_tokens": [], "prompt_tokens_details": {"cached_tokens": None}},
    {"input_tokens": 5, "output_tokens": 2, "cache_read_tokens": 3, "reasoning_tokens": 1},
)


@required("usage.odd")
def odd_usage(bench: Bench) -> None:
    """update_from_response takes empty and odd usage without raising: the response would count as failed."""
    engine = bench.engine()
    for usage in _ODD_USAGES:
        try:
            engine.update_from_response(dict(usage))
        except Exception as error:  # someone else's code; which usage it was is worth a word
            expect(None, f"{usage}: {error!r}")
        expect(isinstance(engine.should_compress(100), bool), f"after {usage} should_compress gives no bool")


@required("usage.awaiting")
def awaiting(bench: Bench) -> None:
    """A response clears awaiting_real_usage_after_compression: else compaction after tools stays off for good."""
    engine = bench.engine()
    engine.last_prompt_tokens = -1
    engine.awaiting_real_usage_after_compression = True
    engine.update_from_response({"prompt_tokens": 900, "completion_tokens": 50, "total_tokens": 950})
    expect(not engine.awaiting_real_usage_after_compression, "it is still set after a response with usage")


@advised("usage.figures")
def figures(bench: Bench) -> None:
    """last_prompt_tokens and the other two are what the provider counted."""
    engine = bench.engine()
    engine.update_from_response({"prompt_tokens": 900, "completion_tokens": 50, "total_tokens": 950})
    seen = (engine.last_prompt_tokens, engine.last_completion_tokens, engine.last_total_tokens)
    expect(seen == (900, 50, 950), f"they are {seen}")


@required("turn.complete")
def turn_complete(bench: Bench) -> None:
    """on_turn_complete takes usage or None, and meta that it does not know yet."""
    engine, rows = bench.engine(), long_conversation(5)
    complete_turn(engine, rows)
    complete_turn(engine, rows, usage=None, failed=True, turn_exit_reason="context_compression_timeout")
    complete_turn(engine, rows, some_later_detail={"of": "a newer host"})
    expect_working(engine, rows)


@required("turn.interrupted")
def interrupted(bench: Bench) -> None:
    """A turn that was interrupted before or between calls breaks nothing, and neither does the next one."""
    engine, history = bench.engine(), long_conversation()
    half = [user_row("do this"), assistant_row(None, [tool_call("h1", "read"), tool_call("h2", "read")])]
    for tail in ([user_row("stop")], half, [*half, tool_row("h1", "only this one")]):
        rows = stored([*history, *tail])
        complete_turn(engine, rows, usage=None, interrupted=True, api_call_count=0, turn_exit_reason="interrupted")
        expect_working(engine, [*rows, *stored([user_row("go on")])])


@advised("turn.inputs")
def turn_inputs(bench: Bench) -> None:
    """on_turn_complete and on_session_end leave the transcript as it was."""
    engine, rows = bench.engine(), long_conversation(5)
    rows[0]["content"] = [{"type": "text", "text": rows[0]["content"]}]
    before = json.dumps(rows)
    engine.on_turn_complete(rows, usage=None, turn_id="t", interrupted=False, failed=False, api_call_count=1)
    engine.on_session_end("check", rows)
    expect(json.dumps(rows) == before, "it edits the transcript")


@required("session.end")
def session_end(bench: Bench) -> None:
    """It works on after on_session_end: hosts call it at each compaction, and the session goes on."""
    engine, rows = bench.engine(), stored([*long_conversation(), *current_turn(1)])
    expect_working(engine, rows)
    engine.on_session_end("check", copy_rows(rows))
    expect_working(engine, rows)
    engine.on_session_end("check", [])
    expect_working(engine, rows)


@required("session.rotation")
def rotation(bench: Bench) -> None:
    """At a compaction the same id, or a new one, starts with boundary_reason and old_session_id and little else."""
    engine, rows = bench.engine(), stored([*long_conversation(), *current_turn(1)])
    for old, new in (("check", "check"), ("check", "child"), ("child", "grandchild")):
        shorter = stored(compress(engine, copy_rows(rows)))
        engine.on_session_end(old, copy_rows(rows))
        engine.on_session_start(
            new, boundary_reason="compression", old_session_id=old, platform="cli", conversation_id=None
        )
        expect_working(engine, shorter)


@required("session.reset")
def reset(bench: Bench) -> None:
    """After on_session_reset another conversation begins, of which on_session_start tells nothing."""
    engine, rows = bench.engine(), stored([*long_conversation(), QUESTION])
    expect_working(engine, rows)
    engine.on_session_reset()
    bind = getattr(engine, "bind_session_state", None)
    if bind is not None:
        bind(None, "another")
    fresh = stored([user_row("Good morning.")])
    expect_working(engine, fresh)
    expect(engine.last_prompt_tokens == 0, f"last_prompt_tokens is {engine.last_prompt_tokens} after a reset")


@required("session.review")
def review(bench: Bench) -> None:
    """A background review, which has no session and sends another's whole transcript, breaks nothing."""
    engine = bench.make()
    set_window(engine)
    bind = getattr(engine, "bind_session_state", None)
    if bind is not None:
        bind(session_db=None, session_id="")
    rows = [
        {k: v for k, v in row.items() if k in {"role", "content", "tool_calls", "tool_call_id"}}
        for row in [*long_conversation(), *current_turn(1)]
    ]
    expect_working(engine, rows)
    complete_turn(engine, rows)


@required("content.odd")
def odd_content(bench: Bench) -> None:
    """Content of any kind is no error: images, None, lone surrogates, special tokens, other scripts."""
    engine = bench.engine()
    for name, content in odd_contents().items():
        call = assistant_row(None, [tool_call("odd", "read")])
        old = [
            user_row(content),
            call,
            tool_row("odd", content if isinstance(content, str) else ""),
            assistant_row(name),
        ]
        rows = stored([*long_conversation(8), *old, *long_conversation(30), user_row(content or "and now?")])
        try:
            expect_working(engine, rows)
            complete_turn(engine, [*rows, *stored([{"role": "assistant", "content": content}])])
        except Exception as error:  # someone else's code; which content it was is worth a word
            expect(None, f"{name}: {error!r}")


@required("content.large")
def large_content(bench: Bench) -> None:
    """A message of a megabyte, as the question and as a tool's result, is no error."""
    engine, text = bench.engine(), megabyte()
    result = [user_row("read it"), assistant_row(None, [tool_call("big", "read")]), tool_row("big", text)]
    for turn in ([user_row(text)], result):
        rows = stored([*long_conversation(10), *turn])
        expect_working(engine, rows)
        complete_turn(engine, rows)


@required("parallel")
def parallel(bench: Bench) -> None:
    """Two engines in one process and one home serve two sessions at the same time."""
    barrier, errors = threading.Barrier(2), list[BaseException]()

    def serve(session_id: str) -> None:
        try:
            engine, rows = bench.engine(session_id), stored([*long_conversation(20), *current_turn(1)])
            barrier.wait(60)
            for _ in range(5):
                expect_working(engine, rows)
                complete_turn(engine, rows)
        except BaseException as error:  # it is told after both have ended
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=serve, args=(name,), daemon=True) for name in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expect(
        not errors, "; ".join(repr(error) for error in errors if not isinstance(error, threading.BrokenBarrierError))
    )


def expect_working(engine: Any, rows: list[Message]) -> None:  # noqa: ANN401 - engines of any kind
    """The engine selects and compresses; whether what it compresses to is valid is another point's matter."""
    if not inherits(engine, "select_context"):
        selection = select(engine, rows)
        found = [] if is_message_list(selection) else [f"{selection!r:.60}"]
        found = found or selection_problems(selection, request_of(rows))
        expect(not found, f"its selection is not valid: {'; '.join(found[:2])}")
    result = compress(engine, copy_rows(rows))
    expect(is_message_list(result), f"compress gives {result!r:.60}")


POINTS = (
    *(odd_usage, awaiting, figures, turn_complete, interrupted, turn_inputs, session_end, rotation, reset, review),
    *(odd_content, large_content, parallel),
)
