import sqlite3

from hypothesis import given
from hypothesis import strategies as st

from vecctx.adapters.sqlite_text import first_chunk_id, from_database, to_database, to_term

ANY_TEXT = st.text(st.characters(codec=None, exclude_categories=()))


@given(ANY_TEXT)
def test_any_text_survives_sqlite(text: str) -> None:
    connection = sqlite3.connect(":memory:")

    found = connection.execute("SELECT ?", (to_database(text),)).fetchone()[0]
    connection.close()

    assert from_database(found) == text


def test_ordinary_text_stays_readable_and_only_odd_text_becomes_bytes() -> None:
    assert to_database("Grüße 🧵") == "Grüße 🧵"
    assert to_database("a\0b") == b"a\0b"
    assert isinstance(to_database("\ud83d"), bytes)


def test_no_text_stays_none() -> None:
    assert to_database(None) is None
    assert from_database(None) is None


@given(ANY_TEXT, ANY_TEXT)
def test_different_words_are_different_terms(first: str, second: str) -> None:
    assert (to_term(first) == to_term(second)) == (first == second)


@given(ANY_TEXT)
def test_a_term_holds_nothing_that_splits_folds_or_is_syntax(word: str) -> None:
    term = to_term(word)

    assert term.encode().decode() == term
    assert all(ord(letter) > 127 or letter in "abcdefghijklmnopqrstuvwxyz0123456789" for letter in term)


def test_plain_words_are_their_own_terms() -> None:
    assert [to_term(word) for word in ("word", "昨晚", "straße", "v1")] == ["word", "昨晚", "straße", "v1"]


def test_the_chunks_of_conversations_never_meet() -> None:
    assert first_chunk_id(2) - first_chunk_id(1) == 2**32
