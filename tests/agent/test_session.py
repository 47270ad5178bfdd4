from agent.messages import estimate_tokens, uid_source, user_row
from agent.session import Session
from tests.agent.support import chat

SYSTEM = {"role": "system", "content": "be kind"}


def make_session() -> Session:
    return Session("s1", uid_source(1), lambda: 5.0, [SYSTEM, user_row("prefill")])


def test_stored_rows_have_a_uid_and_a_time_and_request_rows_have_neither() -> None:
    session = make_session()

    row = session.append(user_row("a"), display_kind="notice")

    assert (len(row["message_uid"]), row["timestamp"], row["display_kind"]) == (32, 5.0, "notice")
    assert session.request() == [SYSTEM, user_row("prefill"), user_row("a")]


def test_a_row_that_has_a_uid_keeps_it() -> None:
    session = make_session()
    first = session.append(user_row("a"))

    session.replace([first, user_row("summary")])

    assert session.rows[0] == first
    assert session.rows[1]["message_uid"] not in {first["message_uid"], None}


def test_a_request_shares_nothing_with_the_session() -> None:
    session = make_session()
    session.append(user_row([{"type": "text", "text": "a"}]))

    request = session.request()
    request[0]["content"] = "edited"
    request[2]["content"][0]["text"] = "edited"

    assert session.request() == [SYSTEM, user_row("prefill"), user_row([{"type": "text", "text": "a"}])]


def test_without_usage_the_whole_history_counts() -> None:
    session = make_session()
    session.replace(chat(5))

    assert session.pressure_tokens() == estimate_tokens([SYSTEM, user_row("prefill"), *chat(5)])


def test_with_usage_only_what_is_new_is_estimated() -> None:
    session = make_session()
    session.replace(chat(5))
    session.anchor(100)
    session.append(user_row("abcd"))

    assert session.pressure_tokens() == 105


def test_another_history_voids_the_usage() -> None:
    session = make_session()
    session.anchor(100_000)

    session.replace(chat(1))

    assert session.pressure_tokens() < 1000


def test_turn_ids_begin_with_the_session_and_differ() -> None:
    session = make_session()

    ids = [session.next_turn_id() for _ in range(3)]

    assert len(set(ids)) == 3
    assert all(turn_id.startswith("s1:") for turn_id in ids)
