"""Two harmless tools for a chat: a clock, and a calculator that only knows numbers."""

import ast
import operator
from collections.abc import Callable
from datetime import datetime
from typing import Any

from .errors import HostError
from .tools import Tool

_LONGEST_EXPRESSION_CHARACTERS = 500
_LARGEST = 10**30  # larger numbers say nothing and cost time
_LARGEST_EXPONENT = 100

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[Any], Any]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}


class CalculationError(HostError):
    """An expression cannot be worked out."""


def host_tools(now: Callable[[], datetime] = lambda: datetime.now().astimezone()) -> list[Tool]:
    """The tools of a chat."""
    expression = {"type": "string", "description": "numbers, + - * / // % ** and parentheses"}
    parameters = {"type": "object", "properties": {"expression": expression}, "required": ["expression"]}
    return [
        Tool("clock", "The date and time, with weekday and time zone.", lambda: f"{now():%A, %Y-%m-%d %H:%M:%S %Z}"),
        Tool("calculator", "The value of an arithmetic expression.", calculate, parameters),
    ]


def calculate(expression: str) -> int | float:
    """The value of an arithmetic expression.

    Raises:
        CalculationError: it is too long, too large, or holds something else than arithmetic.
    """
    if len(expression) > _LONGEST_EXPRESSION_CHARACTERS:
        raise CalculationError(f"give at most {_LONGEST_EXPRESSION_CHARACTERS} characters")
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise CalculationError(f"{expression!r} is no arithmetic expression") from error
    except (ZeroDivisionError, OverflowError) as error:
        raise CalculationError(str(error)) from error


def _value(node: ast.expr) -> int | float:
    if isinstance(node, ast.Constant) and type(node.value) in {int, float}:
        return _limited(node.value)
    if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        return _limited(_UNARY[type(node.op)](_value(node.operand)))
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        left, right = _value(node.left), _value(node.right)
        if isinstance(node.op, ast.Pow) and abs(right) > _LARGEST_EXPONENT:
            raise CalculationError(f"the exponent {right} is too large")
        return _limited(_BINARY[type(node.op)](left, right))
    raise CalculationError("only numbers, + - * / // % ** and parentheses are allowed")


def _limited(value: Any) -> int | float:  # noqa: ANN401 - a power may even be complex
    if isinstance(value, int | float) and abs(value) <= _LARGEST:
        return value
    raise CalculationError("a value on the way is too large, or no real number")
