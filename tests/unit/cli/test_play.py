from contextlib import closing
from pathlib import Path

import pytest

from vecctx.cli.evidence import Evidence, place_of
from vecctx.cli.opening import scratch_home
from vecctx.cli.play import Played, Player
from vecctx.cli.sample import Question
from vecctx.errors import VecctxError
from vecctx.settings import Settings
from vecctx.wiring import Opened, open_parts

PASSAGE = "The lighthouse keeper is called Marta"
QUESTION = Question("What is the lighthouse keeper called?", "Marta.", "a name", "this test", (Evidence("0", PASSAGE),))


def history() -> list[dict[str, object]]:
    texts = [f"{PASSAGE}.", "Noted."]
    for day in range(8):
        texts += [f"Tell me about day {day} of the harvest.", f"On day {day} " + "it rained and rained. " * 10]
    roles = ("user", "assistant")
    return [
        {"role": roles[number % 2], "content": text, "timestamp": 1_700_000_000.0 + number, "message_uid": str(number)}
        for number, text in enumerate(texts)
    ]


def played(home: Path, opened: Opened) -> Played:
    with closing(opened), closing(Player(home, "s", history(), opened)) as player:
        player.hand_over()
        opened.flush()
        return player.ask(QUESTION)


def test_a_question_is_a_turn_of_a_host_whose_config_chooses_vecctx(caplog: pytest.LogCaptureFixture) -> None:
    with scratch_home(Settings(budget_tokens=300), None) as (settings, home):
        result = played(home, open_parts(settings, home))

    assert place_of(QUESTION.evidence[0], result.sent) == "recalled"
    assert place_of(QUESTION.evidence[0], result.window) is None
    assert result.selection.used_tokens <= 300
    assert not caplog.records


def test_a_host_that_does_not_find_the_plugin_gets_the_engine_by_hand(tmp_path: Path) -> None:
    result = played(tmp_path, open_parts(Settings(), tmp_path))

    assert place_of(QUESTION.evidence[0], result.sent) == "kept"


def test_an_engine_that_stands_aside_is_an_error(tmp_path: Path) -> None:
    opened = open_parts(Settings(), tmp_path)
    (tmp_path / "config.yaml").write_text("context: {engine: vecctx, vecctx: {scope: nowhere}}")

    with closing(opened), pytest.raises(VecctxError, match="'nowhere'"):
        Player(tmp_path, "s", history(), opened)
