import json
from contextlib import suppress
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.host_tools import CalculationError, calculate, host_tools
from agent.testing import call
from agent.tools import ToolRegistry
from tests.agent.support import PlainEngine


@pytest.mark.parametrize(
    ("expression", "value"),
    [("2 + 3*4", 14), ("-(1.5 - 4) / 5", 0.5), ("7 // 2 % 2 ** 3", 3), (" 1 ", 1)],
)
def test_arithmetic_has_its_value(expression: str, value: float) -> None:
    assert calculate(expression) == value


@pytest.mark.parametrize(
    "expression",
    [
        "__import__('os')", "a", "1 if 1 else 2", "'a' * 9", "True + 1", "[1]", "1, 2", "", "1 +", "1j",
        "9 ** 9 ** 9", "10 ** 100 ** 2", "2 ** 1e9", "(-8) ** 0.5", "1 / 0", "1e308 * 1e308", "((" * 200, "1" * 501,
        "\0", "1 << 9", "max(1, 2)", "(1).real",
    ],
)  # fmt: skip
def test_anything_else_is_refused_at_once(expression: str) -> None:
    with pytest.raises(CalculationError):
        calculate(expression)


@given(st.text(alphabet="0123456789.+-*/%() e", max_size=40))
def test_no_expression_does_more_than_be_refused(expression: str) -> None:
    with suppress(CalculationError):
        assert abs(calculate(expression)) <= 10**30


def test_the_model_gets_both_by_name() -> None:
    tools = ToolRegistry(host_tools(lambda: datetime(2026, 12, 1, 16, 30, tzinfo=UTC)), PlainEngine())

    assert tools.call(call("c1", "clock"), []) == "Tuesday, 2026-12-01 16:30:00 UTC"
    assert tools.call(call("c2", "calculator", expression="2**10"), []) == "1024"
    assert "error" in json.loads(tools.call(call("c3", "calculator", expression="x"), []))
