"""Every readable text of a message is found, and nothing else."""

import json

import pytest
from hypothesis import given

from tests import weird
from tests.growth import LONGEST_GROWTH, growth
from tests.weird import BASE64, Row, assistant, call, calls, user
from vecctx.turns.content import is_empty, text_of_content, text_of_row, without_base64
from vecctx.turns.payload import payload_of

HALF_LINES = "\n".join(BASE64[start : start + 76] for start in range(0, len(BASE64), 76))


@given(weird.contents())
def test_no_content_is_too_odd(content: object) -> None:
    for row in (user(content), weird.result(content=content), calls(call(arguments=content)), {"content": content}):
        assert isinstance(text_of_row(row), str)
        assert isinstance(is_empty(row), bool)
        assert json.loads(payload_of(row) or "{}") is not None


@pytest.mark.parametrize("row", weird.odd_rows(), ids=str)
def test_no_row_is_too_odd(row: Row) -> None:
    assert isinstance(text_of_row(row), str)
    assert json.loads(payload_of(row) or "{}") is not None


READABLE = {
    "a string": (user("hello"), "hello"),
    "parts": (user([{"type": "text", "text": "a"}, {"type": "input_text", "text": "b"}]), "a\nb"),
    "one part": (user({"type": "text", "text": "alone"}), "alone"),
    "strings in a list": (user(["a", None, 3]), "a\n3"),
    "a text with a value": (user([{"type": "text", "text": {"value": "deep", "annotations": []}}]), "deep"),
    "a refusal": (assistant([{"type": "refusal", "refusal": "I cannot"}]), "I cannot"),
    "a nested result": (
        weird.result(content=[{"type": "tool_result", "content": [{"type": "text", "text": "inner"}]}]),
        "inner",
    ),
    "an output": (weird.result(content=[{"type": "function_call_output", "output": "42"}]), "42"),
    "words and a call": (calls(call(), content="let me look"), 'let me look\n[call read_file {"path": "notes.md"}]'),
    "arguments as an object": (calls(call(arguments={"b": 1, "a": "ü"})), '[call read_file {"a": "ü", "b": 1}]'),
    "a call among parts": (
        assistant([{"type": "text", "text": "so"}, {"type": "tool_use", "id": "t", "name": "f", "input": {"x": 1}}]),
        'so\n[call f {"x": 1}]',
    ),
    "a picture": (user([weird.images()[0]]), "[image]"),
    "a picture with words": (user([{"type": "text", "text": "look"}, weird.images()[1]]), "look\n[image]"),
    "a sound": (user([{"type": "input_audio", "input_audio": {"data": "AAAA"}}]), "[audio]"),
    "hidden thoughts": (assistant([weird.thinking("secret plan"), {"type": "text", "text": "said"}]), "said"),
    "nothing": (user(None), ""),
    "a number": (user(42), "42"),
}


@pytest.mark.parametrize(("row", "text"), READABLE.values(), ids=READABLE.keys())
def test_the_text_of_a_row_is_what_it_says(row: Row, text: str) -> None:
    assert text_of_row(row) == text


@pytest.mark.parametrize("text", [*weird.LONE_SURROGATES, *weird.SPECIAL_TOKENS, *weird.SCRIPTS, *weird.FRAME_BREAKERS])
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert text_of_row(user(text)) == text


@pytest.mark.parametrize("row", weird.image_rows())
@pytest.mark.parametrize("size", [880, 200])
def test_base64_survives_in_no_shape(row: Row, size: int) -> None:
    row = json.loads(json.dumps(row).replace(BASE64, BASE64[:size]))
    raw = row.get("content") if isinstance(row.get("content"), str) else ""
    is_quoted = "{" in str(raw) or row.get("tool_calls")  # in a text a short bare run may be anything
    if size < 256 and is_quoted:
        return

    assert BASE64[:40] not in text_of_row(row)
    assert BASE64[:40] not in payload_of(row)


RUNS = {
    "a data URL": f"data:image/png;base64,{BASE64}",
    "a short data URL": "data:image/gif;base64,R0lGODlhAQABAAAAACw=",
    "a data URL with a charset": f"data:image/svg+xml;charset=utf-8;base64,{BASE64}",
    "a wrapped data URL": f"data:image/png;base64,{HALF_LINES}",
    "a bare run": BASE64,
    "a run of the URL alphabet": BASE64.replace("A", "-"),
    "wrapped lines": HALF_LINES,
    "wrapped lines of Windows": HALF_LINES.replace("\n", "\r\n"),
    "escaped lines": HALF_LINES.replace("\n", "\\n"),
}


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS.keys())
def test_the_words_around_a_run_stay(run: str) -> None:
    """The words behind a data URL were taken for more of it."""
    assert without_base64(f"see {run} and tell me what is on it, please") == (
        "see [data] and tell me what is on it, please"
    )


def test_long_words_paths_and_hashes_are_no_base64() -> None:
    for text in ("x" * 200, "/usr/lib/python3/" * 12, "3f786850e387550fdab836ed7e6dc881de23001b " * 30, "word " * 500):
        assert without_base64(text) == text


@pytest.mark.parametrize(
    "unit", ["^", "a", "a" * 255 + " ", "A" * 60 + "\n", "data:", "data:a/b;base64,", "data:a;b;c;", " ", "\n", "ab/ "]
)
def test_a_long_text_costs_by_its_length(unit: str) -> None:
    assert growth(without_base64, unit) < LONGEST_GROWTH


def test_empty_is_what_holds_neither_words_nor_media_nor_calls() -> None:
    empty = [
        user(None),
        user(""),
        user(" \n"),
        user([]),
        user([{"type": "text", "text": ""}]),
        assistant([weird.thinking()]),
    ]
    full = [user("x"), calls(call()), user([weird.images()[0]]), user(0)]

    assert all(map(is_empty, empty))
    assert not any(map(is_empty, full))


def test_thinking_is_in_no_text() -> None:
    assert text_of_content([weird.thinking("plan"), {"type": "redacted_thinking", "data": "x"}]) == ""


@pytest.mark.parametrize("levels", [100, 400, 900])
@pytest.mark.parametrize(("opening", "closing"), [("[", "]"), ('{"content": ', "}"), ('{"a": ', "}")])
def test_nothing_is_nested_too_deep(levels: int, opening: str, closing: str) -> None:
    deep = json.loads(f"{opening * levels}1{closing * levels}")

    for row in (user([deep, {"type": "text", "text": "hello"}]), user("hello") | {"unknown": deep}):
        assert text_of_row(row).endswith("hello")
        assert json.loads(payload_of(row))["role"] == "user"
