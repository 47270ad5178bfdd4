"""Many agents in one process of the real host, and what vecctx costs it."""

from statistics import median

import pytest

from tests.hermes.conversation import Home, Played, Speaker, do, turn
from tests.hermes.histories import remarks, says
from tests.hermes.provider import ScriptedProvider

MOST_DELAY_SECONDS = 0.3
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


def test_an_agent_is_built_hardly_later_than_without_it(home: Home) -> None:
    without = build_seconds(Home(home.folder / "without", engine="compressor", installed_as="nothing"))
    with_it = build_seconds(Home(home.folder / "with", installed_as="plugin"))

    assert with_it[0] - without[0] < MOST_DELAY_SECONDS
    assert median(with_it[1:]) - median(without[1:]) < MOST_DELAY_SECONDS / 10


def speaker(name: str) -> Speaker:
    chatter = [turn(f"{name} says: {remarks(number, 40)}") for number in range(5)]
    steps = [turn(f"My secret word is {name}wood."), *chatter, do("flush"), turn(f"What is the secret word of {name}?")]
    return Speaker(steps, session_id=f"session-{name}", user_id=name)


def build_seconds(home: Home) -> list[float]:
    """How long the first agent of a process takes, and four more."""
    home.folder.parent.mkdir(exist_ok=True)
    played: Played = home.play(answering(), *[Speaker([], session_id=f"session-{number}") for number in range(5)])
    return [agent["construction_seconds"] for agent in played.agents]


def answering() -> ScriptedProvider:
    return ScriptedProvider(lambda _body: "An answer.")
