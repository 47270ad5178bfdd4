"""Nothing that the engine accepted is lost: hosts are killed at any moment, 200 times over.

A child plays a host: it completes turn after turn and tells of each when `on_turn_complete` is back. The parent kills
it at a moment drawn from a seed, opens the home with a new engine, and looks. Half of the kills go on at one home.
"""

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NoReturn

import pytest

from tests.fakes.embedder import FakeEmbedder
from tests.host import Session, block_of, refusals
from tests.weird import Row
from vecctx import wiring
from vecctx.engine import VecctxEngine

KILLS_AT_ONE_HOME = 100
KILLS_AT_NEW_HOMES = 100
KILLS_WITH_THE_MODEL = 6
LONGEST_SPIN_SECONDS = 0.012
"""About the time from one told turn to the next: a spin ends anywhere in a turn."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are a thing of Unix"),
    pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning"),
]


@pytest.fixture
def _no_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wiring, "embedder_for", lambda settings: FakeEmbedder())


def play(home: Path, rows: Sequence[Row]) -> Iterator[list[Row]]:
    """Go on with a conversation for ever; gives the rows of each turn when the engine has taken it."""
    engine = VecctxEngine(100_000)
    session = Session(engine, home).start()
    for row in rows:
        session.add({key: value for key, value in row.items() if key not in ("message_uid", "_row_id")})
    number = sum(1 for row in rows if row["role"] == "user")
    while True:
        before = len(session.rows)
        session.ask(f"Question {number}: where does lantern{number} stand?")
        session.use_tools(f"listing {number} one", f"listing {number} two")
        session.select()
        session.complete(f"Answer {number}: lantern{number} stands at pier{number}.")
        yield session.rows[before:]
        if number % 5 == 4:
            engine.on_session_end("s1", session.rows)
        number += 1


def run_and_kill(home: Path, rows: Sequence[Row], *, turn_count: int, spin_seconds: float) -> list[Row]:
    """What a child told of, that was killed some time after it told of so many turns."""
    told, tells = os.pipe()
    sys.stdout.flush()
    child = os.fork()
    if not child:
        os.close(told)
        _tell_for_ever(home, rows, tells)
    os.close(tells)
    with os.fdopen(told, encoding="utf-8") as lines:
        heard = [line for _, line in zip(range(turn_count), lines, strict=False)]
        until = time.perf_counter() + spin_seconds
        while time.perf_counter() < until:
            pass
        os.kill(child, signal.SIGKILL)
        heard += lines.readlines()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == -signal.SIGKILL, "the child died of something else"
    # A line that was cut is a turn that was not told of.
    return [row for line in heard if line.endswith("\n") for row in json.loads(line)]


def _tell_for_ever(home: Path, rows: Sequence[Row], tells: int) -> NoReturn:
    try:
        for turn in play(home, rows):
            os.write(tells, json.dumps(turn).encode() + b"\n")
    finally:
        os._exit(1)


def check_home(home: Path, accepted: list[Row]) -> None:
    """Open a home as the next process would, and compare it with what was accepted."""
    engine = VecctxEngine(100_000)
    session = Session(engine, home).start()
    try:
        store = engine._open().parts.store
        assert store.check() == ()
        check_stored(session, accepted)
        before = len(store.known(1)) if store.conversation_of("", "s1") else 0
        engine.on_turn_complete(accepted)
        stored = check_stored(session, accepted)
        assert len(stored) == max(before, len(accepted)), "a transcript that was known added something"
        assert engine.flush(60)
        assert store.pending_count(engine._open().parts.embedder.identity) == 0
        assert not list((home / "vecctx" / "index").glob("*.corrupt")), "an index file was half written"
        check_recalled(session, accepted)
    finally:
        engine.close()


def check_stored(session: Session, accepted: Sequence[Row]) -> list[str | None]:
    """What is stored begins with what was accepted, each row once and in order; behind it at most one turn more."""
    store = session.engine._open().parts.store
    conversation_id = store.conversation_of("", "s1")
    known = store.known(conversation_id) if conversation_id else ()
    uids = [row.uid for row in known]
    wanted = [row["message_uid"] for row in accepted]
    assert uids[: len(wanted)] == wanted
    assert len(set(uids)) == len(uids)
    assert len(uids) - len(wanted) in (0, 5)
    return uids


def check_recalled(session: Session, accepted: list[Row]) -> None:
    """A question about the oldest turn finds it, out of sight of the recent ones."""
    if len(accepted) < 10:
        return
    session.rows = accepted[-5:]
    sent = session.ask("Where does lantern0 stand, did you say?")
    assert sent is not None
    assert refusals(sent) == []
    assert "lantern0 stands at pier0" in block_of(sent)
    session.rows.pop()


@pytest.mark.usefixtures("_no_model")
def test_100_kills_at_one_home_lose_no_accepted_turn_and_store_none_twice(tmp_path: Path) -> None:
    moments = random.Random(20261202)
    accepted: list[Row] = []
    for _ in range(KILLS_AT_ONE_HOME):
        told = run_and_kill(
            tmp_path,
            accepted,
            turn_count=moments.choice((0, 1, 1, 2, 3)),
            spin_seconds=moments.uniform(0, LONGEST_SPIN_SECONDS),
        )
        accepted += told
        check_home(tmp_path, accepted)
        accepted = resumed(tmp_path, accepted)

    assert len(accepted) > 5 * KILLS_AT_ONE_HOME, "the kills came too early to tell anything"


def resumed(home: Path, accepted: list[Row]) -> list[Row]:
    """The transcript with which a host goes on: its own database has the turn that was stored and not told of, too."""
    engine = VecctxEngine(100_000)
    session = Session(engine, home).start()
    store = engine._open().parts.store
    known = store.known(1) if accepted or store.conversation_of("", "s1") else ()
    if len(known) > len(accepted):
        turn = play_one(len(accepted))
        accepted = [*accepted, *turn]
        assert [row["message_uid"] for row in turn] == [row.uid for row in known[-5:]]
    session.engine.close()
    return accepted


def play_one(count: int) -> list[Row]:
    """The turn that comes behind so many rows."""
    number = count // 5
    session = Session(VecctxEngine(), Path())
    session._count = count
    session.add({"role": "user", "content": f"Question {number}: where does lantern{number} stand?"})
    session.use_tools(f"listing {number} one", f"listing {number} two")
    session.add({"role": "assistant", "content": f"Answer {number}: lantern{number} stands at pier{number}."})
    return session.rows


@pytest.mark.usefixtures("_no_model")
def test_100_kills_at_new_homes_lose_no_accepted_turn_and_store_none_twice() -> None:
    """The first moments of a home: its files are made, its first session begins."""
    moments = random.Random(20261203)
    for _ in range(KILLS_AT_NEW_HOMES):
        with tempfile.TemporaryDirectory() as folder:
            home = Path(folder)
            accepted = run_and_kill(
                home,
                [],
                turn_count=moments.choice((0, 0, 1, 3)),
                spin_seconds=moments.uniform(0, 4 * LONGEST_SPIN_SECONDS),
            )
            check_home(home, accepted)


def test_kills_amid_real_embedding_lose_nothing(tmp_path: Path) -> None:
    moments = random.Random(20261204)
    accepted: list[Row] = []
    for _ in range(KILLS_WITH_THE_MODEL):
        accepted += run_and_kill(tmp_path, accepted, turn_count=2, spin_seconds=moments.uniform(0, 0.3))
        check_home(tmp_path, accepted)
        accepted = resumed(tmp_path, accepted)
