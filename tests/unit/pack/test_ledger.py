"""How much of a request the provider's cache has seen."""

from hypothesis import given

from tests import weird
from tests.weird import Row, assistant, user
from vecctx.pack.ledger import Ledger, digest, reused_tokens, write
from vecctx.turns.content import text_of_row


class CharacterCounter:
    """A TokenCounter that counts characters."""

    def count_text(self, text: str) -> int:
        return len(text)

    def count_message(self, row: object) -> int:
        return len(text_of_row(row))  # type: ignore[arg-type]  # rows of tests


COUNTER = CharacterCounter()


def test_the_reused_part_ends_at_the_first_other_message() -> None:
    before = write([user("abc"), assistant("de"), user("f")], COUNTER)

    assert reused_tokens(before, write([user("abc"), assistant("de"), user("other")], COUNTER)) == 5
    assert reused_tokens(before, write([user("abc"), user("x"), user("f")], COUNTER)) == 3
    assert reused_tokens(before, write([user("x"), assistant("de")], COUNTER)) == 0
    assert reused_tokens(before, before) == 6


def test_nothing_was_sent_before_the_first_request() -> None:
    assert reused_tokens(Ledger(), write([user("abc")], COUNTER)) == 0


@given(weird.transcripts(), weird.transcripts(max_turns=1))
def test_a_request_that_extends_the_one_before_reuses_all_of_it(rows: list[Row], more: list[Row]) -> None:
    before = write(rows, COUNTER)

    assert reused_tokens(before, write([*rows, *more], COUNTER)) == sum(before.tokens)


def test_a_digest_names_the_exact_content() -> None:
    row = user("a", extra={"b": 1, "a": 2})
    others = [user("a "), user("a"), user("a", extra={"b": 1}), assistant("a"), user(["a"], extra={"b": 1, "a": 2})]

    assert digest(row) == digest({"extra": {"a": 2, "b": 1}, "content": "a", "role": "user", "_row": 5})
    assert len({digest(row), *map(digest, others)}) == 6
    assert digest(row, row) != digest(row)
