"""The bridge: every hook and attribute that hosts use, and what each owes them."""

import copy
import gc
import json
import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.embedder import FakeEmbedder
from tests.host import SYSTEM, WINDOW_TOKENS, Session, block_of, extends, refusals, said
from tests.weird import Row, assistant, batch, user
from vecctx import wiring
from vecctx.engine import VecctxEngine
from vecctx.errors import ModelError
from vecctx.settings import Settings

BUCKET = "We named the storage bucket blue-harbour-42."
ASKS_BUCKET = "What is the name of the storage bucket?"
FILLER = " ".join(["The weather report for the northern valley mentions drizzle and a mild breeze."] * 40)


@pytest.fixture(autouse=True)
def embedder(monkeypatch: pytest.MonkeyPatch) -> FakeEmbedder:
    """Every engine of a test embeds without a model."""
    fake = FakeEmbedder()
    monkeypatch.setattr(wiring, "embedder_for", lambda settings: fake)
    return fake


@pytest.fixture
def make_engine() -> Iterator[Callable[[], VecctxEngine]]:
    made: list[VecctxEngine] = []

    def make() -> VecctxEngine:
        engine = VecctxEngine()
        engine.update_model(model="test-model", context_length=WINDOW_TOKENS, base_url="", api_key="", provider="")
        made.append(engine)
        return engine

    yield make
    for engine in made:
        engine.close()


@pytest.fixture
def engine(make_engine: Callable[[], VecctxEngine]) -> VecctxEngine:
    return make_engine()


@pytest.fixture
def session(engine: VecctxEngine, tmp_path: Path) -> Session:
    configure(tmp_path, budget_tokens=6_000)
    return Session(engine, tmp_path).start()


def configure(home: Path, **settings: Any) -> None:
    home.mkdir(exist_ok=True, parents=True)
    (home / "config.yaml").write_text(json.dumps({"context": {"vecctx": settings}}), encoding="utf-8")


def fill(session: Session, turns: int = 12) -> None:
    """So much talk of other things that what was said before is out of the recent turns."""
    for number in range(turns):
        session.turn(f"Tell me about valley {number}. {FILLER}", f"Valley {number} is green. {FILLER}")


def stats(session: Session) -> tuple[int, int, int]:
    """Conversations, messages and selections in the store."""
    parts = session.engine._open().parts
    found = parts.store.stats(parts.embedder.identity)
    return found.conversations, found.messages, found.selections


# What hosts read and set.


@pytest.mark.parametrize(
    ("attribute", "expected"),
    [
        ("name", "vecctx"),
        ("context_length", WINDOW_TOKENS),
        ("threshold_percent", 0.85),
        ("threshold_tokens", int(0.85 * WINDOW_TOKENS)),
        ("protect_first_n", 3),
        ("protect_last_n", 6),
        ("compression_count", 0),
        ("last_prompt_tokens", 0),
        ("last_completion_tokens", 0),
        ("last_total_tokens", 0),
        ("last_real_prompt_tokens", 0),
        ("summary_target_ratio", 0.2),
        ("_session_id", ""),
        ("model", "test-model"),
    ],
)
def test_what_hosts_read_is_there_before_a_session_starts(
    engine: VecctxEngine, attribute: str, expected: object
) -> None:
    assert getattr(engine, attribute) == expected


@pytest.mark.parametrize(
    "attribute",
    [
        "_micro_compact_enabled",
        "_context_probed",
        "_last_compress_aborted",
        "pending_compression_operation",
        "invented",
    ],
)
def test_no_attribute_is_invented(engine: VecctxEngine, attribute: str) -> None:
    assert not hasattr(engine, attribute)


def test_hosts_may_set_attributes_of_their_own(engine: VecctxEngine) -> None:
    engine._compression_attempt_serial_lock = threading.Lock()  # type: ignore[attr-defined]
    engine._last_compression_made_progress = True  # type: ignore[attr-defined]

    assert engine.__dict__["_last_compression_made_progress"] is True


def test_construction_has_no_effect(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))

    engine = VecctxEngine()
    engine.get_tool_schemas()
    engine.get_status()
    engine.close()

    assert list(tmp_path.iterdir()) == []


def test_hooks_outside_a_session_break_nothing(
    engine: VecctxEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HERMES_HOME", str(tmp_path))

    engine.on_session_end("", [])
    engine.on_session_reset()
    engine.on_turn_complete([])
    assert engine.select_context([], conversation_messages=[], incoming_message=None, budget_tokens=0) is None
    assert engine.select_context([SYSTEM]) is None
    assert "error" in json.loads(engine.handle_tool_call("unknown", {}))
    assert json.loads(engine.handle_tool_call("vecctx_search", {"query": "bucket"})) == {"results": []}
    assert engine.get_status()["last_selection_id"] is None


@pytest.mark.parametrize(
    "usage", [{}, {"prompt_tokens": None}, {"prompt_tokens": "many"}, {"prompt_tokens": float("nan")}]
)
def test_any_usage_report_ends_the_wait_for_one(engine: VecctxEngine, usage: dict[str, Any]) -> None:
    engine.awaiting_real_usage_after_compression = True
    engine.last_prompt_tokens = -1

    engine.update_from_response(usage)

    assert engine.awaiting_real_usage_after_compression is False
    assert engine.last_prompt_tokens == -1


def test_usage_is_remembered(engine: VecctxEngine) -> None:
    engine.update_from_response({"prompt_tokens": 120, "completion_tokens": 30, "cache_read_tokens": 100})

    assert (engine.last_prompt_tokens, engine.last_real_prompt_tokens) == (120, 120)
    assert (engine.last_completion_tokens, engine.last_total_tokens) == (30, 150)


def test_a_reset_forgets_the_tokens_of_the_session(session: Session) -> None:
    session.turn(BUCKET)
    session.engine.update_from_response({"prompt_tokens": 900, "completion_tokens": 1})
    session.engine.on_session_reset()

    assert session.engine.last_prompt_tokens == 0
    assert session.engine.get_status()["overhead_tokens"] == 0


def test_the_status_is_json_and_names_what_is_spent(session: Session) -> None:
    session.turn(BUCKET)
    status = json.loads(json.dumps(session.engine.get_status()))

    assert status["engine"] == "vecctx"
    assert status["problem"] is None
    assert status["budget_tokens"] == 6_000
    assert status["budget_limited_by"] == "budget_tokens"
    assert 0 < status["last_selection_tokens"] < 200
    assert status["last_selection_id"] == 1


def test_schemas_are_flat_and_each_tool_answers_json(session: Session) -> None:
    session.turn(BUCKET)
    for schema in session.engine.get_tool_schemas():
        assert schema.keys() == {"name", "description", "parameters"}
        answer = json.loads(session.engine.handle_tool_call(schema["name"], {}, messages=[]))
        assert answer.keys() == {"error"}


@pytest.mark.parametrize("number", [0, -1, 77, 2**63, 2**80])
def test_an_id_that_no_message_has_is_no_trouble_of_the_store(session: Session, number: int) -> None:
    session.turn(BUCKET)

    assert "there is no message" in session.tool("vecctx_expand", id=number)["error"]


# Selecting.


def test_what_left_the_window_is_recalled(session: Session) -> None:
    session.turn(BUCKET)
    fill(session)
    assert session.engine.flush(30)

    sent = session.asked(ASKS_BUCKET)

    assert "blue-harbour-42" in block_of(sent)
    assert sent[0] == SYSTEM
    assert sent[-1]["content"] == ASKS_BUCKET
    assert refusals(sent) == []


def test_a_turn_that_was_never_told_is_caught_up_once(session: Session) -> None:
    session.ask(BUCKET)
    session.add(assistant("Noted."))  # on_turn_complete never comes
    session.turn("And the region is Frankfurt.")
    session.engine.on_session_end(session.session_id, copy.deepcopy(session.rows))

    assert stats(session)[1] == 4
    assert BUCKET in session.found("bucket name")


def test_the_last_turn_is_caught_up_at_the_end_of_the_session(session: Session) -> None:
    session.ask(BUCKET)
    session.add(assistant("Noted."))
    session.engine.on_session_end(session.session_id, copy.deepcopy(session.rows))

    assert stats(session)[1] == 2


def test_the_open_turn_is_not_stored(session: Session) -> None:
    session.turn("First things first.")
    session.ask(BUCKET)
    session.use_tools("a listing")
    session.select()

    assert stats(session)[1] == 2


def test_an_empty_request_or_one_without_a_question_is_left_as_it_was(session: Session) -> None:
    assert session.engine.select_context([]) is None
    assert session.engine.select_context([SYSTEM, assistant("I begin.")]) is None


# Compression.


def test_a_long_history_never_asks_for_compression_where_selection_works(session: Session) -> None:
    for row in (row for number in range(60) for row in (user(f"{number} {FILLER}"), assistant(f"{number} {FILLER}"))):
        session.add(row)
    assert session.engine.should_compress(154_000) is False
    sent = session.ask("What now?")

    assert sent is not None
    assert session.engine.should_compress(154_000) is False
    assert session.engine.should_compress_info(154_000) == (False, None)


@pytest.mark.parametrize("size", [None, -1, 0, 10**12, "many", 1.5])
def test_should_compress_takes_any_number(engine: VecctxEngine, size: Any) -> None:
    assert engine.should_compress(size) is False


def test_without_a_window_nothing_is_compressed(tmp_path: Path) -> None:
    engine = VecctxEngine()
    session = Session(engine, tmp_path).start()
    session.ask(FILLER * 50)

    assert engine.should_compress(10**9) is False
    engine.close()


def outgrow(session: Session) -> None:
    """A single turn that passes the window by itself."""
    session.ask("Read the logs.")
    for _ in range(12):
        session.use_tools(FILLER * 20)
    session.select()


def test_a_turn_that_outgrew_the_window_asks_for_compression(session: Session) -> None:
    outgrow(session)

    assert session.engine.should_compress(1) is True


def test_the_turn_behind_one_that_outgrew_the_window_is_not_compressed_for_it(session: Session) -> None:
    """The host asks before the next selection; what is over is left out of that by itself."""
    outgrow(session)
    session.complete()

    assert session.engine.should_compress(154_000) is False


def test_compress_shrinks_a_turn_larger_than_the_window_and_stays_valid(session: Session) -> None:
    outgrow(session)
    before = copy.deepcopy(session.rows)

    shorter = session.engine.compress(session.rows, current_tokens=150_000, focus_topic="logs", force=True)

    assert session.rows == before
    assert len(said(shorter)) < 0.6 * len(said(before))
    assert refusals([SYSTEM, *shorter]) == []
    assert session.engine.compression_count == 1
    assert session.engine.should_compress(154_000) is False


def test_compress_gives_the_same_list_where_nothing_can_be_done(session: Session) -> None:
    rows = [user("hi"), assistant("hello")]

    assert session.engine.compress(rows, current_tokens=20) is rows
    assert session.engine.compression_count == 0


def test_compress_gives_the_same_list_where_the_summarizer_fails(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def compress(self, messages: object) -> list[Row]:
            raise RuntimeError("no summary today")

    monkeypatch.setattr(session.engine, "_summarizer", Broken)
    rows = [user("hi"), assistant("hello")]

    assert session.engine.compress(rows) is rows


def test_compress_hands_over_what_the_summarizer_takes(session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    got: dict[str, Any] = {}

    class Summarizer:
        def compress(self, messages: list[Row], *, focus_topic: str | None = None, force: bool = False) -> list[Row]:
            got.update(focus_topic=focus_topic, force=force)
            return messages[-1:]

    monkeypatch.setattr(session.engine, "_summarizer", Summarizer)
    session.engine.compress([user("a"), user("b")], 10, "buckets", True, "memory")

    assert got == {"focus_topic": "buckets", "force": True}


def test_compress_writes_nothing_durable(session: Session) -> None:
    session.turn("Hello.")
    outgrow(session)
    before = stats(session)

    session.engine.compress(copy.deepcopy(session.rows), current_tokens=150_000)

    assert stats(session) == before


@pytest.mark.parametrize("new_id", ["s1", "s2"], ids=["in place", "new id"])
def test_what_a_compaction_dropped_can_be_recalled(session: Session, new_id: str) -> None:
    session.ask(BUCKET)
    session.add(assistant("Noted."))
    for number in range(12):
        session.add(user(f"{number} {FILLER}"))
        session.add(assistant(f"{number} {FILLER}"))
    old = copy.deepcopy(session.rows)
    session.engine.compress(copy.deepcopy(old), current_tokens=90_000, force=True)
    session.engine.on_session_end("s1", old)
    session.engine.on_session_start(new_id, boundary_reason="compression", old_session_id="s1", platform="cli")
    session.rows = [user("[CONTEXT COMPACTION — REFERENCE ONLY] They talked of weather.", _compressed_summary=True)]
    session.session_id = new_id
    assert session.engine.flush(30)

    sent = session.asked(ASKS_BUCKET)

    assert "blue-harbour-42" in block_of(sent)
    assert any("blue-harbour-42" in text for text in session.found("storage bucket"))
    assert stats(session)[0] == 1


@pytest.mark.parametrize(
    "details",
    [{"boundary_reason": "compression", "old_session_id": "s1"}, {}],
    ids=["behind a compaction", "resumed later"],
)
def test_a_tool_loop_behind_a_summary_of_everything_keeps_its_bytes(session: Session, details: dict[str, Any]) -> None:
    """A transcript of nothing but a summary was taken for a stranger's from its second request on."""
    session.turn(BUCKET)
    fill(session, 3)
    session.engine.on_session_end("s1", copy.deepcopy(session.rows))
    session.start(**details)
    session.rows = [user("[CONTEXT COMPACTION — REFERENCE ONLY] They talked of weather.", _compressed_summary=True)]
    session.engine.flush(30)
    first = session.asked(ASKS_BUCKET)
    session.use_tools("one file")

    second = session.select()

    assert second is not None
    assert "blue-harbour-42" in block_of(first)
    assert extends(second, first)
    assert stats(session)[0] == 1


# Sessions.


def test_a_new_session_does_not_know_the_old_one(session: Session) -> None:
    session.turn(BUCKET)
    other = Session(session.engine, session.home, "s2").start()

    assert block_of(other.asked(ASKS_BUCKET)) == ""
    assert other.found("storage bucket") == []


def test_a_start_that_names_another_reason_than_compression_joins_nothing(session: Session) -> None:
    session.turn(BUCKET)
    other = Session(session.engine, session.home, "s2").start(old_session_id="s1", boundary_reason="new_session")

    assert block_of(other.asked(ASKS_BUCKET)) == ""


def test_a_compaction_that_does_not_name_the_user_keeps_him(engine: VecctxEngine, tmp_path: Path) -> None:
    session = Session(engine, tmp_path).start(user_id="ann")
    session.turn(BUCKET)
    engine.on_session_start("s2", boundary_reason="compression", old_session_id="s1")
    session.session_id, session.rows = "s2", []

    session.ask(ASKS_BUCKET)

    assert stats(session)[0] == 1
    assert BUCKET in session.found("storage bucket")


def test_users_with_a_session_of_the_same_name_do_not_meet(
    make_engine: Callable[[], VecctxEngine], tmp_path: Path
) -> None:
    first = Session(make_engine(), tmp_path, "main").start(user_id="ann")
    first.turn(BUCKET)
    second = Session(make_engine(), tmp_path, "main").start(user_id="bob")

    assert block_of(second.asked(ASKS_BUCKET)) == ""
    assert second.found("storage bucket") == []


@pytest.mark.parametrize("has_uids", [True, False], ids=["uids", "no uids"])
def test_sessions_that_take_turns_on_one_engine_never_meet(
    engine: VecctxEngine, tmp_path: Path, *, has_uids: bool
) -> None:
    one = Session(engine, tmp_path, "one", has_uids=has_uids)
    two = Session(engine, tmp_path, "two", has_uids=has_uids)
    for number in range(3):
        for session, colour in ((one, "crimson"), (two, "emerald")):
            session.start()
            session.turn("hi", "hello")
            session.turn(f"Secret colour {number} is {colour}.", "ok")
            session.turn("continue", "ok")

    for session, own, other in ((one, "crimson", "emerald"), (two, "emerald", "crimson")):
        session.start()
        sent = session.asked("Which secret colour is it?")
        assert other not in said(sent)
        assert own in said(sent)
        assert own in " ".join(session.found("secret colour"))
        assert other not in " ".join(session.found("secret colour"))


@pytest.mark.parametrize("is_compacted", [False, True])
def test_a_cached_engine_that_gets_another_sessions_transcript_keeps_them_apart(
    engine: VecctxEngine, tmp_path: Path, *, is_compacted: bool
) -> None:
    """A gateway may use an engine for another session and tell it nothing, also behind a compaction."""
    one = Session(engine, tmp_path, "one").start()
    if is_compacted:
        one.start(boundary_reason="compression", old_session_id="one")
    two = Session(engine, tmp_path, "two")
    for session, colour in ((one, "crimson"), (two, "emerald"), (one, "scarlet"), (two, "olive")):
        session.turn(f"The secret colour is {colour}.", "ok")

    for session, others in ((one, ("emerald", "olive")), (two, ("crimson", "scarlet"))):
        sent = session.asked("Which secret colour is it?")
        assert not any(colour in said(sent) for colour in others)
        assert not any(colour in " ".join(session.found("secret colour")) for colour in others)
        session.complete()
    assert stats(one)[1] == 12


def test_two_strangers_that_begin_with_the_same_word_are_two(engine: VecctxEngine, tmp_path: Path) -> None:
    Session(engine, tmp_path, "one").start().turn("hi", "hello")
    two, three = Session(engine, tmp_path, "two"), Session(engine, tmp_path, "three")
    for session, colour in ((two, "emerald"), (three, "crimson")):
        session.turn("hi", "hello")
        session.turn(f"The secret colour is {colour}.", "ok")

    assert "emerald" not in said(three.asked("Which secret colour is it?"))
    assert "emerald" not in " ".join(three.found("secret colour"))
    three.complete()
    assert "crimson" not in said(two.asked("Which secret colour is it?"))


def test_the_end_of_another_session_is_stored_apart(engine: VecctxEngine, tmp_path: Path) -> None:
    one = Session(engine, tmp_path, "one").start()
    one.turn("The secret colour is crimson.")
    other = [user("The secret colour is emerald.", message_uid="x1"), assistant("ok", message_uid="x2")]

    engine.on_session_end("two", other)

    assert stats(one)[:2] == (2, 4)
    assert "emerald" not in " ".join(one.found("secret colour"))
    assert "crimson" in said(one.ask("Which secret colour is it?"))


def test_the_end_of_another_session_is_not_stored_as_this_users(engine: VecctxEngine, tmp_path: Path) -> None:
    configure(tmp_path, scope="user")
    one = Session(engine, tmp_path, "one").start(user_id="ann")
    one.turn("The secret colour is crimson.")

    engine.on_session_end("two", [user("The secret colour is emerald."), assistant("ok")])

    assert "emerald" not in said(one.ask("Which secret colour is it?"))
    assert "emerald" not in " ".join(one.found("secret colour"))


def test_a_session_that_nobody_named_shares_nothing_with_the_named_ones_user(
    engine: VecctxEngine, tmp_path: Path
) -> None:
    """With recall over all of a user's talks, a cached engine may get another user's transcript without a word."""
    configure(tmp_path, scope="user")
    one = Session(engine, tmp_path, "one").start(user_id="ann")
    two = Session(engine, tmp_path, "two")
    for session, colour in ((one, "crimson"), (two, "emerald"), (one, "scarlet"), (two, "olive")):
        session.turn(f"The secret colour is {colour}.", "ok")

    for session, others in ((two, ("crimson", "scarlet")), (one, ("emerald", "olive"))):
        sent = session.asked("Which secret colour is it?")
        assert not any(colour in said(sent) for colour in others)
        assert not any(colour in " ".join(session.found("secret colour")) for colour in others)
        session.complete()


def test_a_stranger_without_a_transcript_recalls_nothing(session: Session) -> None:
    session.turn(BUCKET)
    stranger = Session(session.engine, session.home, "stranger")

    assert block_of(stranger.asked(ASKS_BUCKET)) == ""
    assert stranger.found("storage bucket") == []


def test_a_reset_begins_a_new_conversation(session: Session) -> None:
    session.turn(BUCKET)
    session.engine.on_session_reset()
    session.engine.bind_session_state(object(), "s2")
    fresh = Session(session.engine, session.home, "s2")

    assert session.engine._session_id == "s2"
    assert block_of(fresh.asked(ASKS_BUCKET)) == ""


def test_a_restarted_session_knows_what_it_said(session: Session, make_engine: Callable[[], VecctxEngine]) -> None:
    session.turn(BUCKET)
    fill(session, 3)
    session.engine.flush(30)
    session.engine = make_engine()
    session.start()
    session.rows = session.rows[-4:]

    assert "blue-harbour-42" in block_of(session.asked(ASKS_BUCKET))


def test_a_repeated_message_behind_a_restart_is_a_second_one(
    session: Session, make_engine: Callable[[], VecctxEngine]
) -> None:
    session.turn("ok", "done")
    session.engine = make_engine()
    session.start()
    session.turn("ok", "done")

    assert stats(session)[1] == 4


@pytest.mark.parametrize("is_known", [True, False], ids=["of a stored talk", "of a talk nobody stored"])
def test_a_review_fork_leaves_nothing_behind(
    session: Session, make_engine: Callable[[], VecctxEngine], *, is_known: bool
) -> None:
    if is_known:
        session.turn(BUCKET)
        fill(session, 2)
    else:
        session.add(user(BUCKET))
        session.add(assistant("Noted."))
    before = stats(session)
    fork = Session(make_engine(), session.home, "random")
    fork.engine.bind_session_state(session_db=None, session_id="random")
    fork.start()
    fork.engine.bind_session_state(session_db=None, session_id="")
    fork.rows = copy.deepcopy(session.rows)

    fork.ask("Review the conversation above and note what is worth it.")
    fork.complete("Nothing.")
    fork.engine.on_session_end("random", copy.deepcopy(fork.rows))
    fork.engine.close()

    assert stats(session)[:2] == before[:2]
    assert "Nothing." not in session.found("review conversation worth")


def test_a_fork_stores_no_other_sessions_end(session: Session, make_engine: Callable[[], VecctxEngine]) -> None:
    session.turn(BUCKET)
    fork = Session(make_engine(), session.home, "random").start()
    fork.engine.bind_session_state(None, "")

    fork.engine.on_session_end("s1", [*copy.deepcopy(session.rows), user("Review it."), assistant("Nothing.")])

    assert stats(session)[:2] == (1, 2)


def test_a_fork_knows_what_its_parent_said(session: Session, make_engine: Callable[[], VecctxEngine]) -> None:
    session.turn(BUCKET)
    fill(session)
    session.engine.flush(30)
    fork = Session(make_engine(), session.home, "random").start()
    fork.engine.bind_session_state(None, "")
    fork.rows = copy.deepcopy(session.rows)

    assert "blue-harbour-42" in block_of(fork.asked(ASKS_BUCKET))


# Copies.


COPIES: list[Callable[[VecctxEngine], VecctxEngine]] = [VecctxEngine.clone_for_agent, copy.deepcopy]


@pytest.mark.parametrize("copied", COPIES, ids=["clone", "deepcopy"])
def test_a_copy_shares_the_store_and_has_its_own_session(
    session: Session, copied: Callable[[VecctxEngine], VecctxEngine]
) -> None:
    session.turn(BUCKET)
    session.engine.update_from_response({"prompt_tokens": 500})
    session.engine._compression_attempt_serial_lock = threading.Lock()  # type: ignore[attr-defined]

    clone = copied(session.engine)

    assert clone is not session.engine
    assert (clone._session_id, clone.last_prompt_tokens, clone.compression_count) == ("", 0, 0)
    assert (clone.threshold_tokens, clone.threshold_percent) == (85_000, 0.85)
    other = Session(clone, session.home, "s2").start()
    assert clone._open() is session.engine._open()
    assert block_of(other.asked(ASKS_BUCKET)) == ""
    assert session.engine._session_id == "s1"
    clone.close()
    assert BUCKET in session.found("storage bucket")


def test_a_copy_keeps_the_threshold_policy_for_the_next_model(engine: VecctxEngine) -> None:
    """A model's own threshold must not become every model's in the copy."""
    engine.model_thresholds = {"small": 0.5}
    engine.update_model(model="small", context_length=WINDOW_TOKENS)

    clone = engine.clone_for_agent()
    clone.update_model(model="large", context_length=WINDOW_TOKENS)

    assert clone.threshold_percent == 0.85


def test_a_failed_model_switch_can_be_rolled_back(session: Session) -> None:
    session.turn(BUCKET)
    before = dict(vars(session.engine))
    session.engine.update_model(model="other", context_length=200_000)
    vars(session.engine).clear()
    vars(session.engine).update(before)

    session.turn("And the region is Frankfurt.")

    assert session.engine.context_length == WINDOW_TOKENS
    assert session.engine.model == "test-model"
    assert stats(session)[1] == 4


def test_a_model_switch_of_the_same_window_changes_no_byte(session: Session) -> None:
    session.turn(BUCKET)
    fill(session, 3)
    first = session.asked(ASKS_BUCKET)
    session.engine.update_model(model="another-model", context_length=WINDOW_TOKENS)

    assert session.select() == first


def test_a_subagent_is_left_alone_and_leaves_nothing_behind(
    session: Session, make_engine: Callable[[], VecctxEngine]
) -> None:
    """A delegated goal was stored as a conversation of its own."""
    session.turn(BUCKET)
    before = stats(session)
    child = Session(make_engine(), session.home, "child")
    child.engine.on_session_start("child", hermes_home=str(session.home), platform="subagent")

    assert child.ask(ASKS_BUCKET) is None
    child.complete()
    assert stats(session) == before
    assert child.engine.should_compress(WINDOW_TOKENS)


class HostRecords:
    """The host's session database: who talks in a session."""

    def __init__(self, **users: str | None) -> None:
        self.users = users

    def get_session(self, session_id: str) -> dict[str, Any] | None:
        return {"source": "telegram", "user_id": self.users[session_id]} if session_id in self.users else None


def test_who_talks_is_read_from_the_hosts_record(make_engine: Callable[[], VecctxEngine], tmp_path: Path) -> None:
    """Hosts tell no user id at the start: with scope `user` everybody was one user."""
    configure(tmp_path, budget_tokens=6_000, scope="user")
    records = HostRecords(ann1="ann", ann2="ann", bob1="bob")
    found = {}
    for name in records.users:
        talk = Session(make_engine(), tmp_path, name)
        talk.engine.bind_session_state(session_db=records, session_id=name)
        talk.start()
        if name == "ann1":
            talk.turn(BUCKET)
        found[name] = block_of(talk.asked(ASKS_BUCKET))

    assert BUCKET in found["ann2"]
    assert found["bob1"] == ""


def test_where_nobody_is_named_scope_user_is_this_conversation(
    make_engine: Callable[[], VecctxEngine], tmp_path: Path
) -> None:
    configure(tmp_path, budget_tokens=6_000, scope="user")
    Session(make_engine(), tmp_path, "one").start().turn(BUCKET)

    assert block_of(Session(make_engine(), tmp_path, "two").start().asked(ASKS_BUCKET)) == ""


def test_a_host_record_that_cannot_be_read_costs_nothing(session: Session) -> None:
    session.engine.bind_session_state(session_db=object(), session_id=session.session_id)
    session.turn(BUCKET)

    assert stats(session)[1] == 2


# What usage teaches.


def test_usage_teaches_what_the_provider_counts_and_we_do_not_see(session: Session) -> None:
    configure(session.home, budget_tokens=1.0)
    session.start()
    session.engine.update_model(model="test-model", context_length=32_000)
    before = session.engine.get_status()["budget_tokens"]
    session.ask("Hello there.")
    used = session.engine.get_status()["last_selection_tokens"]

    session.engine.update_from_response({"prompt_tokens": used + 9_000})

    status = session.engine.get_status()
    assert status["overhead_tokens"] == 9_000
    assert before - 9_000 <= status["budget_tokens"] < before


def test_one_odd_report_takes_half_of_the_window_at_most(session: Session) -> None:
    session.ask("Hello there.")
    session.engine.update_from_response({"prompt_tokens": 10**9})

    assert session.engine.get_status()["overhead_tokens"] == WINDOW_TOKENS // 2
    assert session.engine.get_status()["budget_tokens"] > 1


def test_a_report_on_a_request_that_was_not_ours_teaches_nothing(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.ask("Hello there.")
    monkeypatch.setattr("vecctx.engine.select", _raises(RuntimeError("no")))
    assert session.select() is None

    session.engine.update_from_response({"prompt_tokens": 90_000})

    assert session.engine.get_status()["overhead_tokens"] == 0


# When something is wrong.


def _raises(error: Exception) -> Callable[..., Any]:
    def function(*_: Any, **__: Any) -> Any:
        raise error

    return function


def test_an_unknown_setting_makes_the_engine_stand_aside_until_it_is_mended(
    engine: VecctxEngine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    configure(tmp_path, budget_tokns=5)
    session = Session(engine, tmp_path).start()

    assert session.turn(BUCKET) is None
    assert "did you mean 'budget_tokens'" in str(engine.problem)
    assert "budget_tokens" in session.tool("vecctx_search", query="bucket")["error"]
    assert "budget_tokens" in session.tool("vecctx_expand", id=1)["error"]
    assert engine.get_status()["problem"] == engine.problem
    assert not engine.flush(1)
    assert len([record for record in caplog.records if record.levelno >= logging.WARNING]) == 1

    configure(tmp_path, budget_tokens=5_000)
    session.start()

    assert session.ask(ASKS_BUCKET) is not None
    assert engine.problem is None
    assert BUCKET in session.found("storage bucket")


def test_a_store_that_cannot_be_opened_makes_the_engine_stand_aside(
    engine: VecctxEngine, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "vecctx").write_text("a file where the folder should be", encoding="utf-8")
    session = Session(engine, tmp_path).start()

    assert session.turn(BUCKET) is None
    assert session.turn(BUCKET) is None
    engine.on_session_end("s1", copy.deepcopy(session.rows))
    assert session.tool("vecctx_search", query="bucket")["error"] == engine.problem
    assert engine.problem
    assert len(caplog.records) == 1


def test_a_missing_model_leaves_recall_by_words(
    session: Session, monkeypatch: pytest.MonkeyPatch, embedder: FakeEmbedder
) -> None:
    monkeypatch.setattr(embedder, "embed_texts", _raises(ModelError("no model here; install one")))
    monkeypatch.setattr(embedder, "embed_query", _raises(ModelError("no model here; install one")))
    session.turn(BUCKET)
    fill(session)

    sent = session.asked(ASKS_BUCKET)

    assert "blue-harbour-42" in block_of(sent)
    assert any("no model here" in note for note in session.engine.get_status()["last_notes"])
    assert session.engine.flush(30) is False


def test_a_model_that_is_not_here_leaves_recall_by_words(
    engine: VecctxEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.undo()
    configure(tmp_path, budget_tokens=6_000, model="/no/such/model")
    session = Session(engine, tmp_path).start()
    session.turn(BUCKET)
    fill(session)

    sent = session.asked(ASKS_BUCKET)

    assert engine.problem is None
    assert "blue-harbour-42" in block_of(sent)
    assert BUCKET in session.found("storage bucket")
    assert engine.flush(30) is False
    told = [record for record in caplog.records if "/no/such/model" in record.getMessage()]
    assert len(told) == 1


def test_a_model_that_hangs_costs_the_deadline_and_the_next_call_is_normal(
    engine: VecctxEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embedder: FakeEmbedder
) -> None:
    configure(tmp_path, deadline_ms=200, budget_tokens=6_000)
    session = Session(engine, tmp_path).start()
    session.turn(BUCKET)
    fill(session)
    assert engine.flush(30)
    goes_on = threading.Event()
    hangs = True

    def embed_query(text: str) -> Any:
        if hangs:
            goes_on.wait(30)
        return embedder.embed_texts([text])[0]

    monkeypatch.setattr(embedder, "embed_query", embed_query)
    late = session.asked(ASKS_BUCKET)
    notes = engine.get_status()["last_notes"]
    session.complete()
    hangs = False
    goes_on.set()
    normal = session.asked(f"Once more: {ASKS_BUCKET}")

    assert "blue-harbour-42" in block_of(late)
    assert "blue-harbour-42" in block_of(normal)
    assert any("words only" in note for note in notes)
    assert not any("words only" in note for note in engine.get_status()["last_notes"])


def test_a_trouble_that_goes_on_is_told_once(
    session: Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("vecctx.engine.select", _raises(RuntimeError("a bug")))

    for _ in range(5):
        assert session.turn(BUCKET) is None

    assert len([record for record in caplog.records if "select failed" in record.message]) == 1


# Life.


def test_closing_twice_is_closing_once(session: Session, make_engine: Callable[[], VecctxEngine]) -> None:
    other = Session(make_engine(), session.home, "s2").start()
    session.turn(BUCKET)
    session.engine.close()
    session.engine.close()

    other.turn("The other one still stores.")
    assert "The other one still stores." in other.found("stores")
    other.engine.close()
    assert wiring._open == {}


def test_an_engine_that_nobody_holds_gives_its_store_back(tmp_path: Path) -> None:
    session = Session(VecctxEngine(WINDOW_TOKENS), tmp_path).start()
    session.turn(BUCKET)

    del session
    gc.collect()

    assert wiring._open == {}


def test_an_engine_that_was_closed_opens_again_when_it_is_used(session: Session) -> None:
    session.turn(BUCKET)
    session.engine.close()

    assert "blue-harbour" in said(session.ask(ASKS_BUCKET))


def test_flush_says_no_where_time_runs_out(
    session: Session, monkeypatch: pytest.MonkeyPatch, embedder: FakeEmbedder
) -> None:
    goes_on = threading.Event()
    embed = embedder.embed_texts

    def embed_texts(texts: Any) -> Any:
        goes_on.wait(30)
        return embed(texts)

    monkeypatch.setattr(embedder, "embed_texts", embed_texts)
    session.turn(BUCKET)

    assert session.engine.flush(0.05) is False
    goes_on.set()
    assert session.engine.flush(30) is True
    assert session.engine.flush(None) is True


def test_flush_says_no_where_the_last_turn_could_not_be_stored(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    session.turn("This one is stored.")
    with monkeypatch.context() as broken:
        broken.setattr("vecctx.engine.ingest.ingest", _raises(OSError("disk full")))
        session.turn(BUCKET)

        assert session.engine.flush(30) is False

    session.turn("And this brings both.")
    assert session.engine.flush(30) is True


OTHER_PROCESS = """
import json, sys
from pathlib import Path
from tests.fakes.embedder import FakeEmbedder
from tests.host import Session
from vecctx import wiring
from vecctx.engine import VecctxEngine
wiring.embedder_for = lambda settings: FakeEmbedder()
session = Session(VecctxEngine(100_000), Path(sys.argv[1]), sys.argv[2]).start()
if sys.argv[3:]:
    session.engine.flush(30)
parts = session.engine._open().parts
conversation_id = parts.store.conversation_of("", sys.argv[2])
session.engine._session.conversation_id = conversation_id
pending = parts.store.pending_count(parts.embedder.identity)
print(json.dumps({"found": session.found("storage bucket"), "pending": pending}))
session.engine.close()
"""


def in_another_process(session: Session, *flags: str) -> dict[str, Any]:
    command = [sys.executable, "-c", OTHER_PROCESS, str(session.home), session.session_id, *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
    answer: dict[str, Any] = json.loads(done.stdout)
    return answer


def test_a_turn_is_embedded_without_being_asked_for(session: Session) -> None:
    opened = session.engine._open()
    assert opened.worker.wait(30)

    session.turn(BUCKET)

    assert opened.worker.wait(30)
    assert opened.parts.store.pending_count(opened.parts.embedder.identity) == 0


def test_what_was_flushed_is_found_by_another_process(session: Session) -> None:
    session.turn(BUCKET)
    assert session.engine.flush(30)

    answer = in_another_process(session)

    assert answer["pending"] == 0
    assert BUCKET in answer["found"]


def test_another_process_embeds_what_was_left(
    session: Session, monkeypatch: pytest.MonkeyPatch, embedder: FakeEmbedder
) -> None:
    monkeypatch.setattr(embedder, "embed_texts", _raises(ModelError("not now")))
    session.turn(BUCKET)
    assert not session.engine.flush(30)
    session.engine.close()

    assert in_another_process(session, "flush")["pending"] == 0


def test_the_settings_are_read_again_at_each_start(session: Session) -> None:
    assert session.engine._settings == Settings(budget_tokens=6_000)
    configure(session.home, budget_tokens=4_000, store="elsewhere")

    session.start()
    session.turn(BUCKET)

    assert session.engine.get_status()["budget_tokens"] == 4_000
    assert (session.home / "elsewhere").is_dir()


def test_batches_of_the_current_turn_are_sent_whole(session: Session) -> None:
    session.ask("Read seven files.")
    for row in batch(7):
        session.add(row)

    sent = session.select()

    assert sent is not None
    assert len(sent) == 10
    assert refusals(sent) == []
