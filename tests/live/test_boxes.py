"""Black boxes of a run: one for every fault, one after the other, and no disk ends the care."""

import subprocess
import sys
from contextlib import nullcontext
from threading import Event, Lock, Thread

import numpy as np
import pytest

from ursa.gate import blackbox
from ursa.gate.mailbox import Told
from ursa.gate.modes import Mode
from ursa.live import boxes as boxing
from ursa.live.boxes import Boxes

LIMIT = 30  # s until a thread counts as stuck


def told(fault, since):
    return Told(
        cycle=1,
        now=since + 1,
        mode=Mode.FAULT if fault else Mode.RUN,
        since=since,
        fault=fault,
        state=None,
        fresh=False,
        heard=0.0,
        target=np.zeros(12),
        pose=None,
    )


def test_a_fault_is_due_once_for_every_time_that_it_begins(tmp_path):
    boxes = Boxes(tmp_path, print)
    words = [("", 0), ("hot", 1), ("hot", 1), ("", 2), ("hot", 1), ("hot", 3), ("cold", 3)]
    found = [it for it in words if boxes.due(told(*it))]
    assert found == [("hot", 1), ("hot", 3), ("cold", 3)]


class Door:
    """A lock at which somebody who has to wait is noticed."""

    def __init__(self, waits):
        self._lock, self._waits = Lock(), waits

    def __enter__(self):
        if not self._lock.acquire(blocking=False):
            self._waits.set()
            assert self._lock.acquire(timeout=LIMIT)

    def __exit__(self, *error):
        self._lock.release()


def two_at_once(tmp_path, monkeypatch, door):
    """The order in which a second box is begun while the first one is being written."""
    boxes, order, goes_on = Boxes(tmp_path, pytest.fail), [], Event()
    boxes._lock = door(goes_on) if door else nullcontext()
    other = Thread(target=boxes.keep, args=("second",))

    def dump(folder, why):
        order.append(f"{why} begins")
        if why == "first":
            other.start()
            assert goes_on.wait(LIMIT)  # until the second waits at the door, or has been written
        order.append(f"{why} is written")
        goes_on.set()

    monkeypatch.setattr(blackbox, "dump", dump)
    boxes.keep("first")
    other.join(LIMIT)
    return order


def test_of_two_at_once_the_second_waits(tmp_path, monkeypatch):
    assert two_at_once(tmp_path, monkeypatch, Door) == [
        "first begins",
        "first is written",
        "second begins",
        "second is written",
    ]


def test_without_the_lock_both_would_take_the_same_number(tmp_path, monkeypatch):
    """Sabotage."""
    assert two_at_once(tmp_path, monkeypatch, None)[1] == "second begins"


def test_a_disk_that_refuses_is_told_and_nobody_falls_over_it(tmp_path, monkeypatch):
    def full(folder, why):
        raise OSError("no room")

    said = []
    monkeypatch.setattr(blackbox, "dump", full)
    Boxes(tmp_path, said.append).keep("hot")
    assert said == ["the black box was not written: no room"]


# ---- a disk that hangs ------------------------------------------------------------------------


HANGING = """
from pathlib import Path
from threading import Event, Thread
from ursa.gate import blackbox
from ursa.live import boxes

begun = Event()
blackbox.dump = lambda folder, why: begun.set() or Event().wait()
boxes.PATIENCE = 0.1
{sabotage}
found = boxes.Boxes(Path("nowhere"), print)
found.begin("hot")
begun.wait()
found.settle()
print("left", flush=True)
"""
WAITING = "boxes.Thread = lambda daemon, **more: Thread(**more)"


def leaves(sabotage, patience):
    """Whether a program leaves while a disk hangs that takes its black box."""
    words = [sys.executable, "-c", HANGING.format(sabotage=sabotage)]
    program = subprocess.Popen(words, stdout=subprocess.PIPE)
    try:
        assert program.stdout.readline() == b"left\n"  # all but the interpreter
        program.wait(patience)
    except subprocess.TimeoutExpired:
        return False
    finally:
        program.kill()
        program.communicate()
    return True


def test_a_disk_that_hangs_keeps_no_program_from_leaving():
    assert leaves("", LIMIT)


def test_a_thread_that_the_interpreter_waits_for_would_keep_it_for_ever():
    """Sabotage."""
    assert not leaves(WAITING, 2.0)


def kept_at_an_end(tmp_path, monkeypatch):
    """Whether a box that is being written at the end is there when nobody waits any more."""
    written, goes_on = [], Event()
    monkeypatch.setattr(blackbox, "dump", lambda *_: goes_on.wait(LIMIT) and written.append(1))
    monkeypatch.setattr(boxing, "PATIENCE", LIMIT)
    boxes = Boxes(tmp_path, pytest.fail)
    boxes.begin("hot")
    (thread,) = boxes._threads
    join = thread.join
    monkeypatch.setattr(thread, "join", lambda seconds: goes_on.set() or join(seconds))
    boxes.settle()
    found = bool(written)
    goes_on.set()
    join(LIMIT)
    return found


def test_a_disk_that_works_gets_its_time_at_an_end(tmp_path, monkeypatch):
    assert kept_at_an_end(tmp_path, monkeypatch)


def test_an_end_that_does_not_wait_at_all_would_lose_the_last_box(tmp_path, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(Boxes, "settle", lambda self: None)
    assert not kept_at_an_end(tmp_path, monkeypatch)
