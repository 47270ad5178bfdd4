"""The read path: what goes along, what is quoted, what stays the same, and what is recorded of it."""

from dataclasses import replace
from typing import Any

import pytest

from tests.fakes.clock import FakeClock
from tests.host import SYSTEM, as_bytes, block_of, extends, refusals, said
from tests.parts import FakeRunner, WordCounter, make_parts, remember
from tests.weird import Row, assistant, batch, call, calls, result, user
from vecctx.errors import StoreUnavailableError
from vecctx.pack.ledger import Ledger
from vecctx.ports import Parts
from vecctx.selection import GROWN_BUDGET, SHOWN_CHARACTERS, Ask, Sent, select
from vecctx.values import Budget, Selection

BUCKET = "We named the storage bucket blue-harbour-42."
ASKS_BUCKET = "What is the name of the storage bucket?"
VALLEY = "The weather report mentions drizzle over the northern valley. " * 5


def talk_of_valleys(turns: int) -> list[Row]:
    return [
        row
        for number in range(turns)
        for row in (user(f"Valley {number}? {VALLEY}"), assistant(f"Valley {number} is green. {VALLEY}"))
    ]


HISTORY = [user(BUCKET), assistant("Noted."), *talk_of_valleys(12)]


def make_ask(
    history: list[Row],
    question: object = ASKS_BUCKET,
    *,
    behind: list[Row] | None = None,
    budget: int = 400,
    conversation_id: int = 1,
    **changes: Any,
) -> Ask:
    """A request for a question; `behind` are the rows that the turn has already."""
    rows = [*history, user(question), *(behind or [])]
    defaults: dict[str, Any] = {
        "request": [SYSTEM, *rows],
        "conversation": rows,
        "incoming": user(question),
        "conversation_id": conversation_id,
        "scope": (conversation_id,),
        "budget": Budget(budget, "budget_tokens"),
        "deadline_ms": 0,
        "previous": Ledger(),
    }
    return Ask(**(defaults | changes))


def sent_for(ask: Ask, parts: Parts) -> Sent:
    sent = select(ask, parts)
    assert sent is not None
    return sent


@pytest.fixture
def parts() -> Parts:
    """Parts in which the history is stored."""
    made = make_parts()
    remember(HISTORY, made)
    return made


# What goes along.


def test_nothing_is_selected_where_nobody_asks() -> None:
    parts = make_parts()
    remember([user("hi")], parts)

    assert (
        select(make_ask([], request=[SYSTEM, assistant("I begin.")], conversation=None, incoming=None), parts) is None
    )


def test_a_history_that_fits_goes_along_whole_and_unquoted(parts: Parts) -> None:
    sent = sent_for(make_ask(HISTORY, budget=5_000), parts)

    assert sent.messages == [SYSTEM, *HISTORY, user(ASKS_BUCKET)]
    assert sent.selection.left_out_rows == 0
    assert sent.selection.recalled == ()


def test_what_does_not_fit_is_recalled_before_the_question(parts: Parts) -> None:
    sent = sent_for(make_ask(HISTORY), parts)

    assert "blue-harbour-42" in block_of(sent.messages)
    assert block_of(sent.messages[-2:-1])
    assert sent.messages[0] == SYSTEM
    assert sent.messages[-1] == user(ASKS_BUCKET)
    assert 200 < sent.selection.used_tokens <= 400
    assert refusals(sent.messages) == []


def test_prefill_goes_along_before_everything_else(parts: Parts) -> None:
    prefill = [user("Say yes or no."), assistant("Yes.")]
    ask = make_ask(HISTORY)
    ask = replace(ask, request=[SYSTEM, *prefill, *ask.request[1:]])

    sent = sent_for(ask, parts)

    assert sent.messages[:3] == [SYSTEM, *prefill]
    assert sent.selection.system_tokens == sum(map(WordCounter().count_message, [SYSTEM, *prefill]))


def test_no_call_id_of_the_prefill_is_sent_twice() -> None:
    parts = make_parts()
    history = [user("Read it."), *batch(1), assistant("Read.")]
    remember(history, parts)
    prefill = [user("For example:"), *batch(1), assistant("So.")]
    ask = make_ask(history, budget=2_000)

    sent = sent_for(replace(ask, request=[SYSTEM, *prefill, *ask.request[1:]]), parts)

    assert refusals(sent.messages) == []


def test_a_system_row_that_the_conversation_begins_with_is_no_part_of_the_head() -> None:
    """Other programs leave such rows; providers take one system message."""
    parts = make_parts()
    history = [{"role": "system", "content": "An old instruction."}, *HISTORY]
    remember(history, parts)

    assert refusals(sent_for(make_ask(history), parts).messages) == []


def test_where_system_and_turn_alone_pass_the_budget_just_these_go(parts: Parts) -> None:
    behind = batch(3)
    sent = sent_for(make_ask(HISTORY, behind=behind, budget=20), parts)

    assert sent.messages == [SYSTEM, user(ASKS_BUCKET), *behind]
    assert any("over the budget" in note for note in sent.selection.notes)


def test_kept_rows_are_copies_with_every_key() -> None:
    parts = make_parts()
    history = [user("hi", cache_control={"type": "ephemeral"}, vendor=[1]), assistant("hello", reasoning_details=[{}])]
    remember(history, parts)
    ask = make_ask(history, budget=500)

    sent = sent_for(ask, parts)

    assert sent.messages[1:3] == history
    assert all(one is not other for one, other in zip(sent.messages, ask.request, strict=True))


def test_a_recent_turn_that_no_provider_takes_is_quoted() -> None:
    parts = make_parts()
    broken = [user("Delete the staging area now."), calls(call("z")), assistant("I was interrupted.")]
    remember([*HISTORY, *broken], parts)

    sent = sent_for(make_ask([*HISTORY, *broken], "Go on."), parts)

    assert "Delete the staging area now." in block_of(sent.messages)
    assert "I was interrupted." in block_of(sent.messages)
    assert refusals(sent.messages) == []
    assert [mark.reason for mark in sent.selection.recalled] == ["recent", "recent"]


def test_a_newest_turn_that_is_too_long_is_quoted_by_its_ends() -> None:
    parts = make_parts()
    log = "a line of the log " * 400
    history = [user(f"Explain this: {log}"), assistant(f"{log} Shall I restart the server?")]
    remember(history, parts)

    sent = sent_for(make_ask(history, "yes, do it", budget=600), parts)

    assert "Explain this:" in block_of(sent.messages)
    assert "Shall I restart the server?" in block_of(sent.messages)
    assert sent.selection.used_tokens <= 600


def test_what_is_quoted_of_a_newest_turn_is_not_quoted_again_where_it_was_found_too() -> None:
    parts = make_parts()
    history = [user(BUCKET), assistant("a line of the log " * 400)]
    remember(history, parts)

    sent = sent_for(make_ask(history, budget=600), parts)

    assert block_of(sent.messages).count(BUCKET) == 1
    assert [mark.reason for mark in sent.selection.recalled if mark.role == "user"] == ["recent"]


def test_a_call_id_that_came_back_is_sent_once() -> None:
    parts = make_parts()
    turns = [row for text in ("one", "two") for row in (user(text), *batch(2), assistant(f"{text} done"))]
    remember(turns, parts)

    sent = sent_for(make_ask(turns, "three", behind=batch(2), budget=2_000), parts)

    assert refusals(sent.messages) == []
    assert "one done" in said(sent.messages)


def test_no_block_stands_before_a_message_that_a_host_could_not_merge_it_with(parts: Parts) -> None:
    ask = make_ask(HISTORY)
    odd = {"role": "user", "content": {"type": "text", "text": ASKS_BUCKET}}

    sent = sent_for(replace(ask, request=[*ask.request[:-1], odd], incoming=odd), parts)

    assert block_of(sent.messages[:-1]) == ""
    assert sent.messages[-1] == odd


# What is recalled.


@pytest.mark.parametrize("text", ["ok", "thanks, continue", "继续", "hi", "?", ""])
def test_small_talk_recalls_nothing(parts: Parts, text: str) -> None:
    sent = sent_for(make_ask(HISTORY, text), parts)

    assert block_of(sent.messages) == ""
    assert "nothing is asked" in sent.selection.notes


def test_a_question_about_something_else_recalls_nothing(parts: Parts) -> None:
    sent = sent_for(make_ask(HISTORY, "Explain quantum chromodynamics, zebra qqxzvwmpl."), parts)

    assert block_of(sent.messages) == ""
    assert "nothing stored is about this" in sent.selection.notes


def test_what_stands_in_the_recent_turns_is_not_quoted_again() -> None:
    parts = make_parts()
    history = [*HISTORY, user(BUCKET), assistant("Noted again.")]
    remember(history, parts)

    sent = sent_for(make_ask(history), parts)

    assert user(BUCKET) in sent.messages
    assert "blue-harbour" not in block_of(sent.messages)


def test_the_question_itself_is_not_quoted_where_a_hook_added_to_it() -> None:
    """A compaction in the middle of a turn stores its question; the request's own row has a hook's text behind it."""
    parts = make_parts()
    question = "Where does the storage bucket blue-harbour live?"
    remember([*HISTORY, user(question)], parts)
    ask = make_ask(HISTORY, question)
    hooked = user(f"{question}\n\n[a hook's note about today]")

    sent = sent_for(replace(ask, request=[*ask.request[:-1], hooked]), parts)

    assert question not in block_of(sent.messages)
    assert BUCKET in block_of(sent.messages)


def test_a_text_that_was_said_twice_is_quoted_once() -> None:
    parts = make_parts()
    history = [user(BUCKET), assistant("Noted."), user(BUCKET), assistant("You said so."), *talk_of_valleys(12)]
    remember(history, parts)

    sent = sent_for(make_ask(history), parts)

    assert block_of(sent.messages).count("blue-harbour-42") == 1


def test_recall_stays_where_it_may_look(parts: Parts) -> None:
    other = remember([user("Hello."), assistant("Hi.")], parts, "other")
    history = [user("Hello."), assistant("Hi.")]

    narrow = sent_for(make_ask(history, conversation_id=other), parts)
    wide = sent_for(make_ask(history, f"Once more: {ASKS_BUCKET}", conversation_id=other, scope=(1, other)), parts)

    assert block_of(narrow.messages) == ""
    assert "blue-harbour-42" in block_of(wide.messages)


def test_a_rendered_block_that_is_longer_than_estimated_gives_way() -> None:
    class Dear(WordCounter):
        """Counts a block at twice what its messages were counted."""

        def count_message(self, row: Any) -> int:
            return super().count_message(row) * (2 if block_of([row]) else 1)

    parts = make_parts(counter=Dear())
    facts = [user(f"The storage bucket number {n} is {'very ' * 9}blue.") for n in range(30)]
    history = [row for fact in facts for row in (fact, assistant("Noted."))]
    remember(history, parts)

    sent = sent_for(make_ask(history, "Which storage bucket is blue?", budget=300), parts)

    assert block_of(sent.messages)
    assert sum(map(Dear().count_message, sent.messages)) <= 300


# What stays the same.


def test_the_turns_next_request_only_adds_to_its_first(parts: Parts) -> None:
    first = sent_for(make_ask(HISTORY), parts)
    behind = [calls(call("c1")), result("c1")]
    second = sent_for(make_ask(HISTORY, behind=behind), parts)

    assert "held" in second.selection.notes
    assert as_bytes(second.messages) == as_bytes([*first.messages, *behind])
    assert second.selection.recalled == first.selection.recalled


def test_what_is_stored_meanwhile_does_not_change_the_turn(parts: Parts) -> None:
    first = sent_for(make_ask(HISTORY), parts)
    remember([user("The storage bucket was renamed to red-harbour.")], parts, "s1")

    assert sent_for(make_ask(HISTORY), parts).messages == first.messages


def test_a_turn_that_outgrows_the_budget_is_cut_once_and_then_stable(parts: Parts) -> None:
    first = sent_for(make_ask(HISTORY), parts)
    behind: list[Row] = []
    cuts, before = [], first
    for number in range(6):
        behind += [calls(call(f"c{number}")), result(f"c{number}", "some words of output, ten of them in this line")]
        sent = sent_for(make_ask(HISTORY, behind=list(behind)), parts)
        if not extends(sent.messages, before.messages):
            cuts.append(number)
            assert "cut" in sent.selection.notes
        before = sent

    assert len(cuts) == 1
    assert "held" in before.selection.notes
    assert before.selection.used_tokens <= 400


def test_a_larger_budget_is_chosen_for_anew_and_a_slightly_larger_one_is_not(parts: Parts) -> None:
    first = sent_for(make_ask(HISTORY), parts)
    slightly = sent_for(make_ask(HISTORY, budget=int(400 * GROWN_BUDGET) - 1), parts)
    larger = sent_for(make_ask(HISTORY, budget=5_000), parts)

    assert slightly.messages == first.messages
    assert larger.messages == [SYSTEM, *HISTORY, user(ASKS_BUCKET)]


def test_a_smaller_budget_is_kept_too(parts: Parts) -> None:
    sent_for(make_ask(HISTORY), parts)

    assert sent_for(make_ask(HISTORY, budget=200), parts).selection.used_tokens <= 200


def test_a_history_that_changed_is_chosen_for_anew(parts: Parts) -> None:
    sent_for(make_ask(HISTORY), parts)
    changed = [*HISTORY[:-1], assistant("Valley 11 is blue.")]

    sent = sent_for(make_ask(changed), parts)

    assert "Valley 11 is blue." in said(sent.messages)
    assert "held" not in sent.selection.notes


def test_the_same_question_later_is_chosen_for_anew() -> None:
    """Nothing of an earlier turn with the same words, behind the same answer, is taken for this one's."""
    parts = make_parts()
    long = "I do not know. " * 200  # no turn fits: the two requests keep the same rows, none
    history = [user("Hello."), assistant(long)]
    remember(history, parts)
    first = sent_for(make_ask(history), parts)
    history += [user(ASKS_BUCKET), assistant(long), user(BUCKET), assistant(long)]
    remember(history, parts)

    later = sent_for(make_ask(history), parts)

    assert "blue-harbour-42" not in said(first.messages)
    assert "blue-harbour-42" in block_of(later.messages)


# When time is short.


def test_a_late_model_leaves_recall_by_words() -> None:
    runner = FakeRunner(is_late=True)
    parts = make_parts(runner=runner)
    remember(HISTORY, parts)

    sent = sent_for(make_ask(HISTORY, deadline_ms=1500), parts)

    assert "blue-harbour-42" in block_of(sent.messages)
    assert runner.timeout_ms == 1500
    assert any(note.startswith("words only") for note in sent.selection.notes)


def test_the_model_may_take_what_is_left_of_the_deadline() -> None:
    class Passing(FakeClock):
        def monotonic_ms(self) -> float:
            self.advance(0.1)
            return super().monotonic_ms()

    runner = FakeRunner()
    parts = make_parts(runner=runner, clock=Passing())
    remember(HISTORY, parts)

    sent_for(make_ask(HISTORY, deadline_ms=1500), parts)

    assert runner.timeout_ms == pytest.approx(1400, abs=1)


def test_without_a_deadline_the_model_has_all_the_time() -> None:
    runner = FakeRunner()
    parts = make_parts(runner=runner)
    remember(HISTORY, parts)

    sent_for(make_ask(HISTORY, deadline_ms=0), parts)

    assert runner.timeout_ms == float("inf")


# The record.


def test_a_disk_that_is_full_costs_the_record_and_not_the_recall(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was stored could be read, and nothing of it was recalled, since the record could not be written."""
    parts = make_parts()
    remember(HISTORY, parts)
    whole = sent_for(make_ask(HISTORY), parts)

    def fail(selection: Selection) -> int:
        raise StoreUnavailableError("store", "the disk is full")

    monkeypatch.setattr(parts.store, "record_selection", fail)
    parts.store._selections.clear()  # type: ignore[attr-defined]  # so that nothing is held from before
    sent = sent_for(make_ask(HISTORY), parts)

    assert sent.messages == whole.messages
    assert sent.selection.selection_id is None
    assert any("not recorded" in note for note in sent.selection.notes)


def test_the_record_tells_where_every_token_went(parts: Parts) -> None:
    sent = sent_for(make_ask(HISTORY, behind=batch(1)), parts)
    record, count = sent.selection, WordCounter().count_message

    assert record.conversation_id == 1
    assert record.query == ASKS_BUCKET
    assert record.budget == Budget(400, "budget_tokens")
    assert record.used_tokens == sum(map(count, sent.messages))
    assert record.system_tokens == count(SYSTEM)
    assert record.current_tokens == sum(map(count, sent.messages[-3:]))
    block_tokens = count(user(block_of(sent.messages)))
    kept_tokens = sum(mark.tokens for mark in record.kept)
    assert record.used_tokens == record.system_tokens + record.current_tokens + kept_tokens + block_tokens
    assert len(record.kept) + record.left_out_rows == len(HISTORY)
    assert all(mark.reason and len(mark.excerpt) <= SHOWN_CHARACTERS for mark in (*record.kept, *record.recalled))
    assert record.created_at == FakeClock().now()
    assert parts.store.selection() == record


def test_the_record_holds_no_secret_and_the_request_is_as_it_was(parts: Parts) -> None:
    secret = "sk-ant-api03-abcdefghijklmnop123456"
    said, asked = f"{'a word ' * 20}{secret}", f"Is {secret} still the key to the storage bucket?"
    ask = make_ask([*HISTORY, user(said), assistant("Noted.")], asked, budget=800)

    sent = sent_for(ask, parts)
    plain = sent_for(replace(ask, redacts=False), parts)

    assert user(said) in sent.messages
    assert user(asked) in sent.messages
    assert "sk-ant" not in repr(sent.selection)
    assert "[redacted]" in sent.selection.query
    assert secret in plain.selection.query


def test_the_record_names_what_was_recalled_in_the_order_of_the_block() -> None:
    parts = make_parts()
    facts = [row for n in range(6) for row in (user(f"The storage bucket {n} is colour{n}."), assistant("Noted."))]
    history = [*facts, *talk_of_valleys(12)]
    remember(history, parts)

    record = (sent := sent_for(make_ask(history, "Which colours have the storage buckets?"), parts)).selection

    block = block_of(sent.messages)
    places = [block.index(mark.excerpt) for mark in record.recalled if "bucket" in mark.excerpt]
    ids = [mark.message_id for mark in record.recalled]
    assert len(places) >= 4
    assert places == sorted(places)
    assert ids == sorted(ids, key=lambda number: number or 0)
    assert all(mark.score is not None and mark.tokens > 0 for mark in record.recalled)


def test_the_record_names_what_lost_and_to_what(parts: Parts) -> None:
    record = sent_for(
        make_ask(HISTORY, f"The weather report of the northern valley and {ASKS_BUCKET}"), parts
    ).selection

    assert record.dropped
    assert all("no room" in mark.reason for mark in record.dropped)
    scores = [mark.score for mark in record.dropped]
    assert len(scores) == len([score for score in scores if score is not None])


def test_the_record_tells_how_much_the_providers_cache_has_seen(parts: Parts) -> None:
    first = sent_for(make_ask(HISTORY), parts)
    behind = [calls(call("c1")), result("c1")]

    second = sent_for(make_ask(HISTORY, behind=behind, previous=first.entry), parts)

    assert first.selection.reused_tokens == 0
    assert second.selection.reused_tokens == first.selection.used_tokens


def test_two_requests_of_the_same_turn_are_two_records(parts: Parts) -> None:
    numbers = [sent_for(make_ask(HISTORY), parts).selection.selection_id for _ in range(2)]

    stored = [parts.store.selection(number) for number in numbers]
    assert numbers[0] != numbers[1]
    assert all(isinstance(record, Selection) for record in stored)
