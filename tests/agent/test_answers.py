import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.answers import Answer, chunks, is_whole
from agent.errors import ProviderError
from tests.agent.support import relaxed
from tests.fakes.provider import streamed


def assembled(pieces: list[bytes]) -> dict[str, Any]:
    answer = Answer()
    for chunk in chunks(b"".join(pieces).splitlines(keepends=True)):
        answer.add(chunk)
    return answer.response()


def message(pieces: list[bytes]) -> dict[str, Any]:
    found: dict[str, Any] = assembled(pieces)["choices"][0]["message"]
    return found


def call_piece(index: int | None, call_id: str | None, name: str | None, arguments: str) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, "id": call_id, "function": {"name": name, "arguments": arguments}}]}


@relaxed
@given(st.lists(st.text()))
def test_text_in_any_pieces_is_the_same_text(texts: list[str]) -> None:
    pieces = streamed({"role": "assistant"}, *[{"content": text} for text in texts])

    assert message(pieces) == {"role": "assistant", "content": "".join(texts) or None}


def test_usage_comes_after_the_end() -> None:
    assert assembled(streamed({"content": "a"}, usage={"prompt_tokens": 3}))["usage"] == {"prompt_tokens": 3}


def test_calls_are_put_together_by_their_number() -> None:
    pieces = streamed(
        call_piece(0, "a", "clock", ""),
        call_piece(1, "b", "calculator", '{"expres'),
        call_piece(1, None, None, 'sion": "1"}'),
        call_piece(0, None, None, "{}"),
    )

    first, second = message(pieces)["tool_calls"]
    assert first == {"id": "a", "type": "function", "function": {"name": "clock", "arguments": "{}"}}
    assert second["function"] == {"name": "calculator", "arguments": '{"expression": "1"}'}


def test_a_call_without_number_and_id_gets_an_id() -> None:
    pieces = streamed(call_piece(None, None, "clock", "{}"))

    assert message(pieces)["tool_calls"][0]["id"] == "call_0"


def test_reasoning_is_kept_beside_the_text() -> None:
    pieces = streamed({"reasoning_content": "let me "}, {"reasoning_content": "see"}, {"content": "4"})

    assert message(pieces) == {"role": "assistant", "content": "4", "reasoning_content": "let me see"}


def test_comments_and_event_names_are_no_data() -> None:
    lines = [b": ping\n", b"event: delta\n", *streamed({"content": "a"})]

    assert message(lines)["content"] == "a"
    assert message(lines[:-1])["content"] == "a"  # the end mark is not sent by all


def test_an_answer_that_is_not_streamed_is_one_chunk() -> None:
    whole = {"choices": [{"message": {"content": "a"}}]}

    (chunk,) = chunks(json.dumps(whole, indent=1).encode().splitlines(keepends=True))

    assert chunk == whole
    assert is_whole(chunk)
    assert not is_whole({"choices": []})


def test_the_end_mark_alone_does_not_make_an_answer_whole() -> None:
    with pytest.raises(ProviderError, match="half way"):
        assembled([*streamed({"content": "a"}, is_cut=True), b"data: [DONE]\n"])


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"data: {no json", "malformed JSON"),
        (b'data: {"error": {"message": "out of\\nmemory"}}', "out of memory"),
        (b'data: {"error": "down"}', "down"),
        (b'data: {"choices": [{"delta": {"content": 5}}]}', "no answer"),
        (b'data: {"choices": [{"delta": {"tool_calls": [{"index": "x"}]}}]}', "no answer"),
        (b'data: {"choices": {"a": 1}}', "no answer"),
        (b"data: [1]", "no object"),
        (b"<html>\n", "malformed JSON: <html>"),
        (b"", "half way"),
    ],
)
def test_what_is_no_answer_is_told_in_a_line(line: bytes, told: str) -> None:
    with pytest.raises(ProviderError) as caught:
        assembled([line])

    assert told in str(caught.value)
    assert "\n" not in str(caught.value)
