import multiprocessing
import os
import signal
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from agent.locks import HeldError, Locks


def hold_until_told(folder: Path, pipe: Connection) -> None:
    locks = Locks(folder)
    locks.hold("a")
    pipe.send(os.getpid())
    pipe.recv()
    locks.release()
    pipe.send("released")


def test_what_another_process_holds_is_refused_with_its_id_until_it_lets_go(tmp_path: Path) -> None:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=hold_until_told, args=(tmp_path, theirs))
    process.start()
    process_id = ours.recv()

    with pytest.raises(HeldError, match=f"held by process {process_id}"):
        Locks(tmp_path).hold("a")
    Locks(tmp_path).hold("b")

    ours.send("let go")
    assert ours.recv() == "released"
    Locks(tmp_path).hold("a")
    process.join()


def test_a_lock_file_that_a_killed_process_left_holds_nothing(tmp_path: Path) -> None:
    ours, theirs = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=hold_until_told, args=(tmp_path, theirs))
    process.start()
    os.kill(ours.recv(), signal.SIGKILL)
    process.join()

    assert (tmp_path / "a.lock").exists()
    locks = Locks(tmp_path)
    locks.hold("a")
    assert (tmp_path / "a.lock").read_text() == f"{os.getpid()}\n"


def test_a_lock_is_held_once_and_leaves_no_file(tmp_path: Path) -> None:
    locks = Locks(tmp_path)
    locks.hold("a")
    locks.hold("a")
    locks.release()
    locks.release()

    assert list(tmp_path.iterdir()) == []


def test_where_no_file_can_be_made_nothing_is_locked_and_nobody_is_bothered(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    Locks(tmp_path / "file").hold("a")
