import threading
from collections.abc import Iterator
from typing import Any

import pytest

from agent.errors import ProviderError, TurnInterruptedError
from agent.messages import user_row
from agent.provider import OpenAIClient, message_of
from agent.streaming import StreamingClient
from tests.fakes.provider import FakeEndpoint, ScriptedModel, streamed

BODY: dict[str, Any] = {"model": "m", "messages": [user_row("hi")]}


def test_text_is_shown_piece_by_piece_and_returned_as_a_whole() -> None:
    shown: list[str] = []
    pieces = streamed({"content": "hel"}, {"content": "lo"}, usage={"prompt_tokens": 3})
    with FakeEndpoint(lambda _body: (200, pieces)).serving() as endpoint:
        response = StreamingClient(endpoint.base_url, on_text=shown.append).complete(BODY)

    assert shown == ["hel", "lo"]
    assert (message_of(response)["content"], response["usage"]) == ("hello", {"prompt_tokens": 3})
    assert endpoint.bodies == [{**BODY, "stream": True, "stream_options": {"include_usage": True}}]


def test_an_endpoint_that_does_not_stream_answers_too() -> None:
    with FakeEndpoint.scripted(ScriptedModel(["hello"])).serving() as endpoint:
        assert message_of(StreamingClient(endpoint.base_url).complete(BODY))["content"] == "hello"


def test_an_endpoint_that_refuses_to_count_tokens_is_asked_without() -> None:
    def answer(body: dict[str, Any]) -> tuple[int, list[bytes]]:
        is_refused = "stream_options" in body
        return (400, [b"unknown key stream_options"]) if is_refused else (200, streamed({"content": "ok"}))

    with FakeEndpoint(answer).serving() as endpoint:
        assert message_of(StreamingClient(endpoint.base_url).complete(BODY))["content"] == "ok"


@pytest.mark.parametrize(
    ("status", "content", "told", "is_retryable"),
    [
        (429, b'{"error": {"message": "slow\\ndown"}}', "HTTP 429 Too Many Requests: slow down", True),
        (500, b"<html>oops</html>", "HTTP 500 Internal Server Error: <html>oops</html>", True),
        (401, b'{"error": "bad key"}', "HTTP 401 Unauthorized: bad key", False),
        (200, streamed({"content": "half"}, is_cut=True), "the endpoint closed the stream half way", True),
        (200, [b"data: {\n"], "the endpoint answered with malformed JSON: {", True),
    ],
)
def test_a_fault_is_told_in_one_line(
    status: int, content: bytes | list[bytes], told: str, *, is_retryable: bool
) -> None:
    with FakeEndpoint(lambda _body: (status, content)).serving() as endpoint, pytest.raises(ProviderError) as caught:
        StreamingClient(endpoint.base_url).complete(BODY)

    assert (str(caught.value), caught.value.is_retryable) == (told, is_retryable)


@pytest.fixture
def held_up() -> Iterator[tuple[FakeEndpoint, threading.Event]]:
    """An endpoint that says a word and then nothing until the event is set."""
    opened = threading.Event()

    def pieces() -> Iterator[bytes]:
        yield streamed({"content": "half"})[0]
        opened.wait(60)

    with FakeEndpoint(lambda _body: (200, pieces())).serving() as endpoint:
        yield endpoint, opened
        opened.set()


def test_an_endpoint_that_falls_silent_is_given_up(held_up: tuple[FakeEndpoint, threading.Event]) -> None:
    with pytest.raises(ProviderError, match=r"no answer within 0\.2 s") as caught:
        StreamingClient(held_up[0].base_url, timeout_seconds=0.2).complete(BODY)

    assert caught.value.is_retryable


def test_an_error_whose_text_never_comes_is_told_without(held_up: tuple[FakeEndpoint, threading.Event]) -> None:
    def silent() -> Iterator[bytes]:
        yield b"o"
        held_up[1].wait(60)

    with FakeEndpoint(lambda _body: (500, silent())).serving() as endpoint, pytest.raises(ProviderError) as caught:
        OpenAIClient(endpoint.base_url, timeout_seconds=0.2).complete(BODY)

    assert str(caught.value) == "HTTP 500 Internal Server Error"


def test_a_cancelled_answer_carries_what_was_said_and_the_next_turn_may_ask_again(
    held_up: tuple[FakeEndpoint, threading.Event],
) -> None:
    client = StreamingClient(held_up[0].base_url, on_text=lambda _text: client.cancel())

    with pytest.raises(TurnInterruptedError) as caught:
        client.complete(BODY)
    assert caught.value.partial_reply == "half"

    with pytest.raises(TurnInterruptedError):  # the same turn asks no more
        client.complete(BODY)
    assert len(held_up[0].bodies) == 1

    client.begin()
    with pytest.raises(TurnInterruptedError):
        client.complete(BODY)
    assert len(held_up[0].bodies) == 2


def test_waiting_between_attempts_can_be_cancelled() -> None:
    client = StreamingClient("http://127.0.0.1:9")
    client.wait(0)
    threading.Timer(0.01, client.cancel).start()

    with pytest.raises(TurnInterruptedError):
        client.wait(60)


def test_an_endpoint_that_is_not_there_is_named() -> None:
    with FakeEndpoint(lambda _body: (200, b"")).serving() as endpoint:
        base_url = endpoint.base_url

    with pytest.raises(ProviderError, match=f"Connection refused .{base_url}/chat/completions"):
        StreamingClient(base_url).complete(BODY)
