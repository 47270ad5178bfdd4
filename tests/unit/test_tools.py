"""The model's tools answer in JSON, whatever they are asked, and only from where recall may look."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import weird
from tests.parts import make_parts, remember
from tests.weird import Row, assistant, user
from vecctx import tools
from vecctx.ports import Parts

LONG = " ".join(f"line {number} of the log says nothing." for number in range(4000))


def call(name: str, arguments: object, scope: tuple[int, ...], parts: Parts) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(tools.call(name, arguments, scope, parts))
    return answer


def test_each_schema_names_a_tool_and_each_tool_has_a_schema() -> None:
    names = [schema["name"] for schema in tools.schemas()]

    assert names == list(tools._TOOLS)
    for schema in tools.schemas():
        assert schema["description"]
        assert set(schema["parameters"]["required"]) <= schema["parameters"]["properties"].keys()


def test_schemas_are_made_anew_so_that_a_host_may_change_its_own() -> None:
    tools.schemas()[0]["parameters"]["properties"].clear()

    assert tools.schemas()[0]["parameters"]["properties"]


def test_search_gives_the_best_messages_with_what_speaks_for_them() -> None:
    parts = make_parts()
    scope = (remember([user("The bucket is blue-harbour.", timestamp=86_400.0), assistant("Noted.")], parts),)

    found = call("vecctx_search", {"query": "which bucket"}, scope, parts)["results"]

    assert found[0]["text"] == "The bucket is blue-harbour."
    assert found[0]["role"] == "user"
    assert found[0]["date"] == "1970-01-02"
    assert found[0]["is_whole"] is True
    assert found[0]["id"] == 1
    assert {"score", "reason"} <= found[0].keys()
    assert [one["score"] for one in found] == sorted((one["score"] for one in found), reverse=True)


@pytest.mark.parametrize(
    ("limit", "expected"), [(None, 5), (0, 1), (3, 3), (99, 20), (-1, 1), ("3", 5), (True, 5), (2.5, 5), ([], 5)]
)
def test_the_limit_is_bounded(limit: object, expected: int) -> None:
    parts = make_parts()
    # No two are alike, so that no message stands for another.
    talk = [row for n in range(30) for row in (user(f"harbour note {n}"), assistant(f"harbour answer {n}"))]
    scope = (remember(talk, parts),)

    found = call("vecctx_search", {"query": "harbour pilot", "limit": limit}, scope, parts)["results"]

    assert len(found) == expected


@pytest.mark.parametrize("query", [None, "", "  ", 5, ["a"], {}])
def test_a_query_that_is_no_text_is_answered(query: object) -> None:
    assert call("vecctx_search", {"query": query}, (1,), make_parts()) == {"error": "query must be a text"}


@pytest.mark.parametrize("arguments", [None, [], "query", 5])
def test_arguments_that_are_no_object_are_answered(arguments: object) -> None:
    for name in ("vecctx_search", "vecctx_expand"):
        assert "error" in call(name, arguments, (1,), make_parts())


def test_an_unknown_tool_is_answered_with_those_that_there_are() -> None:
    answer = call("vecctx_forget", {}, (1,), make_parts())["error"]

    assert "vecctx_forget" in answer
    assert all(schema["name"] in answer for schema in tools.schemas())


def test_a_long_message_is_shown_where_it_was_found() -> None:
    parts = make_parts()
    text = f"{LONG} The pilot's bucket is blue-harbour. {LONG}"
    scope = (remember([user(text)], parts),)

    found = call("vecctx_search", {"query": "pilot bucket blue-harbour"}, scope, parts)["results"]

    assert "blue-harbour" in found[0]["text"]
    assert len(found[0]["text"]) < 3000
    assert found[0]["is_whole"] is False


def test_expand_gives_the_message_with_its_neighbours_in_order() -> None:
    parts = make_parts()
    scope = (remember([row for n in range(6) for row in (user(f"q {n}"), assistant(f"a {n}"))], parts),)

    texts = [m["text"] for m in call("vecctx_expand", {"id": 5, "around": 1}, scope, parts)["messages"]]

    assert texts == ["a 1", "q 2", "a 2"]
    assert len(call("vecctx_expand", {"id": 5}, scope, parts)["messages"]) == 5
    assert len(call("vecctx_expand", {"id": "5", "around": 99}, scope, parts)["messages"]) == 12
    assert len(call("vecctx_expand", {"id": 5, "around": -3}, scope, parts)["messages"]) == 1


def test_a_long_message_is_read_piece_by_piece_and_its_neighbours_stay_short() -> None:
    """A tool's result is part of the turn, which is never cut: a megabyte of log would end it."""
    parts = make_parts()
    scope = (remember([user(LONG), assistant(f"So much: {LONG}"), user("And now?")], parts),)
    read, start = "", 0
    while True:
        shown = call("vecctx_expand", {"id": 2, "around": 0, "start": start}, scope, parts)["messages"][0]
        assert len(shown["text"]) <= tools.MAX_CHARACTERS
        read += shown["text"]
        start += len(shown["text"])
        if start >= shown["characters"]:
            break

    assert read == f"So much: {LONG}"
    beside = call("vecctx_expand", {"id": 3}, scope, parts)["messages"]
    assert sum(len(message["text"]) for message in beside) < 3000


@pytest.mark.parametrize("number", [None, 0, -1, 99, 2**63, 2**80, "x", "1e400", float("inf"), float("nan"), [], {}])
def test_an_id_that_is_none_is_answered(number: object) -> None:
    parts = make_parts()
    scope = (remember([user("hi")], parts),)

    assert call("vecctx_expand", {"id": number}, scope, parts).keys() == {"error"}


@pytest.mark.parametrize("start", [None, -5, "x", 10**9, True, 2.5])
def test_an_odd_start_is_answered(start: object) -> None:
    parts = make_parts()
    scope = (remember([user("hi there")], parts),)

    assert "messages" in call("vecctx_expand", {"id": 1, "start": start}, scope, parts)


def test_the_id_of_anothers_message_is_answered_like_an_unknown_one() -> None:
    parts = make_parts()
    remember([user("The password of ann is a harbour.")], parts, "ann")
    own = remember([user("Mine is a valley.")], parts, "bob")

    others = call("vecctx_expand", {"id": 1}, (own,), parts)["error"]
    unknown = call("vecctx_expand", {"id": 77}, (own,), parts)["error"]

    assert others.replace("1", "77") == unknown
    assert "ann" not in str(call("vecctx_search", {"query": "password harbour"}, (own,), parts))
    assert call("vecctx_search", {"query": "password harbour"}, (), parts) == {"results": []}


@given(st.lists(st.sampled_from(weird.odd_rows()), min_size=1, max_size=5))
def test_odd_messages_are_shown_as_valid_unicode(rows: list[Row]) -> None:
    parts = make_parts()
    scope = (remember(rows, parts),)

    for number in range(1, len(rows) + 1):
        tools.call("vecctx_expand", {"id": number}, scope, parts).encode()
    for text in (*weird.LONE_SURROGATES, *weird.FRAME_BREAKERS, "AND", '"', "*", "NEAR("):
        tools.call("vecctx_search", {"query": text}, scope, parts).encode()
