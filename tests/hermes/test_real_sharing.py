"""Many agents in one process of the real host, and what vecctx costs it."""

from statistics import median
from typing import Any

import pytest

from tests.hermes.conversation import Home, Speaker, do, turn
from tests.hermes.histories import remarks, says
from tests.hermes.provider import ScriptedProvider

MOST_DELAY_SECONDS = 0.3
MOST_MIB = 5
NAMES = ("alder", "birch")


@pytest.mark.parametrize("way", ["recorded plugin", "entry point"])
def test_two_users_in_two_threads_never_see_each_others_words(home: Home, way: str) -> None:
    home = Home(
        home.folder,
        installed_as=way,
        config={"context": {"engine": "vecctx", "vecctx": {"budget_tokens": 6000}}},
    )
    played = home.play(answering(), *map(speaker, NAMES), together=True)
    alder, birch = ([request for request in played.requests if says(request, name)] for name in NAMES)

    assert len(alder) == len(birch) == 7
    assert not any(says(request, "birch") for request in alder)
    assert all(
        says(requests[-1], f"My secret word is {name}wood.")
        for requests, name in zip((alder, birch), NAMES, strict=True)
    )


def test_scope_user_keeps_users_apart_and_joins_their_sessions(home: Home) -> None:
    """Hermes tells no user id at the start: everybody was one user, and read the others' words."""
    settings = {"scope": "user", "budget_tokens": 6000}
    home = Home(home.folder, config={"context": {"engine": "vecctx", "vecctx": settings}})
    played = home.play(answering(), *map(speaker, NAMES), together=True)

    assert not any(says(request, "alder") and says(request, "birch") for request in played.requests)


@pytest.mark.parametrize("part", ["tools.schemas", "taken_by"])
def test_what_fails_while_an_agent_is_built_costs_no_agent(home: Home, part: str) -> None:
    played = home.play(answering(), Speaker([turn("Hello.")], session_id="s1", engine=f"broken-{part}"))

    assert played.agents[0]["construction_error"] is None


def test_it_costs_little_time_and_memory(home: Home) -> None:
    without = many_agents(Home(home.folder / "without", engine="compressor", installed_as="nothing"))
    with_it = many_agents(Home(home.folder / "with", installed_as="plugin"))
    delays = [a["construction_seconds"] - b["construction_seconds"] for a, b in zip(with_it, without, strict=True)]
    resident = [agent["resident_mib"] for agent in with_it]

    assert delays[0] < MOST_DELAY_SECONDS
    assert median(delays[1:]) < MOST_DELAY_SECONDS / 10
    assert (resident[-1] - resident[1]) / (len(resident) - 2) < MOST_MIB


def speaker(name: str) -> Speaker:
    chatter = [turn(f"{name} says: {remarks(number, 40)}") for number in range(5)]
    steps = [turn(f"My secret word is {name}wood."), *chatter, do("flush"), turn(f"What is the secret word of {name}?")]
    return Speaker(steps, session_id=f"session-{name}", user_id=name)


def many_agents(home: Home) -> list[dict[str, Any]]:
    """Twelve agents of one process, each with a turn behind it; the first pays for what is loaded once."""
    home.folder.parent.mkdir(exist_ok=True)
    steps = [turn("Hello. " + remarks(1, 40))]
    return home.play(answering(), *[Speaker(steps, session_id=f"session-{number}") for number in range(12)]).agents


def answering() -> ScriptedProvider:
    return ScriptedProvider(lambda _body: "An answer.")
