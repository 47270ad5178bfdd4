"""How many tokens a request may take."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vecctx.pack.limit import limit

TABLE = [
    # wanted, window, asked, ceiling, overhead -> total, limited by
    (32_000, 200_000, 200_000, 170_000, 0, 32_000, "budget_tokens"),
    (32_000, 200_000, 0, 0, 0, 32_000, "budget_tokens"),
    (0.5, 200_000, 200_000, 170_000, 0, 100_000, "budget_tokens"),
    (1.0, 200_000, 200_000, 0, 0, 192_000, "window"),
    (1.0, 200_000, 200_000, 170_000, 0, 169_999, "threshold"),
    (1.0, 200_000, 200_000, 170_000, 25_000, 144_999, "threshold"),
    (190_000, 200_000, 200_000, 0, 25_000, 167_000, "window"),
    (32_000, 8_000, 8_000, 0, 0, 6_400, "window"),
    (32_000, 8_000, 8_000, 6_800, 3_000, 3_400, "window"),
    (32_000, 200_000, 20_000, 170_000, 0, 20_000, "host"),
    (32_000, 0, 0, 0, 0, 32_000, "budget_tokens"),
    (0.5, 0, 0, 0, 0, 16_000, "budget_tokens"),
    (32_000, 0, 9_000, 0, 0, 9_000, "host"),
    (1, 200_000, 200_000, 170_000, 0, 1, "budget_tokens"),
    (32_000, 8_000, 8_000, 6_800, 9_000, 1, "window"),
    (32_000, 1, 1, 0, 0, 1, "window"),
]


@pytest.mark.parametrize("row", TABLE, ids=str)
def test_the_smallest_limit_counts(row: tuple[float, int, int, int, int, int, str]) -> None:
    wanted, window, asked, ceiling, overhead, total, by = row

    budget = limit(wanted, window=window, asked=asked, ceiling=ceiling, overhead=overhead)

    assert (budget.total_tokens, budget.limited_by, budget.overhead_tokens) == (total, by, overhead)


SIZES = st.integers(0, 2_000_000)


@given(st.integers(1, 2_000_000) | st.floats(0, 1, exclude_min=True), SIZES, SIZES, SIZES, st.integers(0, 100_000))
def test_a_budget_is_never_below_one_nor_above_any_limit(
    wanted: float, window: int, asked: int, ceiling: int, overhead: int
) -> None:
    total = limit(wanted, window=window, asked=asked, ceiling=ceiling, overhead=overhead).total_tokens

    assert total >= 1
    assert total <= max(window, 1) or not window
    assert total + overhead <= window or not window or total == 1
    assert total < ceiling or not ceiling or total == 1
    assert total <= asked or asked in (0, window)
    assert total <= wanted or isinstance(wanted, float)


@given(st.integers(1, 100_000), st.integers(1, 200_000), st.integers(0, 50_000), st.integers(0, 50_000))
def test_more_overhead_never_gives_more_room(wanted: int, window: int, overhead: int, more: int) -> None:
    small = limit(wanted, window=window, asked=window, ceiling=0, overhead=overhead + more)
    large = limit(wanted, window=window, asked=window, ceiling=0, overhead=overhead)

    assert small.total_tokens <= large.total_tokens
