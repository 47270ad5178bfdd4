"""Requests are lined up with conversations, and transcripts with the store."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import weird
from tests.weird import Row, assistant, user
from vecctx.turns.align import Keyed, Split, durable_rows, past_rows, seam, split, unseen
from vecctx.values import Known

SYSTEM = {"role": "system", "content": "You are an agent."}
PREFILL = [user("example question"), assistant("example answer")]


def keyed(*texts: str, role: str = "user", uid: str | None = None) -> list[Keyed]:
    return [Keyed(role, text, uid and f"{uid}{number}") for number, text in enumerate(texts)]


def known(*texts: str, uid: str | None = None) -> list[Known]:
    return [Known(number, text, uid and f"{uid}{number}") for number, text in enumerate(texts)]


# split


def test_system_and_prefill_are_the_head() -> None:
    conversation = [user("old"), assistant("reply"), user("new")]

    found = split([SYSTEM, *PREFILL, *conversation], conversation, user("new"))

    assert found == Split(history_start=3, current_start=5)


def test_prefill_is_not_guessed_where_the_rows_do_not_line_up() -> None:
    conversation = [user("old"), assistant("reply"), user("new")]
    request = [SYSTEM, assistant("x"), assistant("y"), *conversation[1:]]

    found = split(request, conversation, user("new"))

    assert found == Split(history_start=1, current_start=4)


def test_nobody_asks_where_there_is_no_user_message() -> None:
    assert split([SYSTEM], None, None) is None
    assert split([SYSTEM, assistant()], [], None) is None
    assert split([], None, user()) is None


def test_without_conversation_and_incoming_the_last_user_message_is_the_current_one() -> None:
    assert split([SYSTEM, user("a"), assistant(), user("b"), assistant()], None, None) == Split(1, 3)


def test_text_that_a_hook_added_does_not_hide_the_incoming_message() -> None:
    request = [SYSTEM, user("a"), assistant(), user("what now?\n\n<memory-context>likes tea</memory-context>")]

    assert split(request, None, user("what now?")) == Split(1, 3)


def test_user_rows_behind_the_incoming_one_belong_to_its_turn() -> None:
    request = [SYSTEM, user("look at the log"), *weird.batch(1), user("[picture of the screen]")]

    assert split(request, None, user("look at the log")) == Split(1, 1)


def test_a_short_question_is_not_found_inside_a_longer_host_row() -> None:
    """The incoming "ok" was found in "look", in a row that the host had added behind it."""
    conversation = [user("old"), assistant(), user("ok"), *weird.batch(1), user("look: a note of the host")]

    assert split([SYSTEM, *conversation], conversation, user("ok")) == Split(1, 3)


def test_of_equal_questions_the_newest_is_the_current_one() -> None:
    conversation = [user("ok"), assistant("done"), user("ok")]

    assert split([SYSTEM, *conversation], conversation, user("ok")) == Split(1, 3)
    assert split([SYSTEM, *conversation], None, user("ok")) == Split(1, 3)


def test_an_incoming_picture_is_the_last_user_message() -> None:
    request = [SYSTEM, user("a"), assistant(), user([weird.images()[0]])]

    assert split(request, None, user([weird.images()[0]])) == Split(1, 3)
    assert split(request, None, user(None)) == Split(1, 3)


@given(weird.transcripts(), weird.transcripts(max_turns=2), st.booleans())
def test_a_split_never_leaves_the_request(rows: list[Row], other: list[Row], has_conversation: bool) -> None:
    request = [SYSTEM, *rows]
    incoming = other[0] if other else None

    found = split(request, other if has_conversation else None, incoming)

    if found is not None:
        assert 1 <= found.history_start <= found.current_start < len(request)
        assert request[found.current_start].get("role") == "user"


def test_durable_rows_are_the_hosts_own_where_they_line_up() -> None:
    conversation = [user("a"), assistant("b"), user("c")]
    request = [SYSTEM, user("a"), assistant("b"), user("c and what a hook added")]

    assert durable_rows(request, conversation, Split(1, 3)) is conversation
    assert list(durable_rows(request, conversation[1:], Split(1, 3))) == request[1:]
    assert list(durable_rows(request, None, Split(1, 3))) == request[1:]


def test_past_rows_are_all_before_the_current_turn_also_those_that_were_not_sent() -> None:
    conversation = [user("not sent"), user("a"), assistant("b"), user("c")]
    request = [SYSTEM, *conversation[1:]]

    assert list(past_rows(request, conversation, Split(1, 3))) == conversation[:3]
    assert list(past_rows(request, None, Split(1, 3))) == request[1:3]
    assert list(past_rows([SYSTEM, user("a"), *weird.batch(1)], [user("a")], Split(1, 1))) == []


# unseen


UNSEEN = {
    "a whole transcript": ("abcd", "abcdef", "ef"),
    "the same again": ("abcd", "abcd", ""),
    "a stale beginning": ("abcdef", "abc", ""),
    "a tail and new rows": ("abcdef", "efgh", "gh"),
    "the newest row and new rows": ("abcdef", "fgh", "gh"),
    "nothing known": ("", "abc", "abc"),
    "nothing handed over": ("abc", "", ""),
    "a repeated turn": ("ab", "abab", "ab"),
    "many repeated turns": ("abababab", "ababababab", "ab"),
    "one row twice": ("a", "aa", "a"),
    "a rewind": ("abcdef", "abxy", "xy"),
    "a rewind with the old answer": ("abcd", "abxd", "xd"),
    "a rewind with an old question": ("abok", "aboxok", "xok"),
    "another conversation": ("abcd", "wxyz", "wxyz"),
    "an unmarked note before a tail": ("abcdef", "ncdefg", "ng"),
    "the same note again": ("abcdefgn", "ncdefg", ""),
    "the same note again, and new rows": ("abcdefgn", "ncdefghi", "hi"),
    "interleaved branches": ("abxycdzw", "abcdef", "ef"),
}


@pytest.mark.parametrize(("stored", "handed", "new"), UNSEEN.values(), ids=UNSEEN.keys())
def test_unseen_rows_are_those_that_nobody_stored(stored: str, handed: str, new: str) -> None:
    found = unseen(known(*stored), keyed(*handed))

    assert "".join(handed[number] for number in found) == new


def test_uids_tell_equal_words_apart() -> None:
    stored = known("ok", "done", "ok", "done", uid="u")
    handed = [Keyed("user", "ok", "u2"), Keyed("assistant", "done", "u3"), Keyed("user", "ok", "u4")]

    assert unseen(stored, handed) == (2,)


def test_a_uid_decides_before_the_key() -> None:
    assert unseen(known("a", uid="u"), [Keyed("user", "a", "other0")]) == (0,)
    assert unseen(known("a", uid="u"), [Keyed("tool", "pruned", "u0")]) == ()


def test_a_users_edit_is_new_once_and_its_first_version_is_not() -> None:
    stored = [Known(1, "first words", "u0"), Known(2, "answer", "u1")]
    edit = Keyed("user", "other words", "u0")

    assert unseen(stored, [edit]) == (0,)
    both = [*stored, Known(3, "other words", "u0")]
    assert unseen(both, [edit]) == ()
    assert unseen(both, [Keyed("user", "first words", "u0")]) == ()


def test_rows_merged_by_the_host_are_new_only_if_one_of_them_was() -> None:
    stored = known("a", "b", uid="u")

    assert unseen(stored, [Keyed("user", "a\nb", "u0", ("u1",))]) == ()
    assert unseen(stored, [Keyed("user", "a\nb\nc", "u0", ("u1", "u9"))]) == (0,)


def test_a_row_that_was_stored_without_uid_is_found_by_its_content() -> None:
    assert unseen(known("a", "b"), keyed("a", "b", "c", uid="u")) == (2,)


@given(st.text("abc", max_size=20), st.text("abc", max_size=8))
def test_a_transcript_that_goes_on_from_the_store_is_new_behind_it(stored: str, more: str) -> None:
    found = unseen(known(*stored), keyed(*stored, *more))

    assert found == tuple(range(len(stored), len(stored) + len(more)))


# seam


SEAMS = {
    "at the end": ("abcd", "abcd", 4),
    "before new rows": ("abcd", "abcdef", 4),
    "in a tail": ("abcd", "xcdef", 3),
    "not together": ("abcd", "abce", None),
    "nothing known": ("", "abc", None),
    "twice in the transcript": ("cd", "abcdefcd", None),
    "twice in the store": ("cdabcd", "abcd", None),
    "one row repeated": ("aaaa", "aaaaa", None),
}


@pytest.mark.parametrize(("stored", "handed", "end"), SEAMS.values(), ids=SEAMS.keys())
def test_the_seam_is_where_the_newest_rows_stand_once(stored: str, handed: str, end: int | None) -> None:
    assert seam(known(*stored), keyed(*handed), 2) == end


def test_a_seam_by_uids_does_not_pass_over_an_edit() -> None:
    stored = known("q", "a", uid="u")

    assert seam(stored, [Keyed("user", "q", "u0"), Keyed("assistant", "pruned", "u1")], 2) == 2
    assert seam(stored, [Keyed("user", "other", "u0"), Keyed("assistant", "a", "u1")], 2) is None
