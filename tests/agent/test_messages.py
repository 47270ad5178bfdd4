import copy
from itertools import pairwise

import pytest
from hypothesis import given

from agent import messages
from agent.context_engine import Message
from agent.messages import assistant_row, sanitize, tool_call, tool_row, user_row
from tests.agent.support import any_rows, pair_problems, problems, relaxed, valid_histories

SYSTEM: Message = {"role": "system", "content": "be kind"}


@relaxed
@given(any_rows)
def test_any_rows_become_a_valid_request(rows: list[Message]) -> None:
    before = copy.deepcopy(rows)

    request = sanitize([SYSTEM, *rows, user_row("go on")])

    assert problems(request) == []
    assert rows == before
    assert all("message_uid" not in row for row in request)
    roles = [row["role"] for row in request]
    assert set(roles) <= {"system", "user", "assistant", "tool"}
    assert ("user", "user") not in pairwise(roles)
    assert all(row["content"] or row.get("tool_calls") for row in request)


@relaxed
@given(any_rows)
def test_sanitizing_twice_is_sanitizing_once(rows: list[Message]) -> None:
    once = sanitize(rows)

    assert sanitize(once) == once


@relaxed
@given(valid_histories())
def test_a_valid_request_stays_as_it_is(history: list[Message]) -> None:
    request = [SYSTEM, *history, user_row("go on")]

    assert sanitize(request) == request


def test_an_orphan_result_is_dropped() -> None:
    rows = [user_row("a"), tool_row("gone", "x"), assistant_row("b")]

    assert sanitize(rows) == [user_row("a"), assistant_row("b")]


def test_an_unanswered_call_gets_a_stub_behind_the_results_that_came() -> None:
    batch = assistant_row(None, [tool_call("c1", "read"), tool_call("c2", "read")])

    rows = sanitize([user_row("a"), batch, tool_row("c2", "x"), user_row("b")])

    assert rows[2:4] == [tool_row("c2", "x"), tool_row("c1", messages.UNANSWERED)]


def test_a_row_between_call_and_result_breaks_the_pair() -> None:
    batch = assistant_row(None, [tool_call("c1", "read")])

    rows = sanitize([user_row("a"), batch, user_row("b"), tool_row("c1", "late")])

    assert [row["content"] for row in rows] == ["a", None, messages.UNANSWERED, "b"]


def test_an_id_that_two_turns_use_is_told_apart() -> None:
    batch = [assistant_row(None, [tool_call("call_0", "read")]), tool_row("call_0", "x")]

    rows = sanitize([user_row("a"), *batch, assistant_row("b"), user_row("c"), *batch])

    assert pair_problems(rows) == []
    assert [row["tool_call_id"] for row in rows if row["role"] == "tool"] == ["call_0", "call_0_2"]


def test_two_calls_of_a_batch_with_one_id_become_one() -> None:
    batch = assistant_row(None, [tool_call("c", "read"), tool_call("c", "write")])

    rows = sanitize([user_row("a"), batch, tool_row("c", "1"), tool_row("c", "2")])

    assert pair_problems(rows) == []
    assert rows[1]["tool_calls"] == [tool_call("c", "read")]
    assert rows[2:] == [tool_row("c", "1")]


def test_adjacent_user_rows_are_joined_by_a_blank_line() -> None:
    assert sanitize([user_row("a"), user_row("b")]) == [user_row("a\n\nb")]


def test_pictures_survive_a_merge() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}

    (row,) = sanitize([user_row("a"), user_row([picture])])

    assert row["content"] == [{"type": "text", "text": "a"}, picture]


def test_an_empty_answer_is_filled_unless_it_is_last() -> None:
    rows = sanitize([user_row("a"), assistant_row(""), user_row("b"), assistant_row("")])

    assert [row["content"] for row in rows] == ["a", messages.NO_OUTPUT, "b", ""]


def test_a_later_system_row_loses_its_authority_and_keeps_its_words() -> None:
    rows = sanitize([SYSTEM, user_row("a"), assistant_row("b"), {"role": "system", "content": "mid"}])

    assert rows[-1] == user_row("mid")


def test_unknown_keys_are_kept_and_private_ones_are_not() -> None:
    row = {**user_row("a"), "reasoning_details": [{"signature": "s"}], "_row_id": 4, "message_uid": "u", "timestamp": 1}

    assert sanitize([row]) == [{**user_row("a"), "reasoning_details": [{"signature": "s"}]}]


def test_a_seed_gives_the_same_uids_and_none_gives_new_ones() -> None:
    first, second, free = messages.uid_source(7), messages.uid_source(7), messages.uid_source()

    uids = [first() for _ in range(3)]

    assert uids == [second() for _ in range(3)]
    assert len({*uids, free(), free()}) == 5
    assert all(len(uid) == 32 and set(uid) <= set("0123456789abcdef") for uid in uids)


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        ("abcd" * 10, 14),
        ("漢字" * 10, 24),
        ("", 4),
        (None, 4),
        ([{"type": "image_url", "image_url": {"url": "data:" + "A" * 40_000}}], 1004),
    ],
)
def test_sizes_are_rough_but_fair(content: object, tokens: int) -> None:
    assert messages.estimate_tokens([{"role": "user", "content": content}]) == tokens


def test_a_copy_of_rows_shares_nothing() -> None:
    rows = [user_row([{"type": "text", "text": "a"}])]

    messages.copy_rows(rows)[0]["content"][0]["text"] = "changed"

    assert rows == [user_row([{"type": "text", "text": "a"}])]


@pytest.mark.parametrize(
    ("odd", "sent"),
    [
        ([{"role": ["user"], "content": "x"}, {"content": "no role"}], []),
        ([user_row({"a": 1})], [user_row("{'a': 1}")]),
        ([assistant_row("x", [{"id": "a", "function": None}]), tool_row("a", "y")], [assistant_row("x")]),
    ],
)
def test_rows_that_no_provider_takes_become_some_that_it_does(odd: list[Message], sent: list[Message]) -> None:
    assert sanitize([*odd, user_row("now")]) == messages.merge_user_rows([*sent, user_row("now")])
