"""Conversations of any length in which one thing is worth recalling."""

from agent.testing import Reply
from tests.hermes.conversation import Row
from vecctx.adapters.token_counter import TiktokenCounter

FACT = "The spare key of the observatory lies with Marguerite Oduya, extension 7731."
QUESTION = "Who has the spare key of the observatory, and at which extension?"
COUNTER = TiktokenCounter()
_PLACES = ("harbour", "mill", "orchard", "depot", "quarry", "bakery", "ferry", "archive", "greenhouse", "foundry")
_THINGS = ("crates", "invoices", "ropes", "lamps", "barrels", "ledgers", "engines", "tiles", "seeds", "gauges")
_TOKENS_PER_TURN = 760


def remarks(number: int, sentences: int) -> str:
    """Text of which no two numbers give the same."""
    found = (number * sentences + index for index in range(sentences))
    return " ".join(
        f"On day {n} the {_THINGS[n % 10]} went to the {_PLACES[n // 10 % 10]} as lot {n * 37}." for n in found
    )


def long_history(tokens: int) -> list[Row]:
    """About that many tokens; the fact is said in the third turn."""
    rows: list[Row] = []
    for number in range(tokens // _TOKENS_PER_TURN):
        said = FACT if number == 2 else f"Entry {number}. " + remarks(number, 22)
        rows += [{"role": "user", "content": said}, {"role": "assistant", "content": "Noted. " + remarks(-number, 22)}]
    return rows


def tokens_of(rows: list[Row]) -> int:
    return sum(COUNTER.count_message(row) for row in rows)


def says(rows: list[Row], text: str) -> bool:
    """Whether a request holds a text."""
    return any(text in str(row.get("content")) for row in rows)


def counted(text: str, prompt_tokens: int) -> Reply:
    """An answer with a usage."""
    return Reply(
        text, usage={"prompt_tokens": prompt_tokens, "completion_tokens": 5, "total_tokens": prompt_tokens + 5}
    )
