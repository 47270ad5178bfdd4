import json
from typing import Any

import pytest

from agent.errors import ContextOverflowError, ProviderError
from agent.messages import user_row
from agent.provider import OpenAIClient, error_for, figure, message_of, usage_of
from tests.fakes.provider import FakeEndpoint, ScriptedModel

BODY: dict[str, Any] = {"model": "m", "messages": [user_row("hi \ud800")]}


def test_an_endpoint_is_asked_with_the_key_and_the_body() -> None:
    with FakeEndpoint.scripted(ScriptedModel(["hello"])).serving() as endpoint:
        response = OpenAIClient(endpoint.base_url, api_key="k").complete(BODY)

    assert message_of(response)["content"] == "hello"
    assert endpoint.bodies == [BODY]
    assert endpoint.headers[0]["Authorization"] == "Bearer k"


@pytest.mark.parametrize(("status", "is_retryable"), [(500, True), (429, True), (400, False), (401, False)])
def test_a_status_says_whether_to_try_again(status: int, is_retryable: bool) -> None:
    with FakeEndpoint(lambda _body: (status, b"no")).serving() as endpoint, pytest.raises(ProviderError) as caught:
        OpenAIClient(endpoint.base_url).complete(BODY)

    assert (caught.value.status, caught.value.is_retryable) == (status, is_retryable)


@pytest.mark.parametrize("content", [b"{", b"[]"])
def test_an_answer_that_is_no_object_is_a_provider_error(content: bytes) -> None:
    with FakeEndpoint(lambda _body: (200, content)).serving() as endpoint, pytest.raises(ProviderError):
        OpenAIClient(endpoint.base_url).complete(BODY)


def test_an_endpoint_that_is_gone_may_come_back() -> None:
    with FakeEndpoint(lambda _body: (200, b"")).serving() as endpoint:
        base_url = endpoint.base_url

    with pytest.raises(ProviderError) as caught:
        OpenAIClient(base_url).complete(BODY)

    assert caught.value.is_retryable


def test_a_url_of_another_kind_is_refused() -> None:
    with pytest.raises(ProviderError, match="http://"):
        OpenAIClient("file:///etc/passwd")


@pytest.mark.parametrize(
    ("status", "text", "window_tokens"),
    [
        (413, "too large", None),
        (400, "This model's maximum context length is 32768 tokens, you asked for 40000", 32768),
        (400, '{"error": {"code": "context_length_exceeded"}}', None),
    ],
)
def test_an_overflow_is_told_apart_and_names_the_window(status: int, text: str, window_tokens: int | None) -> None:
    error = error_for(status, text)

    assert isinstance(error, ContextOverflowError)
    assert error.window_tokens == window_tokens


@pytest.mark.parametrize("choices", [..., None, [], [{"message": None}], [{"message": {"content": 5}}]])
def test_a_response_without_a_message_is_a_provider_error(choices: Any) -> None:
    with pytest.raises(ProviderError):
        message_of({} if choices is ... else {"choices": choices})


@pytest.mark.parametrize("usage", [None, [1], "many", {"prompt_tokens": "many"}, {"prompt_tokens": float("nan")}])
def test_odd_usage_counts_as_nothing(usage: Any) -> None:
    assert figure(usage_of({"usage": usage}).get("prompt_tokens")) == 0


def test_a_message_keeps_its_unknown_keys() -> None:
    message = {"content": None, "reasoning_details": [1], "audio": None}

    row = message_of({"choices": [{"message": message}]})

    assert row == {"role": "assistant", "content": None, "reasoning_details": [1]}
    assert json.dumps(row)
