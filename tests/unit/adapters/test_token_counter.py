"""Token counts: exact, never under what a request costs, the same again for free, and never an exception."""

import json
import logging
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import weird
from vecctx.adapters import token_counter
from vecctx.adapters.token_counter import EncodingName, TiktokenCounter, encoding_for
from vecctx.adapters.token_ranks import load_encoding
from vecctx.errors import ModelError

LARGEST = TiktokenCounter()
CL100K = TiktokenCounter("cl100k_base")
O200K = TiktokenCounter("o200k_base")
LEAST_MEDIA_TOKENS = 85


def tokens_of(text: str) -> int:
    """Tokens of a text in cl100k, counted without any of our code but the ranks."""
    return len(load_encoding("cl100k_base").encode_ordinary(text))


def least_tokens(row: dict[str, Any]) -> int:
    """What any honest count of a plain row must reach."""
    content = row.get("content")
    parts = content if isinstance(content, list) else []
    texts = [part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str)]
    count = 4 + tokens_of(content if isinstance(content, str) else "\n".join(texts))
    count += LEAST_MEDIA_TOKENS * sum(isinstance(part, dict) and "image_url" in part for part in parts)
    for call in row.get("tool_calls") or []:
        function = call["function"]
        arguments = function["arguments"]
        text = arguments if isinstance(arguments, str) else json.dumps(arguments)
        count += 2 + tokens_of(function["name"]) + tokens_of(text)
    return count + bool(row.get("tool_call_id")) + tokens_of(row.get("reasoning_content") or "")


@pytest.mark.parametrize(
    ("model", "encoding"),
    [
        *(
            (name, "o200k_base")
            for name in ("gpt-4o", "gpt-4o-mini", "gpt-4.1", "gpt-5", "gpt-5.1-codex", "o1", "o3-mini")
        ),
        *((name, "o200k_base") for name in ("openai/gpt-4o", "chatgpt-4o-latest", "ft:gpt-4o:me::1", "GPT-4.1-nano")),
        *(
            (name, "cl100k_base")
            for name in ("gpt-4", "gpt-4-turbo", "gpt-3.5-turbo", "azure/gpt-4-32k", "ft:gpt-4:me")
        ),
        *(
            (name, "largest")
            for name in ("", "claude-sonnet-5", "gpt-40", "o1js", "gemini-3-pro", "qwen/qwen3", "gpt-6")
        ),
    ],
)
def test_a_model_is_counted_in_its_own_encoding(model: str, encoding: EncodingName) -> None:
    assert encoding_for(model) == encoding


def test_known_texts_have_their_known_counts() -> None:
    assert [CL100K.count_text(text) for text in ("", "hello world", "tiktoken is great!")] == [0, 2, 6]
    assert [O200K.count_text(text) for text in ("", "hello world", "你好，世界")] == [0, 2, 3]


@given(st.text(max_size=80))
def test_the_largest_count_is_the_larger_of_both(text: str) -> None:
    assert LARGEST.count_text(text) == max(CL100K.count_text(text), O200K.count_text(text))


@pytest.mark.parametrize("text", weird.SPECIAL_TOKENS)
def test_the_text_of_special_tokens_is_ordinary_text(text: str) -> None:
    assert LARGEST.count_text(text) > 3


@pytest.mark.parametrize("text", [*weird.LONE_SURROGATES, "\0", "\0" * 50])
def test_lone_surrogates_and_nul_are_counted(text: str) -> None:
    assert LARGEST.count_text(text) >= 1


@pytest.mark.parametrize("unit", [" ", "^", "a", "\n", "中", "😀", "= ", "\ud800"])
def test_a_megabyte_of_anything_is_counted_in_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit.encode("utf-8", "surrogatepass")))
    started = time.process_time()

    count = CL100K.count_text(text)

    assert count >= CL100K.count_text(unit * 1000)
    assert time.process_time() - started < 5  # it takes about 0.2 seconds, and minutes where it is quadratic


def test_a_long_text_is_counted_as_in_one_piece() -> None:
    text = "The quick brown fox jumps over the lazy dog, 1234 times. " * 4000

    assert tokens_of(text) <= CL100K.count_text(text) <= tokens_of(text) + 20


@settings(deadline=None)
@given(weird.transcripts(odd=False))
def test_a_message_never_costs_less_than_what_is_in_it(rows: list[dict[str, Any]]) -> None:
    assert all(CL100K.count_message(row) >= least_tokens(row) for row in rows)


@pytest.mark.parametrize(
    "row",
    [
        weird.user([{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]),
        weird.assistant("said", reasoning_content="thought about it for a while"),
        weird.calls(weird.call(arguments={"path": "notes.md", "lines": [1, 2]}), content="looking"),
        weird.result(content="the file says 42"),
    ],
)
def test_every_part_of_a_message_is_counted(row: dict[str, Any]) -> None:
    assert least_tokens(row) <= CL100K.count_message(row) <= least_tokens(row) + 2


def test_weird_rows_are_counted() -> None:
    for row in weird.odd_rows():
        assert LARGEST.count_message(row) >= 4


@settings(deadline=None)
@given(weird.contents(), weird.contents(), weird.contents())
def test_no_row_raises(content: object, calls: object, arguments: object) -> None:
    rows = (weird.user(content), weird.assistant("", tool_calls=calls), weird.calls(weird.call(arguments=arguments)))

    assert all(LARGEST.count_message(row) >= 4 for row in rows)


@pytest.mark.parametrize(
    "wrap", [lambda inner: [inner], lambda inner: {"content": inner}, lambda inner: {"x": [inner]}]
)
def test_a_content_of_any_depth_is_counted(wrap: Callable[[object], object]) -> None:
    content: object = "deep"
    for _ in range(100_000):
        content = wrap(content)

    assert LARGEST.count_message(weird.user(content)) >= 5


@pytest.mark.parametrize("image", weird.images())
def test_a_picture_has_one_price_in_every_shape_and_place(image: dict[str, Any]) -> None:
    counter = TiktokenCounter("cl100k_base", image_tokens=1000)
    contents: list[object] = [
        [image],
        image,
        [{"type": "tool_result", "content": [image]}],
        [{"type": "function_call_output", "output": [image]}],
    ]

    for content in contents:
        assert 1000 <= counter.count_message(weird.user(content)) - 4 <= 1000 + LEAST_MEDIA_TOKENS


def test_the_size_of_a_picture_does_not_matter() -> None:
    small, large = ([image] for image in (weird.images()[0], weird.images(weird.DATA_URL * 100)[0]))

    assert LARGEST.count_message(weird.user(small)) == LARGEST.count_message(weird.user(large)) == 1604


def test_an_unknown_part_costs_its_text_and_no_less_than_a_picture() -> None:
    note = "a note that the model reads, word for word. " * 30
    small, large = ([{"type": "vendor_note", "note": text}] for text in ("short", note))

    assert CL100K.count_message(weird.user(small)) == 4 + LEAST_MEDIA_TOKENS
    assert CL100K.count_message(weird.user(large)) >= 4 + tokens_of(note)


def test_the_same_history_is_counted_again_in_no_time() -> None:
    rows = [
        weird.user(f"message {number}: " + "some words " * 40) if number % 2 else weird.calls(weird.call(f"c{number}"))
        for number in range(10_000)
    ]
    counter = TiktokenCounter("cl100k_base")
    first = sum(map(counter.count_message, rows))
    equal_rows = json.loads(json.dumps(rows))

    started = time.process_time()
    again = [sum(map(counter.count_message, equal_rows)) for _ in range(10)]

    assert again == [first] * 10
    assert (time.process_time() - started) / 10 < 0.06  # it takes 0.007 seconds; counting takes 0.3


def test_the_memo_keeps_no_text_and_stays_small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(token_counter, "_MEMO_TEXTS", 50)
    counter = TiktokenCounter("cl100k_base")

    for number in range(500):
        counter.count_text(f"text {number}")

    memos = (counter._memo, counter._older_memo)
    assert all(len(memo) <= 50 for memo in memos)
    assert all(isinstance(part, int) for memo in memos for key in memo for part in key)


def test_texts_within_the_memo_are_counted_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[str] = []

    def count(encoding: object, text: str) -> int:
        counted.append(text)
        return 1

    monkeypatch.setattr(token_counter, "_MEMO_TEXTS", 50)
    monkeypatch.setattr(token_counter, "count_tokens", count)
    counter = TiktokenCounter("cl100k_base")

    for _ in range(5):
        for number in range(50):
            counter.count_text(f"text {number}")
    for number in range(50, 70):
        counter.count_text(f"text {number}")
        counter.count_text("text 1")

    assert len(counted) == 70


@pytest.mark.parametrize("damage", ["missing", "truncated", "other ranks", "no catalogue"])
def test_damaged_ranks_are_replaced_by_an_estimate_that_is_announced_once(
    damage: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _damaged_ranks(damage, tmp_path, monkeypatch)
    counters = [TiktokenCounter("cl100k_base") for _ in range(2)]

    with caplog.at_level(logging.WARNING):
        counts = [counter.count_text(text) for counter in counters for text in ("hello world", "hello again", "你好")]

    assert all(1 <= count <= 8 for count in counts)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "estimates" in caplog.text


def _damaged_ranks(damage: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from vecctx.adapters import token_ranks
    from vecctx.adapters.model_files import model_folder

    shipped = model_folder("tiktoken")
    packed = (shipped / "cl100k_base.tiktoken.gz").read_bytes()
    content = {"truncated": packed[:-5000], "other ranks": (shipped / "o200k_base.tiktoken.gz").read_bytes()}
    if damage != "no catalogue":
        (folder / "encodings.json").write_bytes((shipped / "encodings.json").read_bytes())
    if damage != "missing":
        (folder / "cl100k_base.tiktoken.gz").write_bytes(content.get(damage, packed))
    monkeypatch.setattr(token_ranks, "model_folder", lambda name: folder)


def test_ranks_that_are_nowhere_are_replaced_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def nowhere(name: str) -> None:
        raise ModelError(f"{name} is not here")

    monkeypatch.setattr(token_counter, "load_encoding", nowhere)

    assert TiktokenCounter().count_text("hello world") == 2


def test_the_first_count_needs_no_network_and_leaves_the_environment_alone() -> None:
    code = (
        "import os, socket; before = dict(os.environ)\n"
        "def refuse(*args): raise SystemExit('a connection was opened')\n"
        "socket.socket.connect = refuse\n"
        "from vecctx.adapters.token_counter import TiktokenCounter\n"
        "print(TiktokenCounter().count_text('hello world'), dict(os.environ) == before)"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == ["2", "True"]


def test_importing_the_counter_imports_no_tokenizer() -> None:
    code = "import sys, vecctx.adapters.token_counter; print('tiktoken' in sys.modules)"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "False"
