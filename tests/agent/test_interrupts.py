import signal
import threading

import pytest

from agent.errors import HostError
from agent.interrupts import Interrupts, LeftAloneError


def test_what_the_work_returns_or_raises_comes_back() -> None:
    assert Interrupts().run(lambda: threading.current_thread().name) == "turn"
    with pytest.raises(ZeroDivisionError):
        Interrupts().run(lambda: 1 / 0)


@pytest.mark.parametrize("error", [SystemExit("bye"), KeyboardInterrupt(), GeneratorExit()])
def test_work_that_calls_exit_ends_no_program(error: BaseException) -> None:
    def work() -> None:
        raise error

    with pytest.raises(HostError):
        Interrupts().run(work)


def test_each_press_takes_a_step_and_one_more_leaves_the_work_alone() -> None:
    interrupts, steps, ended = Interrupts(), list[str](), threading.Event()

    def work() -> None:
        interrupts._press()
        ended.wait(60)

    def step(name: str) -> None:
        steps.append(name)
        interrupts._press()

    with pytest.raises(LeftAloneError):
        interrupts.run(work, lambda: step("stop"), lambda: step("busy"))
    ended.set()

    assert steps == ["stop", "busy"]


def test_a_press_before_the_work_does_not_count() -> None:
    interrupts = Interrupts()
    interrupts._press()

    assert interrupts.run(lambda: 5) == 5


def test_a_signal_is_an_exception_only_where_a_line_is_read() -> None:
    interrupts, before = Interrupts(), signal.getsignal(signal.SIGINT)
    with interrupts.listening():
        signal.raise_signal(signal.SIGINT)  # nothing happens
        with pytest.raises(KeyboardInterrupt):
            interrupts.read(lambda: signal.raise_signal(signal.SIGINT))
        signal.raise_signal(signal.SIGINT)

    assert signal.getsignal(signal.SIGINT) is before


def test_outside_the_main_thread_nothing_is_taken_over() -> None:
    def listen() -> object:
        with Interrupts().listening():
            return signal.getsignal(signal.SIGINT)

    assert Interrupts().run(listen) is signal.getsignal(signal.SIGINT)


def test_who_is_left_alone_is_not_killed_by_one_more_press() -> None:
    before = signal.getsignal(signal.SIGINT)
    try:
        with pytest.raises(LeftAloneError), Interrupts().listening():
            raise LeftAloneError
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, before)
