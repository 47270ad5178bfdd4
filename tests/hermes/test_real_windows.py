"""Histories larger than the window, and windows that change, in the real host."""

import pytest

from tests.agent.support import problems
from tests.hermes.conversation import Home, Played, Speaker, do, turn
from tests.hermes.histories import FACT, QUESTION, long_history, says, tokens_of
from tests.hermes.provider import Line, Refusal, ScriptedProvider

HISTORY = long_history(150_000)
STEPS = [turn(QUESTION), turn("And who else?"), turn(QUESTION)]


@pytest.fixture
def greedy(home: Home) -> Home:
    """The whole window is wanted, so that its size decides."""
    return Home(home.folder, config={"context": {"engine": "vecctx", "vecctx": {"budget_tokens": 0.95}}})


def test_a_history_larger_than_the_window_is_served_from_the_first_turn(home: Home) -> None:
    played = home.play(answering(), Speaker(STEPS, history=HISTORY))

    assert tokens_of(HISTORY) > 150_000
    assert [says(request, FACT) for request in played.requests] == [True, False, True]
    assert all(tokens_of(request) <= 32_000 for request in played.requests)
    assert_served(played)
    assert "compress" not in played.hooks


def test_with_the_built_in_compressor_only_the_fact_is_gone(home: Home) -> None:
    """The first request goes out as it is, too large for the window; then a summary stands for it."""
    played = Home(home.folder, engine="compressor", installed_as="nothing").play(
        answering(), Speaker(STEPS, history=HISTORY)
    )

    assert tokens_of(played.requests[0]) > 100_000
    assert [says(request, FACT) for request in played.requests[1:]] == [False, False]


def test_a_switch_to_a_smaller_window_makes_the_next_request_smaller(greedy: Home) -> None:
    steps = [turn(QUESTION), do("switch", model="small-model"), turn(QUESTION)]
    steps += [do("switch", model="scripted-model"), turn(QUESTION)]
    played = greedy.play(answering(), Speaker(steps, history=HISTORY))
    sizes = [tokens_of(request) for request in played.requests]

    assert [played.steps[index]["window"] for index in (1, 3)] == [70_000, 100_000]
    assert 60_000 < sizes[0] < 85_000
    assert sizes[1] < 59_500
    assert 60_000 < sizes[2] < 85_000
    assert_served(played)


def test_a_provider_that_names_a_smaller_window_gets_a_smaller_request(greedy: Home) -> None:
    refusal = Refusal(400, "This model's maximum context length is 70000 tokens, and there are 80000 in your messages.")
    script: list[Line] = ["One.", refusal, "Two.", "Three."]
    played = greedy.play(ScriptedProvider(script), Speaker(STEPS, history=HISTORY))

    assert played.agents[0]["status"]["context_length"] == 70_000
    assert len(played.requests) == 4
    assert all(tokens_of(request) < 59_500 for request in played.requests[2:])
    assert says(played.requests[-1], FACT)
    assert_served(played)


def answering() -> ScriptedProvider:
    return ScriptedProvider(lambda _body: "An answer.")


def assert_served(played: Played) -> None:
    turns = [step for step in played.steps if "failed" in step]
    assert len(turns) == 3
    assert not any(step["failed"] for step in turns)
    assert [problems(request) for request in played.requests] == [[]] * len(played.requests)
