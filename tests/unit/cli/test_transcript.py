import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecctx.cli.transcript import ROLES, read_transcript
from vecctx.errors import TranscriptError

USER = {"role": "user", "content": "hello"}
ASSISTANT = {"role": "assistant", "content": "hi"}
CALL = {"role": "assistant", "content": None, "tool_calls": [{"id": "1", "function": {"name": "look"}}]}


def written(folder: Path, text: str) -> Path:
    path = folder / "chat.json"
    path.write_text(text, encoding="utf-8")
    return path


def refusal(path: Path, session_id: str | None = None) -> str:
    with pytest.raises(TranscriptError) as caught:
        read_transcript(path, session_id)
    return str(caught.value).removeprefix(str(path))


@pytest.mark.parametrize(
    "text",
    [
        json.dumps([USER, ASSISTANT, CALL]),
        json.dumps([USER, ASSISTANT, CALL], indent=2),
        json.dumps({"model": "m", "messages": [USER, ASSISTANT, CALL]}, indent=2),
        "\n".join(map(json.dumps, [USER, ASSISTANT, CALL])) + "\n\n",
        "\ufeff" + json.dumps([USER, ASSISTANT, CALL]),
        json.dumps({"id": "a", "messages": [USER, ASSISTANT, CALL]}) + "\n",
        json.dumps([{"id": "a", "messages": [USER, ASSISTANT, CALL]}]),
    ],
    ids=["list", "indented list", "object", "one a line", "byte order mark", "one session a line", "list of sessions"],
)
def test_every_usual_shape_gives_the_messages(tmp_path: Path, text: str) -> None:
    assert read_transcript(written(tmp_path, text)).messages == (USER, ASSISTANT, CALL)


def test_a_single_message_is_a_transcript(tmp_path: Path) -> None:
    assert read_transcript(written(tmp_path, json.dumps(USER))).messages == (USER,)


def test_keys_that_nobody_knows_stay(tmp_path: Path) -> None:
    row = {**USER, "timestamp": 1.5, "message_uid": "u", "mood": "good"}

    assert read_transcript(written(tmp_path, json.dumps([row]))).messages == (row,)


def test_messages_that_a_hermes_user_took_back_are_left_out_and_compacted_ones_stay(tmp_path: Path) -> None:
    undone = {**USER, "active": 0, "compacted": 0}
    compacted = {**ASSISTANT, "active": 0, "compacted": 1}
    live = {**USER, "active": 1, "compacted": 0}
    path = written(tmp_path, json.dumps({"id": "s", "messages": [undone, compacted, live]}))

    transcript = read_transcript(path)

    assert transcript.messages == (compacted, live)
    assert transcript.session_id == "s"


def test_of_several_sessions_the_named_one_is_read(tmp_path: Path) -> None:
    sessions = [{"id": "a", "messages": [USER]}, {"session_id": "b", "messages": [ASSISTANT]}]
    path = written(tmp_path, "\n".join(map(json.dumps, sessions)))

    assert read_transcript(path, "b").messages == (ASSISTANT,)
    assert refusal(path) == ": holds 2 sessions; choose one with --session: a, b"
    assert refusal(path, "c") == ": has no session 'c'; choose one with --session: a, b"


def test_a_session_that_is_alone_can_be_named_wrongly(tmp_path: Path) -> None:
    path = written(tmp_path, json.dumps({"id": "a", "messages": [USER]}))

    assert refusal(path, "c") == ": has no session 'c'; choose one with --session: a"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", ": is empty"),
        (" \n ", ": is empty"),
        ("[]", ": there is no message in it"),
        ('{"messages": []}', ": there is no message in it"),
        ("hello", ", line 1: is no complete JSON"),
        ('{"role": "us', ", line 1: is no complete JSON (Unterminated string starting at column 10); repair or remove"),
        ('[{"role": "user", "content": "x"}', ", line 1: is no complete JSON"),
        ('[\n{"role": "user",\n "content": }]', ", line 3: is no complete JSON"),
        ('{"role": "user", "content": "x"}\n\n{"role": "user", "con', ", line 3: is no complete JSON"),
        ('{"messages": {"role": "user"}}', ": `messages` is an object; expected a list of messages"),
        ('{"messages": null}', ": `messages` is nothing; expected a list of messages"),
        ('{"id": "a"}', ": line 1 has no role; expected one of system, "),
        ('["hello"]', ": message 1 is a text; expected a message"),
        ('[{"role": "wizard", "content": "x"}]', ": message 1 has the role 'wizard', which nobody knows"),
        ('[{"role": ["user"], "content": "x"}]', ": message 1 has the role ['user'], which nobody knows"),
        ('[{"role": "user"}]', ": message 1 (user) has neither `content` nor `tool_calls`"),
        ('[{"role": "user", "content": 5}]', ": message 1: its content is a number; expected text"),
        ('{"id": "a", "messages": []}\n{"role": "user", "content": "x"}', ": line 2 is no session"),
        ("\0\0", ": is a binary file"),
        ("[" * 100_000, ": is no JSON that can be read"),
        ("[" + "9" * 5000 + "]", ": is no JSON that can be read"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(tmp_path: Path, text: str, problem: str) -> None:
    assert refusal(written(tmp_path, text)).startswith(problem)


def test_files_that_cannot_be_opened_are_named(tmp_path: Path) -> None:
    (tmp_path / "photo.json").write_bytes(b"\x89PNG\xff\xfe")

    assert refusal(tmp_path / "nothing.json") == ": there is no such file; check the path"
    assert refusal(tmp_path) == ": is a folder; name a file in it"
    assert refusal(tmp_path / "photo.json").startswith(": is not text in UTF-8")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(ROLES),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["role", "content", "messages", "id", "active"]), inner)
    ),
    max_leaves=20,
)


@given(documents=st.lists(JSON, max_size=4))
def test_any_json_is_read_or_refused_in_our_words(
    tmp_path_factory: pytest.TempPathFactory, documents: list[Any]
) -> None:
    path = written(tmp_path_factory.getbasetemp(), "\n".join(map(json.dumps, documents)))
    try:
        messages = read_transcript(path).messages
    except TranscriptError:
        return

    assert messages
    assert all(message["role"] in ROLES for message in messages)
