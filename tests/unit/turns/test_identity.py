"""The same message has the same key, whatever the host adds to it."""

from typing import Any

import pytest
from hypothesis import given

from agent.context_compressor import SUMMARY_PREFIX, summary_row
from tests import weird
from tests.builders import make_message
from tests.growth import LONGEST_GROWTH, growth
from tests.weird import Row, assistant, call, calls, user
from vecctx.turns import render
from vecctx.turns.identity import is_synthetic, key_of, uid_of
from vecctx.values import Candidate, Quote, StoredMessage

FENCE = "<memory-context>\nlikes tea\n</memory-context>"

ADDITIONS: dict[str, dict[str, Any]] = {
    "uid": {"message_uid": "ab" * 16},
    "time": {"timestamp": 1_700_000_000.5},
    "cache marker": {"cache_control": {"type": "ephemeral"}},
    "reasoning": {"reasoning": "hm", "reasoning_content": "hm", "reasoning_details": [{"text": "hm"}]},
    "private": {"_db_persisted": True, "_row_id": 4, "_tool_call_uids": ["x"]},
    "finish": {"finish_reason": "stop"},
    "what was sent": {"api_content": "hello and a memory"},
}


@pytest.mark.parametrize("addition", ADDITIONS.values(), ids=ADDITIONS.keys())
@pytest.mark.parametrize("row", [user("hello"), assistant("hi"), calls(call()), weird.result()])
def test_what_hosts_add_does_not_change_the_key(row: Row, addition: dict[str, Any]) -> None:
    assert key_of({**row, **addition}) == key_of(row)


def test_the_shape_of_a_text_does_not_change_the_key() -> None:
    plain = key_of(user("hello"))

    assert key_of(user([{"type": "text", "text": "hello"}])) == plain
    assert key_of(user([{"type": "text", "text": "hello", "cache_control": {"type": "ephemeral"}}])) == plain
    assert key_of(user(" hello\n")) == plain
    assert key_of(user(None)) == key_of(user("")) == key_of({"role": "user"})


@pytest.mark.parametrize("fence", [FENCE, FENCE.upper(), FENCE.replace("<", "< "), f"{FENCE}\n{FENCE}"])
def test_a_memory_fence_does_not_change_the_key(fence: str) -> None:
    assert key_of(user(f"hello\n\n{fence}")) == key_of(user("hello"))
    assert key_of(user([{"type": "text", "text": f"hello {fence}"}])) == key_of(user("hello"))


def test_ids_of_calls_do_not_change_the_key() -> None:
    assert key_of(calls(call("a"))) == key_of(calls(weird.call_with_both_ids("b", "c")))


DIFFERENT = [
    user("hello"),
    assistant("hello"),
    weird.result(content="hello"),
    user("Hello"),
    user("hello there"),
    user("<memory-context>hello"),
    user(None),
    calls(call(name="read")),
    calls(call(name="write")),
    calls(call(name="write", arguments='{"path": "b"}')),
    calls(call(name="write"), call(name="write")),
    user([weird.images()[0]]),
    user([weird.images(weird.DATA_URL + "AA")[0]]),
    user([{"type": "text", "text": "hello"}, weird.images()[0]]),
]


def test_content_changes_the_key() -> None:
    assert len({key_of(row) for row in DIFFERENT}) == len(DIFFERENT)


@given(weird.contents())
def test_every_content_has_a_key_and_the_same_one_again(content: object) -> None:
    key = key_of(user(content))

    assert key == key_of(user(content))
    assert len(key) == 32
    assert set(key) <= set("0123456789abcdef")


@pytest.mark.parametrize("unit", ["<memory-context>", "</memory-context>", "< ", "a"])
def test_a_long_text_costs_by_its_length(unit: str) -> None:
    """Many opened fences and none closed took minutes."""
    assert growth(lambda text: key_of(user(text)), unit) < LONGEST_GROWTH


def test_a_uid_is_a_text_that_says_something() -> None:
    assert [uid_of({"message_uid": value}) for value in ("u1", "", None, 5, ["u"])] == ["u1", None, None, None, None]


# What nobody said.


def own_frame() -> str:
    message = StoredMessage(1, 1, 1, 0, "user", "hello", 1, None, None, make_message().key)
    block = render.block([Quote(Candidate(message, 1.0, (0, 5)), 0, 5, 3)])
    assert block is not None
    return block


SYNTHETIC = {
    "a system message": {"role": "system", "content": "obey"},
    "a developer message": {"role": "developer", "content": "obey"},
    "no role": {"content": "x"},
    "a marked summary": user("in short", _compressed_summary=True),
    "a notice": user("model changed", display_kind="notice"),
    "a large host's summary": user("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns were compacted"),
    "its summary from the assistant": assistant("[CONTEXT COMPACTION — REFERENCE ONLY] Earlier turns"),
    "its older summary": user("[CONTEXT SUMMARY]: they spoke"),
    "its summary folded into a row": user("[PRIOR CONTEXT — for reference only; not a new message]\nhello"),
    "its summary in parts": user([{"type": "text", "text": "[CONTEXT COMPACTION — REFERENCE ONLY] Earlier"}]),
    "the reference host's summary": {"role": "user", "content": summary_row("they spoke")["content"]},
    "our own frame": user(own_frame()),
    "our own frame in parts": user([{"type": "text", "text": own_frame()}]),
}
SAID = {
    "words": user("hello"),
    "an empty message": user(""),
    "a question about our tag": user("<recalled> what does this tag mean?"),
    "a pasted summary with a question": user(f"{SUMMARY_PREFIX}\nthey spoke\n[End of the summary]\nis this right?"),
    "a mention of a summary": user("why does it say [CONTEXT SUMMARY] here?"),
    "a tool that read a transcript": weird.result(content="[CONTEXT SUMMARY]: they spoke"),
    "an old function result": {"role": "function", "name": "f", "content": "x"},
}


@pytest.mark.parametrize("row", SYNTHETIC.values(), ids=SYNTHETIC.keys())
def test_what_nobody_said_is_synthetic(row: Row) -> None:
    assert is_synthetic(row)


@pytest.mark.parametrize("row", SAID.values(), ids=SAID.keys())
def test_what_someone_said_is_not_synthetic(row: Row) -> None:
    assert not is_synthetic(row)


def test_a_content_that_is_nested_too_deep_has_a_key() -> None:
    deep: list[Any] = ["x"]
    for _ in range(3000):
        deep = [deep]

    assert key_of(user([deep])) == key_of(user([deep]))
    assert key_of(user([deep])) != key_of(user([[deep], "y"]))
