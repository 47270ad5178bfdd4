import json
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.context_engine import Message
from agent.messages import user_row
from agent.transcripts import FOLDER, SessionError, Transcripts, new_session_id
from tests.agent.support import any_rows, chat, relaxed


def file_of(home: Path, session_id: str = "s1") -> Path:
    return home / FOLDER / f"{session_id}.jsonl"


@relaxed
@given(steps=st.lists(any_rows, min_size=1, max_size=4), data=st.data())
def test_what_is_saved_comes_back_whether_it_grew_or_was_replaced(
    tmp_path_factory: pytest.TempPathFactory, steps: list[list[Message]], data: st.DataObject
) -> None:
    home = tmp_path_factory.mktemp("home")
    transcripts, rows = Transcripts(home), list[Message]()
    for number, step in enumerate(steps):
        rows = [*rows, *step] if data.draw(st.booleans()) else step
        transcripts.save("s1", rows, number)
        if rows:
            assert list(Transcripts(home).load("s1").rows) == rows
            transcripts = data.draw(st.sampled_from([transcripts, _reloaded(home)]))


def _reloaded(home: Path) -> Transcripts:
    transcripts = Transcripts(home)
    transcripts.load("s1")
    return transcripts


def test_the_turns_are_counted_across_sittings(tmp_path: Path) -> None:
    Transcripts(tmp_path).save("s1", chat(2), 2)

    assert Transcripts(tmp_path).load("s1").turn_count == 2


def test_a_turn_adds_a_line_with_its_rows_alone(tmp_path: Path) -> None:
    transcripts = Transcripts(tmp_path)
    transcripts.save("s1", chat(3), 3)
    transcripts.save("s1", [*chat(3), user_row("new")], 4)

    last = json.loads(file_of(tmp_path).read_text().splitlines()[-1])
    assert last == {"turns": 4, "rows": [user_row("new")]}


def test_a_file_only_grows(tmp_path: Path) -> None:
    transcripts = Transcripts(tmp_path)
    transcripts.save("s1", chat(3), 3)
    before = file_of(tmp_path).read_bytes()

    transcripts.save("s1", chat(1), 4)
    transcripts.save("s1", chat(1), 4)

    after = file_of(tmp_path).read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == 2


@given(st.integers(0, 4000))
@relaxed
def test_a_file_cut_anywhere_gives_whole_turns_and_can_be_continued(
    tmp_path_factory: pytest.TempPathFactory, kept_bytes: int
) -> None:
    home, rows = tmp_path_factory.mktemp("home"), chat(4)
    transcripts = Transcripts(home)
    for turn in range(1, 5):
        transcripts.save("s1", rows[: 2 * turn], turn)
    content = file_of(home).read_bytes()[:kept_bytes]
    file_of(home).write_bytes(content)

    found = _reloaded(home)
    left = list(found.load("s1").rows)
    found.save("s1", [*left, user_row("on")], 9)

    assert left == rows[: len(left)]
    assert len(left) == 2 * content.count(b"\n") or content.endswith(b"}")
    assert list(Transcripts(home).load("s1").rows) == [*left, user_row("on")]


def test_what_cannot_be_read_is_told_in_one_line(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    Transcripts(tmp_path).save("s1", chat(1), 1)
    with file_of(tmp_path).open("ab") as file:
        file.write(b'[1]\n{"turns": 1, "rows": [5]}\n\xff\n{"turns"')

    assert list(Transcripts(tmp_path).load("s1").rows) == chat(1)
    (record,) = caplog.records
    assert "4 lines" in record.getMessage()


def test_the_newest_session_is_the_one_that_was_saved_last(tmp_path: Path) -> None:
    transcripts = Transcripts(tmp_path)
    for number, session_id in enumerate(["b", "c", "a"]):
        transcripts.save(session_id, [user_row(session_id)], 1)
        os.utime(file_of(tmp_path, session_id), ns=(number, number))

    assert transcripts.ids() == ["a", "c", "b"]
    assert transcripts.load().session_id == "a"


@pytest.mark.parametrize("session_id", ["../secret", "nothing-like-it", ""])
def test_an_unknown_session_is_refused(tmp_path: Path, session_id: str) -> None:
    (tmp_path / "secret.jsonl").write_text("")

    with pytest.raises(SessionError, match="there is no session"):
        Transcripts(tmp_path).load(session_id)


def test_the_nearest_session_is_named(tmp_path: Path) -> None:
    transcripts = Transcripts(tmp_path)
    transcripts.save("20261201-1200-ab12", chat(1), 1)

    with pytest.raises(SessionError, match="the nearest is 20261201-1200-ab12"):
        transcripts.load("20261201-1200")


def test_an_id_that_would_leave_the_folder_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(SessionError):
        Transcripts(tmp_path).save("../s1", chat(1), 1)

    assert list(tmp_path.rglob("*.jsonl")) == []


def test_a_folder_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / FOLDER).write_text("in the way")

    with pytest.raises(SessionError, match="s1 is not saved"):
        Transcripts(tmp_path).save("s1", chat(1), 1)


def test_ids_sort_by_time_and_differ() -> None:
    early, late = new_session_id(lambda: 0.0), new_session_id(lambda: 1e9)

    assert early < late
    assert len({new_session_id(lambda: 0.0) for _ in range(5)}) == 5
