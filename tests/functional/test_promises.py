"""The promises, with the real parts and any conversation: nothing lost, never worse, never invalid."""

import copy
import json
import logging
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests import weird
from tests.fakes.embedder import FakeEmbedder
from tests.host import SYSTEM, Session, as_bytes, block_of, extends, refusals
from tests.weird import Row, assistant, user
from vecctx import wiring
from vecctx.engine import VecctxEngine
from vecctx.errors import ModelError, StoreError
from vecctx.retrieve.lexical import asks_something, query_terms
from vecctx.settings import Settings
from vecctx.turns.content import text_of_row
from vecctx.turns.identity import is_synthetic

ROOT = Path(__file__).parents[2]
PREFILL = [user("Say yes or no."), assistant("Yes.")]
EXAMPLES = int(os.environ.get("VECCTX_EXAMPLES", "40"))
MANY = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""Each example opens a store of its own."""

TEXTS = st.one_of(
    st.sampled_from(("ok", "continue", "yes", "Where is the blue harbour?", "The harbour is in the north.")),
    st.sampled_from((*weird.SPECIAL_TOKENS, *weird.SCRIPTS, *weird.FRAME_BREAKERS)),
    st.integers(1, 60).map(lambda count: "The quick harbour pilot writes about valley roads. " * count),
)
CLEAN = st.lists(weird.turns(TEXTS), max_size=6)
DIRTY = weird.transcripts()
BUDGETS = st.sampled_from((1, 60, 150, 300, 600, 1200, 32_000))
OUTPUTS = st.lists(st.integers(1, 40).map(lambda count: "a line of output " * count), max_size=4)


@pytest.fixture(autouse=True, scope="module")
def _no_model() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wiring, "embedder_for", lambda settings: FakeEmbedder())
        yield


@contextmanager
def home_with(**configured: Any) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        (home / "config.yaml").write_text(json.dumps({"context": {"vecctx": configured}}), encoding="utf-8")
        yield home


@contextmanager
def engine_in(home: Path) -> Iterator[VecctxEngine]:
    engine = VecctxEngine(100_000)
    try:
        yield engine
    finally:
        engine.close()


def with_own_ids(turns: Sequence[Sequence[Row]]) -> list[Row]:
    """Turns in which every call has an id that no other has, and each turn is answered: a valid history."""
    rows: list[Row] = []
    for number, turn in enumerate(turns):
        own = json.loads(json.dumps(turn).replace('"call_', f'"c{number}_').replace('"toolu_', f'"t{number}_'))
        own = json.loads(json.dumps(own).replace('"a_', f'"a{number}_'))
        for place, row in enumerate(own):
            for call in row.get("tool_calls", ()):
                call["id"] += f".{_batch(own, place)}"
            if row["role"] == "tool":
                row["tool_call_id"] += f".{_batch(own, place)}"
        rows += own if own[-1]["role"] == "assistant" else [*own, assistant("Done.")]
    return rows


def _batch(rows: Sequence[Row], place: int) -> int:
    return sum(1 for row in rows[: place + 1] if row.get("tool_calls"))


def tokens(rows: Sequence[Row]) -> int:
    return sum(map(wiring.counter_for("", Settings()).count_message, rows))


def check_request(session: Session, sent: list[Row] | None, budget: int, *, current: int) -> None:
    """Everything that one request owes, whatever the history was; the current turn has so many rows."""
    assert sent is not None
    request = session.request()
    head = request[: 1 + len(session.prefill)]
    assert as_bytes(sent[:1]) == as_bytes([SYSTEM])
    assert as_bytes(sent[: len(head)]) == as_bytes(head)
    assert as_bytes(sent[-current:]) == as_bytes(request[-current:])
    fixed = [*head, *request[-current:]]
    assert tokens(sent) <= budget or as_bytes(sent) == as_bytes(fixed)
    if tokens(fixed) > budget:
        assert as_bytes(sent) == as_bytes(fixed)
    check_kept(sent[len(head) : -current], request[len(head) : -current])


def check_kept(kept: Sequence[Row], history: Sequence[Row]) -> None:
    """Kept rows are rows of the history, in its order, deep-equal to them; at the end at most one block."""
    rows = [row for row in kept if not block_of([row])]
    assert len(kept) - len(rows) <= 1
    assert rows == kept[: len(rows)]
    rest = iter(history)
    assert all(any(as_bytes([row]) == as_bytes([other]) for other in rest) for row in rows)


@MANY
@given(CLEAN, BUDGETS, OUTPUTS, st.booleans(), st.booleans())
def test_a_valid_history_gives_valid_requests_inside_the_budget(
    turns: list[list[Row]], budget: int, outputs: list[str], has_prefill: bool, has_uids: bool
) -> None:
    prefill = PREFILL if has_prefill else []
    with home_with(budget_tokens=budget) as home, engine_in(home) as engine:
        session = Session(engine, home, rows=with_own_ids(turns), prefill=prefill, has_uids=has_uids).start()
        session.engine.on_turn_complete(copy.deepcopy(session.rows))
        assert engine.flush(30)
        assert refusals([*session.request(), user("next")], 1 + len(prefill)) == []
        check_request(session, session.ask("Where is the blue harbour?"), budget, current=1)
        for number, output in enumerate(outputs):
            session.use_tools(*[output] * (1 + number % 3))
            sent = session.select()
            check_request(session, sent, budget, current=len(session.rows) - _current_start(session))
            assert sent is not None
            assert refusals(sent, 1 + len(prefill)) == []


def _current_start(session: Session) -> int:
    return max(number for number, row in enumerate(session.rows) if row["role"] == "user")


@MANY
@given(DIRTY, BUDGETS, st.booleans())
def test_a_dirty_history_gives_valid_requests_where_the_turn_is_valid(
    rows: list[Row], budget: int, has_uids: bool
) -> None:
    with home_with(budget_tokens=budget) as home, engine_in(home) as engine:
        session = Session(engine, home, rows=rows, has_uids=has_uids).start()
        engine.on_turn_complete(copy.deepcopy(session.rows))
        assert engine.flush(30)
        sent = session.ask("Where is the blue harbour?")
        check_request(session, sent, budget, current=1)
        assert sent is not None
        assert refusals(sent) == []
        session.use_tools("one", "two")
        sent = session.select()
        check_request(session, sent, budget, current=4)
        assert sent is not None
        assert refusals(sent) == []


@MANY
@given(DIRTY, weird.contents(), st.booleans())
def test_no_hook_changes_what_it_is_given(rows: list[Row], content: object, has_conversation: bool) -> None:
    with home_with(budget_tokens=400) as home, engine_in(home) as engine:
        session = Session(engine, home, rows=rows).start()
        session.add({"role": "user", "content": content})
        request, durable, incoming = session.request(), copy.deepcopy(session.rows), copy.deepcopy(session.rows[-1])
        before = copy.deepcopy((request, durable, incoming))

        for _ in range(2):
            engine.select_context(
                request,
                conversation_messages=durable if has_conversation else None,
                incoming_message=incoming,
                budget_tokens=100_000,
            )
        engine.on_turn_complete(durable, usage={"prompt_tokens": 5})
        engine.compress(durable, current_tokens=10**6, force=True)
        engine.should_compress_info(5)
        engine.on_session_end("s1", durable)
        engine.on_session_reset()

        assert repr((request, durable, incoming)) == repr(before)


@MANY
@given(CLEAN, st.sampled_from((600, 1200, 2400)), OUTPUTS, st.sampled_from(("same", "restart", "clone")))
def test_within_a_turn_each_request_extends_the_one_before_whenever_that_fits(
    turns: list[list[Row]], budget: int, outputs: list[str], how: str
) -> None:
    with home_with(budget_tokens=budget) as home, engine_in(home) as engine:
        session = Session(engine, home, rows=with_own_ids(turns)).start()
        engine.on_turn_complete(copy.deepcopy(session.rows))
        assert engine.flush(30)
        before = session.asked("Where is the blue harbour?")
        for output in outputs:
            session.use_tools(output)
            new_rows = session.request()[-2:]
            if how != "same":
                session.engine = engine.clone_for_agent() if how == "clone" else VecctxEngine(100_000)
                session.start()
            sent = session.select()
            assert sent is not None
            if tokens([*before, *new_rows]) <= budget:
                assert as_bytes(sent) == as_bytes([*before, *new_rows])
            before = sent
            assert as_bytes(session.select() or []) == as_bytes(sent)
            if session.engine is not engine:
                session.engine.close()


@settings(MANY, max_examples=10)
@given(CLEAN, st.sampled_from((900, 1800)))
def test_a_long_turn_is_cut_seldom(turns: list[list[Row]], budget: int) -> None:
    """A cut is deep: behind it several requests only extend the one before."""
    with home_with(budget_tokens=budget) as home, engine_in(home) as engine:
        session = Session(engine, home, rows=with_own_ids(turns)).start()
        engine.on_turn_complete(copy.deepcopy(session.rows))
        before, cuts, count = session.asked("Where is the blue harbour?"), 0, 0
        while tokens([SYSTEM, *session.request()[-1 - 2 * count :]]) < budget:
            session.use_tools("a line of output " * 5)
            sent = session.select()
            assert sent is not None
            cuts += not extends(sent, before)
            before, count = sent, count + 1

        assert cuts <= 6  # each cut halves what is left, and a step takes a fortieth of the budget


WORDS = st.sampled_from(("pilot", "harbour", "valley", "bridge", "invoice", "garden", "server", "violin", "amber"))
LETTERS = st.lists(WORDS, min_size=4, max_size=40).map(" ".join)
SPOKEN = st.lists(weird.turns(LETTERS | TEXTS), max_size=6)


@MANY
@given(SPOKEN | DIRTY.map(lambda rows: [rows]))
def test_every_stored_message_is_found_by_its_own_words_once(turns: list[list[Row]]) -> None:
    with home_with(redact=False) as home, engine_in(home) as engine:
        session = Session(engine, home, rows=[row for turn in turns for row in turn]).start()
        engine.on_turn_complete(copy.deepcopy(session.rows))
        assert engine.flush(30)
        session.ask("What now?")
        talk = [row for row in session.rows[:-1] if not is_synthetic(row)]
        parts = engine._open().parts
        known = parts.store.known(parts.store.conversation_of("", "s1") or 0)
        assert [row.uid for row in known] == [row["message_uid"] for row in talk]
        for row, stored in zip(talk, known, strict=True):
            text = text_of_row(row)
            if len(query_terms(text)) >= 4 and asks_something(text):
                found = [one["id"] for one in session.tool("vecctx_search", query=text, limit=20)["results"]]
                equals = {other.message_id for other in known if other.key == stored.key}
                assert equals & set(found), f"{text!r} is not found"
                assert len(set(found)) == len(found)


class Broken:
    """Stands before a part and raises at the calls that a seed chooses; everything else goes through."""

    def __init__(self, part: Any, chance: random.Random, share: float, error: Callable[[], BaseException]) -> None:
        self._part, self._chance, self._share, self._error = part, chance, share, error

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._part, name)
        if not callable(found):
            return found

        def call(*arguments: Any, **named: Any) -> Any:
            if self._chance.random() < self._share:
                raise self._error()
            return found(*arguments, **named)

        return call


ERRORS: tuple[Callable[[], BaseException], ...] = (
    lambda: StoreError("here", "is broken"),
    lambda: ModelError("is broken"),
    lambda: RuntimeError("a bug"),
    lambda: OSError("no space left"),
    MemoryError,
)


@pytest.mark.parametrize("port", ["store", "index", "embedder", "counter"])
@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error()).__name__)
@pytest.mark.parametrize("share", [1.0, 0.2])
def test_no_failure_of_a_part_leaves_a_hook(
    port: str, error: Callable[[], BaseException], share: float, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    chance = random.Random(f"{port} {share}")
    with engine_in(tmp_path) as engine:
        session = Session(engine, tmp_path).start()
        session.turn("The harbour is blue.")
        opened = engine._open()
        sound = opened.parts
        assert engine.flush(30)
        opened.parts = replace(sound, **{port: Broken(getattr(sound, port), chance, share, error)})
        with pytest.MonkeyPatch.context() as patch:
            if port == "counter":
                patch.setattr(wiring, "counter_for", lambda model, settings: opened.parts.counter)
            for number in range(12):
                sent = session.turn(f"Question {number} about the harbour", f"Answer {number}")
                assert sent is None or refusals(sent) == []
                assert isinstance(session.tool("vecctx_search", query="harbour"), dict)
                assert isinstance(session.tool("vecctx_expand", id=number), dict)
                engine.should_compress(10**6)
                engine.update_from_response({"prompt_tokens": 50})
                engine.get_status()
                engine.on_session_end("s1", copy.deepcopy(session.rows))
                engine.flush(0)
        opened.parts = sound
        engine.on_turn_complete(copy.deepcopy(session.rows))

        assert max(Counter(record.getMessage() for record in caplog.records).values(), default=0) <= 1
        assert len(caplog.records) <= 8
        assert engine.flush(30)
        assert sound.store.stats(sound.embedder.identity).messages == len(session.rows)


PROBE = """
import json, sys
from pathlib import Path
from tests.host import Session, as_bytes
from vecctx.engine import VecctxEngine
home, rows = Path(sys.argv[1]), json.loads(Path(sys.argv[2]).read_text())
session = Session(VecctxEngine(100_000), home, sys.argv[3])
session.rows = rows
session.start()
session.engine.on_turn_complete(rows)
assert session.engine.flush(120)
sent = session.asked("Which harbour did the pilot like, and what did it cost?")
session.use_tools("one file")
sys.stdout.buffer.write(as_bytes(sent) + b"\\n" + as_bytes(session.select()))
session.engine.close()
"""
SUBJECTS = ("pilot", "harbour", "valley", "bridge", "invoice", "garden", "server", "violin", "ferry", "lighthouse")


def talk(count: int) -> list[Row]:
    """A long talk in which many messages are nearly as close to the question as others."""
    chance = random.Random(5)
    rows = []
    for number in range(count):
        one, two, three = chance.sample(SUBJECTS, 3)
        rows.append(user(f"The {one} near the {two} costs {number % 7} coins, said the {three}."))
        rows.append(assistant(f"So the {three} likes the {one}. That is worth a note about the {two}."))
    return weird.with_uids(rows)


@pytest.mark.slow
def test_another_process_sends_the_same_bytes_whatever_its_hash_seed_and_threads(tmp_path: Path) -> None:
    """Each process starts from nothing, and embeds, indexes and chooses by itself, with the shipped model."""
    rows = tmp_path / "rows.json"
    rows.write_text(json.dumps(talk(120)), encoding="utf-8")
    outputs = []
    for number, (seed, threads) in enumerate([("0", "1"), ("1", "2"), ("2", "2")]):
        home = tmp_path / str(number)
        home.mkdir()
        (home / "config.yaml").write_text("context: {vecctx: {budget_tokens: 1500, deadline_ms: 0}}", encoding="utf-8")
        outputs.append(_probe(home, rows, seed, threads))
    again = _probe(tmp_path / "0", rows, "3", "2")

    assert outputs[0] == outputs[1] == outputs[2] == again
    assert b"<recalled>" in again


def _probe(home: Path, rows: Path, seed: str, threads: str) -> bytes:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": threads}
    command = [sys.executable, "-c", PROBE, str(home), str(rows), "s1"]
    return subprocess.run(command, capture_output=True, check=True, cwd=ROOT, env=environment).stdout


def test_logs_are_about_trouble_only(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "vecctx")
    with engine_in(tmp_path) as engine:
        session = Session(engine, tmp_path).start()
        for number in range(3):
            session.turn(f"Question {number} about the harbour")

    assert caplog.records == []


@pytest.mark.slow
def test_agents_that_talk_at_once_disturb_nobody(tmp_path: Path) -> None:
    """Each thread is an agent with a clone; some share a session, as a gateway and a background task do."""
    (tmp_path / "config.yaml").write_text("context: {vecctx: {budget_tokens: 600}}", encoding="utf-8")
    shared = VecctxEngine(100_000)
    shared.on_session_start("s0", hermes_home=str(tmp_path))
    troubles: list[BaseException] = []

    def talk_on(number: int) -> None:
        try:
            session = Session(shared.clone_for_agent(), tmp_path, f"s{number}").start()
            for turn in range(20):
                sent = session.asked(f"Turn {turn} of agent{number}: what did the harbour pilot of agent{number} say?")
                assert refusals(sent) == []
                assert not any(f"agent{other}:" in as_bytes(sent).decode() for other in range(8) if other != number)
                session.use_tools(f"a listing for agent{number}")
                assert extends(session.select() or [], sent)
                session.complete(f"The pilot of agent{number} said {turn}.")
                session.found(f"pilot {turn}")
            session.engine.close()
        except BaseException as trouble:
            troubles.append(trouble)
            raise

    threads = [threading.Thread(target=talk_on, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    parts = shared._open().parts

    assert troubles == []
    assert shared.flush(60)
    assert parts.store.stats(parts.embedder.identity).messages == 8 * 20 * 4
    assert parts.store.check() == ()
    shared.close()
