"""What an agent without a context engine would send: the newest turns that fit."""

from collections.abc import Sequence

from vecctx.ports import TokenCounter
from vecctx.values import Row


def sliding_window(
    head: Sequence[Row], history: Sequence[Row], current: Sequence[Row], budget: int, counter: TokenCounter
) -> list[Row]:
    """Head and current turn, and between them the newest whole turns that fit into the budget."""
    used = sum(map(counter.count_message, (*head, *current)))
    start = end = len(history)
    while end:
        turn = _start_of_turn(history, end)
        used += sum(map(counter.count_message, history[turn:end]))
        if used > budget:
            break
        start = end = turn
    return [*head, *history[start:], *current]


def _start_of_turn(history: Sequence[Row], end: int) -> int:
    users = (number for number in range(end - 1, -1, -1) if history[number].get("role") == "user")
    return next(users, 0)
