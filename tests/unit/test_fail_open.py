"""Whatever happens in the engine, the host goes on and is told once."""

import logging

import pytest

from vecctx.errors import StoreError
from vecctx.fail_open import FailOpen


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.name == "vecctx"]


def fail(guard: FailOpen, error: BaseException, doing: str = "select") -> None:
    with guard(doing):
        raise error


def test_an_error_ends_in_the_block_and_is_told(caplog: pytest.LogCaptureFixture) -> None:
    fail(FailOpen(), StoreError("/db", "is full"))

    assert told(caplog) == ["vecctx: select failed, the host goes on without it: store /db: is full"]
    assert caplog.records[0].levelno == logging.WARNING


def test_what_was_set_before_the_block_stays() -> None:
    answer = "before"
    with FailOpen()("select"):
        answer = str(1 // 0)

    assert answer == "before"


def test_each_trouble_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    guard = FailOpen()
    for number in range(3):
        fail(guard, StoreError("/db", "is full"))
        fail(guard, ValueError(f"bug {number}"))

    assert len(told(caplog)) == 2


def test_other_trouble_and_other_work_are_told_again(caplog: pytest.LogCaptureFixture) -> None:
    guard = FailOpen()
    fail(guard, StoreError("/db", "is full"))
    fail(guard, StoreError("/db", "is locked"))
    fail(guard, StoreError("/db", "is full"), "store")
    fail(guard, ValueError("bug"))
    fail(guard, KeyError("bug"))

    assert len(told(caplog)) == 5


def test_a_bug_comes_with_its_traceback_and_our_error_without(caplog: pytest.LogCaptureFixture) -> None:
    guard = FailOpen()
    fail(guard, StoreError("/db", "is full"))
    fail(guard, ValueError("bug"))

    assert [bool(record.exc_info) for record in caplog.records] == [False, True]


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit(1)])
def test_the_end_of_the_process_goes_its_way(error: BaseException, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(type(error)):
        fail(FailOpen(), error)

    assert told(caplog) == []


def test_who_asked_gets_the_text_each_time() -> None:
    problems: list[str] = []
    guard = FailOpen()
    for _ in range(2):
        with guard("start", problems.append):
            raise StoreError("/db", "is full")

    assert problems == ["store /db: is full"] * 2


def test_nothing_is_told_where_nothing_fails(caplog: pytest.LogCaptureFixture) -> None:
    problems: list[str] = []
    with FailOpen()("select", problems.append):
        pass

    assert (told(caplog), problems) == ([], [])
