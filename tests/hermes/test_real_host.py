"""vecctx in the real host: installed both ways, through compactions, restarts and failures."""

from typing import Any

import pytest

from agent.testing import Reply, call
from tests.agent.support import problems
from tests.hermes.conversation import Home, Played, Row, Speaker, do, turn
from tests.hermes.environment import ROOT
from tests.hermes.histories import FACT, QUESTION, long_history, remarks, says, tokens_of
from tests.hermes.provider import Body, Line, Refusal, ScriptedProvider
from tests.hermes.scripts import RAISING_STEPS

BUDGET_TOKENS = 32_000
EXTENSION = "7731"
BREAKABLE = (
    "select",
    "ingest.ingest",
    "ingest.locate",
    "wiring.open_parts",
    "wiring.counter_for",
    "tools.call",
    "built_in_summarizer",
    "load_settings",
    "align.split",
    "align.past_rows",
    "limit",
)
"""What `vecctx/engine.py` calls, by the names that it uses."""


@pytest.mark.parametrize("way", ["plugin", "entry point"])
def test_it_serves_however_it_is_installed(home: Home, way: str) -> None:
    played = installed(home, way).play(answering(), Speaker([turn(FACT), turn("Thank you."), do("close")]))

    assert [agent["module"] for agent in played.agents] == ["vecctx.engine"]
    assert played.agents[0]["status"]["last_selection_id"] == 2
    assert [step.get("reply") for step in played.steps[:2]] == ["An answer.", "An answer."]
    assert {"vecctx_search", "vecctx_expand"} <= offered(played.bodies[0])


def test_nothing_of_the_checkout_is_imported(home: Home) -> None:
    played = home.play(answering(), Speaker([turn("Hello.")]))

    assert set(played.modules) == {"agent", "plugins", "vecctx"}
    assert all(".venv-hermes" in place.removeprefix(str(ROOT)) for place in played.modules.values())


def test_the_model_finds_with_its_tool_what_the_request_left_out(home: Home) -> None:
    wanted = call("c1", "vecctx_search", query="spare key of the observatory")
    script: list[Line] = [Reply(None, [wanted]), "With her."]
    played = home.play(ScriptedProvider(script), Speaker([turn("Please look it up.")], history=long_history(60_000)))

    assert not says(played.requests[0], EXTENSION)
    assert played.requests[1][-1]["role"] == "tool"
    assert EXTENSION in played.requests[1][-1]["content"]
    assert played.steps[0]["reply"] == "With her."


@pytest.mark.parametrize("in_place", [True, False])
def test_what_a_compaction_drops_is_recalled_later_and_in_a_new_process(home: Home, in_place: bool) -> None:
    home = configured(home, compression={"in_place": in_place})
    steps = [turn("One more. " + remarks(999, 10)), do("compress"), turn(QUESTION), do("close")]
    first = home.play(answering(), Speaker(steps, history=long_history(40_000)))
    session_id = first.steps[-1]["session_id"]
    again = home.play(answering(), Speaker([turn(QUESTION)], session_id=session_id, resumes=True))

    assert first.agents[0]["status"]["compression_count"] == 1
    assert not says(again.agents[0]["rows"], EXTENSION), "the host itself has no row of it any more"
    assert says(first.requests[1], EXTENSION)
    assert says(again.requests[0], EXTENSION)
    assert (session_id == "session-1") is in_place
    assert_valid(first)
    assert_valid(again)


def test_compress_asks_the_hosts_own_summarizer(home: Home) -> None:
    steps = [turn("One more."), do("compress"), turn("And now?")]
    played = home.play(answering(), Speaker(steps, history=long_history(40_000)))
    asked = [body for body in played.other_bodies if says(body["messages"], FACT)]

    assert len(asked) == 1
    assert tokens_of(asked[0]["messages"]) > 10_000
    assert asked[0]["model"] == "scripted-model"


def test_another_session_of_the_same_home_recalls_nothing(home: Home) -> None:
    home.play(answering(), Speaker([turn(FACT), turn("Thank you."), do("flush")]))
    other = home.play(answering(), Speaker([turn("Hello."), turn(QUESTION)], session_id="session-2"))

    assert not any(says(request, EXTENSION) for request in other.requests)


def test_a_new_session_in_the_same_agent_recalls_nothing(home: Home) -> None:
    steps = [turn(FACT), turn("Thank you."), do("flush"), do("reset"), turn("Hello."), turn(QUESTION)]
    played = home.play(answering(), Speaker(steps))

    assert says(played.requests[1], EXTENSION)
    assert not any(says(request, EXTENSION) for request in played.requests[2:])


def test_after_an_error_of_the_provider_the_next_turn_goes_on(home: Home) -> None:
    """The failed turn is told to nobody; its message is stored with the next one."""
    script: list[Line] = ["One.", Refusal(400, "that is no good request"), "Three."]
    steps = [turn("Hello."), turn(FACT), turn("Once more."), do("flush")]
    played = home.play(ScriptedProvider(script), Speaker(steps))
    found = search(home, FACT)

    assert [step.get("failed") for step in played.steps[:3]] == [False, True, False]
    assert says(found, EXTENSION)
    assert_valid(played)


def test_a_provider_that_reports_no_usage_is_no_trouble(home: Home) -> None:
    silent = Reply("An answer.", usage={})
    steps = [turn(QUESTION), turn("And more."), do("compress"), turn(QUESTION), turn("Even more.")]
    played = home.play(ScriptedProvider([silent] * 9), Speaker(steps, history=long_history(60_000)))

    assert [step.get("failed") for step in played.steps] == [False, False, None, False, False]
    assert says(played.requests[0], EXTENSION)
    assert says(played.requests[2], EXTENSION)
    assert_valid(played)


def test_no_turn_fails_whatever_breaks_inside(home: Home) -> None:
    def answer(body: Body) -> Line:
        newest = body["messages"][-1]
        if newest["role"] == "user" and "use the tool" in str(newest["content"]):
            return Reply(None, [call("c1", "vecctx_search", query="harbour")])
        return "An answer."

    speakers = [Speaker(RAISING_STEPS, session_id=name, engine=f"broken-{name}") for name in BREAKABLE]
    played = home.play(ScriptedProvider(answer), *speakers)
    troubled = {
        name: [step for step in agent["steps"] if "raised" in step or step.get("failed")] or agent["construction_error"]
        for name, agent in zip(BREAKABLE, played.agents, strict=True)
    }

    assert troubled == dict.fromkeys(BREAKABLE)
    assert_valid(played)


def answering() -> ScriptedProvider:
    return ScriptedProvider(lambda _body: "An answer.")


def installed(home: Home, way: str) -> Home:
    return Home(home.folder, installed_as=way)


def configured(home: Home, **config: Any) -> Home:
    return Home(home.folder, config=config)


def offered(body: Body) -> set[str]:
    return {tool["function"]["name"] for tool in body["tools"]}


def search(home: Home, text: str) -> list[Row]:
    """What a later session with the same history would get from the tool."""
    script: list[Line] = [Reply(None, [call("c1", "vecctx_search", query=text)]), "Found."]
    return home.play(ScriptedProvider(script), Speaker([turn("Please look.")], resumes=True)).requests[1][-1:]


def assert_valid(played: Played) -> None:
    assert [problems(request) for request in played.requests] == [[]] * len(played.requests)
    assert all(tokens_of(request) <= BUDGET_TOKENS for request in played.requests)
