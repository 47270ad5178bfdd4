"""Long text in pieces that the embedding model sees whole."""

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import weird
from tests.growth import LONGEST_GROWTH, growth
from vecctx.turns.chunk import CHUNK_PIECES, chunk

TEXTS = st.one_of(
    st.text(),
    st.text("ab .\n,。", max_size=300),
    st.lists(st.sampled_from(["word", "internationalization", ". ", "\n\n", " ", "昨晚", "🧵", "1234"])).map("".join),
)


def pieces(text: str) -> int:
    """The estimate, counted slowly: a piece for each five letters of a word, one for any other character."""
    count, run = 0, 0
    for character in text:
        run = run + 1 if character.isascii() and character.isalpha() else 0
        count += run % 5 == 1 if run else not character.isspace()
    return count


@given(TEXTS, st.integers(1, 40))
@example("\r\r00", 1)
@example("  \n a b", 1)
def test_chunks_cover_the_text_in_order_and_without_gaps(text: str, limit: int) -> None:
    bounds = chunk(text, limit)

    if not text.strip():
        assert bounds == ()
        return
    assert bounds[0][0] == 0
    assert bounds[-1][1] == len(text)
    assert all(first[1] == second[0] for first, second in pairwise(bounds))
    assert all(text[start:end].strip() for start, end in bounds)


@given(TEXTS, st.integers(1, 40))
def test_no_chunk_passes_the_limit_of_the_estimate(text: str, limit: int) -> None:
    assert all(pieces(text[start:end]) <= limit for start, end in chunk(text, limit))


@given(TEXTS)
def test_a_short_text_is_one_chunk(text: str) -> None:
    if text.strip() and pieces(text) <= CHUNK_PIECES:
        assert chunk(text) == ((0, len(text)),)


@pytest.mark.parametrize("text", ["", " ", "\n\t\u2003", "\x1c"])
def test_blank_text_has_no_chunk(text: str) -> None:
    assert chunk(text) == ()


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("one two three four. five six\n\nseven eight nine ten", "one two three four. five six\n\n"),
        ("one two three four, five six. seven eight nine ten", "one two three four, five six. "),
        ("one two three four five six, seven eight nine ten", "one two three four five six, "),
        ("one two three four five six seven eight nine ten", "one two three four five six seven eight "),
        ("one two three four. five, six seven eight nine ten", "one two three four. "),
        ("one two three four five\n\nsix\nseven eight nine ten", "one two three four five\n\n"),
        ("one two three four\nfive, six seven eight nine ten", "one two three four\n"),
        ("one two three four five, six seven eight nine ten", "one two three four five, "),
        ("一二三四五六。七八九十", "一二三四五六。"),
    ],
)
def test_a_cut_falls_behind_a_paragraph_a_sentence_a_clause_or_a_word(text: str, first: str) -> None:
    start, end = chunk(text, 8)[0]

    assert text[start:end] == first


def test_the_end_of_a_long_message_is_in_its_last_chunk() -> None:
    text = "filler words without meaning " * 500 + "the code is 4711"

    start, end = chunk(text)[-1]

    assert "4711" in text[start:end]


@pytest.mark.parametrize("text", [*weird.SCRIPTS, *weird.LONE_SURROGATES])
def test_any_script_is_cut(text: str) -> None:
    bounds = chunk(text * 100)

    assert "".join((text * 100)[start:end] for start, end in bounds) == text * 100


@pytest.mark.parametrize("unit", ["a", "^", " ", "\n", "a ", "a\n", ". ", "...", "昨", "word, ", "a" * 300 + " "])
def test_a_long_text_costs_by_its_length(unit: str) -> None:
    assert growth(chunk, unit) < LONGEST_GROWTH
