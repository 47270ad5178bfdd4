"""vecctx under the real host's own commands."""

import json

from tests.hermes.conversation import Home, Speaker, do, turn
from tests.hermes.histories import FACT, long_history, remarks, says
from tests.hermes.provider import ScriptedProvider


def test_what_was_said_to_a_command_that_exits_at_once_is_stored_and_found(home: Home) -> None:
    """The host's one-shot command ends by os._exit: nothing is flushed or closed."""
    provider = ScriptedProvider(lambda _body: "An answer.")
    home = Home(home.folder, installed_as="plugin")
    said = home.command("hermes", "-z", FACT, provider=provider)
    found = json.loads(home.command("vecctx", "search", "key of the observatory", "--json", provider=provider))

    assert said.strip() == "An answer."
    assert says(provider.bodies[0]["messages"], FACT)
    assert found["results"][0]["text"] == FACT


def test_a_compaction_stores_every_message_once_and_no_summary(home: Home) -> None:
    history = long_history(20_000)
    provider = ScriptedProvider(lambda _body: "An answer.")
    steps = [turn("One more. " + remarks(999, 10)), do("compress"), turn("And now?"), do("flush")]
    home.play(provider, Speaker(steps, history=history))
    home.play(provider, Speaker([turn("Go on."), do("flush")], resumes=True))
    stored = json.loads(home.command("vecctx", "stats", "--json", provider=provider))

    assert stored["messages"] == len(history) + 6
    assert stored["conversations"] == 1
    assert stored["not_yet_indexed"] == 0


def test_the_host_lists_it(home: Home) -> None:
    listed = Home(home.folder, installed_as="entry point").command(
        "hermes", "plugins", "list", provider=ScriptedProvider([])
    )

    (line,) = (line for line in listed.splitlines() if "vecctx" in line)
    assert "enabled" in line
    assert "not enabled" not in line
