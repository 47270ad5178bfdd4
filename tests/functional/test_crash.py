"""Nothing accepted is lost: a process that stores turns is killed at any moment, 200 times over.

Each child goes on where the last one died. It tells of a turn once that is committed; the parent kills it at a moment
drawn from a seed, opens everything again, and looks.
"""

import json
import os
import random
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn, TypeAlias

import pytest

from tests.builders import IDENTITY, make_turn, make_vectors
from tests.fakes.clock import FakeClock
from tests.fakes.vector_index import FakeVectorIndex
from vecctx.adapters.faiss_index import FaissIndex
from vecctx.adapters.sqlite_store import SqliteStore
from vecctx.values import StoredMessage

KILLS = 200
LONGEST_SPIN_SECONDS = 0.004
"""A turn takes about 3 ms from one commit to the next: a spin ends anywhere in it."""

Accepted: TypeAlias = dict[int, str]
"""Texts by message id."""
Ingest: TypeAlias = Callable[[Path, str], Iterator[Accepted]]
"""Opens a home, stores turns whose texts begin with a name for ever, and gives each turn once it is committed."""


def ingest_into_store_and_index(home: Path, name: str) -> Iterator[Accepted]:
    store = SqliteStore(home / "store.db", FakeClock())
    index = FaissIndex(store, IDENTITY, home / "index", vectors_worth_a_file=1)
    conversation_id = store.open_conversation("ann", "s1")
    number = 0
    while True:
        texts = [f"{name}.{number} {role}" for role in ("question", "call", "result", "answer")]
        newest = store.known(conversation_id, 1)
        ids = store.add_turns(conversation_id, [make_turn(*texts)], behind=newest[0].message_id if newest else None)
        assert ids
        yield dict(zip(ids, texts, strict=True))
        # Stands in for an embedder's vectors: what is tested is where they go.
        chunks = store.pending(IDENTITY, 32)
        rows = make_vectors(len(chunks), seed=chunks[0].chunk_id)
        store.add_vectors(IDENTITY, [chunk.chunk_id for chunk in chunks], rows)
        index.search([conversation_id], rows[0], 1)
        index.save()
        number += 1


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks are a thing of Unix")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_200_kills_lose_no_accepted_turn_and_store_none_twice(tmp_path: Path) -> None:
    moments = random.Random(20261201)
    accepted: Accepted = {}
    for kill in range(KILLS):
        accepted |= run_and_kill(
            ingest_into_store_and_index,
            tmp_path,
            name=f"run {kill}",
            line_count=moments.randrange(8),
            spin_seconds=moments.uniform(0, LONGEST_SPIN_SECONDS),
        )
        check_home(tmp_path, accepted)

    assert list((tmp_path / "index").glob("*.faiss"))
    assert len(accepted) > KILLS


def run_and_kill(ingest: Ingest, home: Path, *, name: str, line_count: int, spin_seconds: float) -> Accepted:
    """What a child told of, that was killed some time after it told of so many turns."""
    told, tells = os.pipe()
    child = os.fork()
    if not child:
        _tell_for_ever(ingest, home, name, tells)
    os.close(tells)
    with os.fdopen(told, encoding="utf-8") as lines:
        heard = [line for _, line in zip(range(line_count), lines, strict=False)]
        until = time.perf_counter() + spin_seconds
        while time.perf_counter() < until:
            pass
        os.kill(child, signal.SIGKILL)
        heard += lines.readlines()
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == -signal.SIGKILL, "the child died of something else"
    accepted: Accepted = {}
    for line in heard:
        # A line that was cut is a turn that was not told of.
        if line.endswith("\n"):
            accepted |= {int(message_id): text for message_id, text in json.loads(line).items()}
    return accepted


def _tell_for_ever(ingest: Ingest, home: Path, name: str, tells: int) -> NoReturn:
    try:
        for turn in ingest(home, name):
            os.write(tells, json.dumps(turn).encode() + b"\n")
    finally:
        os._exit(1)


def check_home(home: Path, accepted: Accepted) -> None:
    """Open a home as the next process would, and compare it with what was accepted."""
    with SqliteStore(home / "store.db", FakeClock()) as store:
        assert store.check() == ()
        conversation_id = store.open_conversation("ann", "s1")
        ids = [known.message_id for known in store.known(conversation_id)]
        messages = store.messages([conversation_id], ids)
        check_messages(messages, accepted)
        assert not list((home / "index").glob("*.corrupt")), "an index file was half written"
        index = FaissIndex(store, IDENTITY, home / "index", vectors_worth_a_file=1)
        exact = FakeVectorIndex(store, IDENTITY)
        for query in make_vectors(3, seed=len(ids)):
            found, expected = (searched.search([conversation_id], query, len(ids) + 1) for searched in (index, exact))
            assert {hit.chunk_id for hit in found} == {hit.chunk_id for hit in expected}
            assert [hit.score for hit in found] == pytest.approx([hit.score for hit in expected], abs=2e-6)


def check_messages(messages: tuple[StoredMessage, ...], accepted: Accepted) -> None:
    texts = {message.message_id: message.text for message in messages}
    assert texts.items() >= accepted.items()
    assert len(set(texts.values())) == len(messages), "a message is there twice"
    assert [message.position for message in messages] == list(range(len(messages)))
    turns: dict[int, list[str]] = {}
    for message in messages:
        turns.setdefault(message.turn_id, []).append(message.text.rsplit(" ", 1)[-1])
    assert all(roles == ["question", "call", "result", "answer"] for roles in turns.values()), "a turn is broken"
