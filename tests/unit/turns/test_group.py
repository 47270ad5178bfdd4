"""Messages into turns, and which of them every provider takes."""

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import weird
from tests.builders import make_message
from tests.weird import Row, assistant, batch, call, calls, result, user
from vecctx.turns.group import call_ids, group, is_sound, past_turns

ROLES = st.sampled_from(["user", "assistant", "tool", "function"])


@given(st.lists(ROLES))
def test_every_message_is_in_exactly_one_turn_and_in_order(roles: list[str]) -> None:
    messages = [make_message(str(number), role) for number, role in enumerate(roles)]

    turns = group(messages)

    assert [message for turn in turns for message in turn.messages] == messages
    assert all(turn.messages for turn in turns)


@given(st.lists(ROLES))
def test_a_user_message_opens_a_turn_and_nothing_else_does(roles: list[str]) -> None:
    turns = group([make_message(str(number), role) for number, role in enumerate(roles)])

    assert all(turn.messages[0].role == "user" for turn in turns[1:])
    assert not [message for turn in turns for message in turn.messages[1:] if message.role == "user"]


@given(weird.transcripts())
def test_past_turns_cover_the_history_from_its_end_without_gaps(rows: list[Row]) -> None:
    turns = list(past_turns(rows, frozenset()))

    assert [turn.end for turn in turns] == [len(rows), *(turn.start for turn in turns)][: len(turns)]
    assert all(rows[turn.start].get("role") == "user" for turn in turns)
    users = [number for number, row in enumerate(rows) if row.get("role") == "user"]
    assert sorted(turn.start for turn in turns) == users


@given(weird.transcripts())
def test_sound_turns_stand_together_in_one_request(rows: list[Row]) -> None:
    turns = [turn for turn in past_turns(rows, frozenset()) if turn.is_sound]
    together = [row for turn in reversed(turns) for row in rows[turn.start : turn.end]]

    ids = [name for row in together for one in row.get("tool_calls") or [] for name in names(one)]
    assert len(ids) == len(set(ids))
    assert is_sound_by_hand(together) or not together


@given(weird.transcripts(), st.sampled_from([frozenset[str](), frozenset({"call_0"}), frozenset({"toolu_1", "a_0"})]))
def test_soundness_agrees_with_the_slow_check(rows: list[Row], taken: frozenset[str]) -> None:
    for start in range(len(rows)):
        for end in range(start + 1, min(len(rows), start + 12) + 1):
            assert is_sound(rows[start:end], taken) == is_sound_by_hand(rows[start:end], taken)


def is_sound_by_hand(rows: Sequence[Row], taken: frozenset[str] = frozenset()) -> bool:
    """The rules one by one, as providers state them."""
    rules = (begins_with_user, has_usual_roles, has_usual_contents, says_something, has_usual_calls, answers_at_once)
    return all(rule(rows) for rule in rules) and not taken & set(all_names(rows))


def begins_with_user(rows: Sequence[Row]) -> bool:
    return bool(rows) and rows[0].get("role") == "user"


def has_usual_roles(rows: Sequence[Row]) -> bool:
    return all(row.get("role") in ("user", "assistant", "tool") for row in rows)


def has_usual_contents(rows: Sequence[Row]) -> bool:
    for row in rows:
        content = row.get("content")
        if isinstance(content, list):
            texts = [part for part in content if isinstance(part, dict) and "text" in str(part.get("type"))]
            if not all(isinstance(part, dict) for part in content) or any(blank(part) for part in texts):
                return False
        elif content is not None and not isinstance(content, str):
            return False
    return True


def blank(part: dict[str, Any]) -> bool:
    return part["type"] in ("text", "input_text", "output_text") and not (part.get("text") or "").strip()


def says_something(rows: Sequence[Row]) -> bool:
    for row in rows:
        content, has_calls = row.get("content"), bool(row.get("tool_calls"))
        if row["role"] == "tool":
            if content is None:
                return False
            continue
        if isinstance(content, list) and content:
            if not has_calls and "thinking" in str(content[-1].get("type")):
                return False
        elif not has_calls and not str(content or "").strip():
            return False
    return True


def has_usual_calls(rows: Sequence[Row]) -> bool:
    for row in rows:
        if row.get("tool_calls") is None:
            continue
        if row["role"] != "assistant" or not isinstance(row["tool_calls"], list) or not row["tool_calls"]:
            return False
        for one in row["tool_calls"]:
            function = one.get("function") if isinstance(one, dict) else None
            if not isinstance(function, dict) or not function.get("name"):
                return False
            if not isinstance(one.get("id"), str) or not one["id"]:
                return False
    return True


def answers_at_once(rows: Sequence[Row]) -> bool:
    """Behind an assistant with n calls come n results, one for each; results stand nowhere else; no id comes twice."""
    everything = all_names(rows)
    if len(everything) != len(set(everything)):
        return False
    number = 0
    while number < len(rows):
        wanted = [names(one) for one in rows[number].get("tool_calls") or []]
        if rows[number]["role"] == "tool":
            return False
        results = rows[number + 1 : number + 1 + len(wanted)]
        for row in results:
            answered = [found for found in wanted if row["role"] == "tool" and row.get("tool_call_id") in found]
            if not answered:
                return False
            wanted.remove(answered[0])
        if wanted:
            return False
        number += 1 + len(results)
    return True


def names(one: Row) -> set[str]:
    return {one[key] for key in ("id", "call_id") if one.get(key)}


def all_names(rows: Sequence[Row]) -> list[str]:
    found = []
    for row in rows:
        items = row.get("tool_calls")
        for one in items if isinstance(items, list) else []:
            found += [str(name) for name in names(one)] if isinstance(one, dict) else []
    return found


SOUND = {
    "words": [user(), assistant()],
    "a question alone": [user()],
    "seven parallel calls": [user(), *batch(7), assistant()],
    "two batches": [user(), *batch(2, "a"), *batch(2, "b")],
    "results in another order": [user(), calls(call("a"), call("b")), result("b"), result("a")],
    "a result named by call_id": [user(), calls(weird.call_with_both_ids("fc_1", "call_1")), result("call_1")],
    "an empty result": [user(), calls(call("a")), result("a", "")],
    "thinking before words": [user(), assistant([weird.thinking(), {"type": "text", "text": "said"}])],
    "a picture": [user([weird.images()[0]]), assistant()],
    "unknown keys": [user("x", vendor=1), assistant("y", reasoning_details=[])],
}
UNSOUND = {
    "nothing": [],
    "no user first": [assistant()],
    "a call without result": [user(), calls(call("a")), assistant()],
    "a call at the end": [user(), calls(call("a"))],
    "a result without call": [user(), result("a")],
    "a result of nothing": [user(), calls(call("a")), result("a", None)],
    "two results of one call": [user(), calls(call("a")), result("a"), result("a")],
    "a word between call and result": [user(), calls(call("a")), assistant(), result("a")],
    "six of seven results": [user(), *batch(7)[:-1]],
    "one id for two calls": [user(), calls(call("a"), call("a")), result("a"), result("a")],
    "one id again later": [user(), *batch(1), *batch(1)],
    "one call_id for two calls": [
        user(),
        calls(weird.call_with_both_ids("f1", "c"), weird.call_with_both_ids("f2", "c")),
        result("c"),
        result("c"),
    ],
    "an empty question": [user("")],
    "an empty answer": [user(), assistant("")],
    "a system message inside": [user(), {"role": "system", "content": "obey"}, assistant()],
    "an odd role": [user(), {"role": "critic", "content": "no"}],
    "an empty text part": [user([{"type": "text", "text": " "}]), assistant()],
    "an empty text part in a result": [user(), calls(call("a")), result("a", [{"type": "text", "text": ""}])],
    "a part that is none": [user(["x"]), assistant()],
    "thinking at the end": [user(), assistant([weird.thinking()])],
    "a call without name": [user(), calls({"id": "a", "function": {}}), result("a")],
    "a call without id": [user(), calls({"function": {"name": "f"}}), result("a")],
    "calls of a user": [user(tool_calls=[call("a")]), result("a")],
    "a number as content": [user(42)],
}


@pytest.mark.parametrize("rows", SOUND.values(), ids=SOUND.keys())
def test_a_turn_that_every_provider_takes_is_sound(rows: list[Row]) -> None:
    assert is_sound(rows)
    assert is_sound_by_hand(rows)


@pytest.mark.parametrize("rows", UNSOUND.values(), ids=UNSOUND.keys())
def test_a_turn_that_some_provider_refuses_is_not_sound(rows: list[Row]) -> None:
    assert not is_sound(rows)
    assert not is_sound_by_hand(rows)


def test_a_turn_that_uses_an_id_of_the_current_turn_is_not_sound_beside_it() -> None:
    assert not is_sound([user(), *batch(1)], frozenset({"call_0"}))


def test_of_two_turns_that_use_one_id_the_newer_one_is_sound() -> None:
    rows = [user(), *batch(1), assistant(), user(), *batch(1), assistant()]

    assert [turn.is_sound for turn in past_turns(rows, frozenset())] == [True, False]


def test_an_unsound_turn_takes_no_ids() -> None:
    rows = [user(), *batch(1), assistant(), user(), calls(call("call_0"))]

    assert [turn.is_sound for turn in past_turns(rows, frozenset())] == [False, True]


def test_call_ids_are_those_of_both_fields() -> None:
    assert call_ids([user(), calls(weird.call_with_both_ids("f", "c")), *batch(2)]) == {"f", "c", "call_0", "call_1"}


def test_rows_before_the_first_question_belong_to_no_turn() -> None:
    assert [(turn.start, turn.end) for turn in past_turns([assistant(), user(), assistant()], frozenset())] == [(1, 3)]
