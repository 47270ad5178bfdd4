"""The whole message can be read back, without what is the host's own and without media."""

import json

from tests import weird
from tests.weird import assistant, call, calls, user
from vecctx.turns.payload import payload_of


def test_a_message_of_words_needs_no_payload() -> None:
    assert payload_of(user("hello")) == ""
    assert payload_of({**user("hello"), "message_uid": "u", "timestamp": 5, "_row_id": 3}) == ""


def test_calls_and_unknown_keys_are_kept_and_the_hosts_own_are_not() -> None:
    row = {**calls(call()), "vendor": {"a": [1, None]}, "message_uid": "u", "_private": 1, "finish_reason": "stop"}

    assert json.loads(payload_of(row)) == {**calls(call()), "vendor": {"a": [1, None]}}


def test_parts_are_kept_with_a_mark_for_media() -> None:
    row = user([{"type": "text", "text": "look"}, *weird.images()])

    parts = json.loads(payload_of(row))["content"]

    assert parts[0] == {"type": "text", "text": "look"}
    assert [part.get("type") for part in parts[1:]] == [image.get("type") for image in weird.images()]
    assert payload_of(row).count("[data]") == 5


def test_words_of_any_script_can_be_read_in_it() -> None:
    assert "昨晚" in payload_of(weird.result(content="昨晚"))


def test_words_under_a_data_key_are_kept() -> None:
    row = assistant(
        [{"type": "json", "data": "a plain sentence that is longer than sixty-four characters, with spaces"}]
    )

    assert json.loads(payload_of(row)) == row


def test_what_json_cannot_hold_is_written_as_text() -> None:
    assert json.loads(payload_of({"role": "tool", "content": {1}}))["content"] == "{1}"
