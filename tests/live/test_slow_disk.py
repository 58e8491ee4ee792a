"""A disk that hangs: whoever looks after a robot opens no file of the run, and waits for none.

Processes and time are stubs: a gate that beats once and hangs, and others that end at once.
"""

import builtins
import io
import os
import sys
from itertools import pairwise
from pathlib import Path
from threading import Event, Thread, current_thread, main_thread

import pytest

from live.hanging import Ended, Held, Stopped, Time
from live.stacked import LIMIT, live_of
from live.test_mute import Direct, waiting
from ursa.claim import Claim
from ursa.gate import farewell
from ursa.live import logbook, settings, supervisor, ward
from ursa.live.logbook import Logbook
from ursa.live.settings import Patience, Restarts
from ursa.live.supervisor import LOCK, Supervisor
from ursa.live.ward import GONE_TIME, PAUSE, STACKS_TIME, Ward
from ursa.log import store
from ursa.shared import place, pulse

SOON = 0.5  # s after which a thread that still waits is believed to wait for the disk
GATES = 3.0  # s that a gate bears a silent supervisor, at the least


class Run:
    """A supervisor, with all of its processes dying around it."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.time, self.limp = folder, Time(), []
        self.others = lambda: Ended(1)
        for each in (ward, supervisor):
            monkeypatch.setattr(each, "time", self.time)
        monkeypatch.setattr(ward.subprocess, "Popen", self.started)
        monkeypatch.setattr(farewell, "send", lambda *words: self.limp.append(self.time.now) or "")
        rule = Restarts(first=0.0, most=0.0, allowed=10**6)
        live = live_of(folder, clock="wall", patience=Patience(), restarts=rule)
        settings.write(folder, live)
        self.supervisor = Supervisor(folder, live, Claim(folder / LOCK, folder), lambda it: None)
        self.gate = pulse.Pulse(folder, "gate")
        self.supervisor._ring.touch()  # so that learner and actor are started, too

    def started(self, words, **more):
        if words[2] != settings.Modules.gate:
            return self.others()
        self.gate.beat(10)
        return Stopped()

    def looks(self, times):
        for _ in range(times):
            self.supervisor.look()
            self.time.sleep(PAUSE)

    @property
    def beats(self):
        beat = pulse.last(self.folder, "supervisor")
        return 0 if beat is None else beat.number


@pytest.fixture
def run(tmp_path, monkeypatch):
    found = Run(tmp_path, monkeypatch)
    yield found
    found.gate.close()
    found.supervisor.close()
    place.forget(tmp_path)


def opening(self):
    """Sabotage: a ward that opens its log for every start."""
    with open(self._log.path, "ab"):
        self._process = ward.subprocess.Popen(
            [sys.executable, "-m", getattr(self._live.modules, self.role)]
        )
        self._begun = self._heard = ward.time.monotonic()


class Sought:
    """Sabotage: a ring that is sought at every look."""

    def __init__(self, folder):
        self._folder = folder

    def exists(self):
        return store.ring_of(self._folder).exists()


# ---- no file is opened ------------------------------------------------------------------------


def opened(run, monkeypatch):
    """Files of the run that its loop touches in five seconds of deaths and restarts."""
    found = []

    def noted(act):
        def acted(path, *more, **named):
            mine = current_thread() is main_thread() and isinstance(path, (str, Path))
            if mine and Path(path).is_relative_to(run.folder):
                found.append(Path(path).name)
            return act(path, *more, **named)

        return acted

    for place_of, name in ((builtins, "open"), (io, "open"), *((os, it) for it in TOUCHES)):
        monkeypatch.setattr(place_of, name, noted(getattr(place_of, name)))
    run.looks(250)
    assert run.supervisor.restarts > 100
    assert len(run.limp) > 5
    return set(found)


TOUCHES = ("open", "mkdir", "stat", "lstat", "unlink", "replace", "scandir")


def test_a_supervisor_touches_no_file_of_its_run_while_it_looks_after_a_robot(run, monkeypatch):
    assert opened(run, monkeypatch) == set()


def test_one_that_opens_a_log_for_every_start_is_caught(run, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(Ward, "start", opening)
    assert "actor.log" in opened(run, monkeypatch)


def test_one_that_seeks_the_ring_at_every_look_is_caught(run, monkeypatch):
    """Sabotage."""
    run.supervisor._ring = Sought(run.folder)
    assert "identity" in opened(run, monkeypatch)


# ---- a log that cannot be opened --------------------------------------------------------------


def blocked(run):
    """From now on whoever opens the actor's log waits, until somebody reads it."""
    log = run.folder / "logs" / "actor.log"
    log.unlink()
    os.mkfifo(log)


def test_a_log_whose_disk_hangs_delays_neither_beats_nor_the_limp_command(run):
    blocked(run)
    before = run.beats
    run.looks(50)  # a second: the gate hangs, is found after half of it, and is spoken for
    assert run.beats >= before + 50
    assert len(run.limp) == 1
    assert run.supervisor.wards["actor"].backoff.total > 10


def test_one_that_opens_it_for_every_start_would_wait_and_leave_the_robot_standing(
    run, monkeypatch
):
    """Sabotage."""
    monkeypatch.setattr(Ward, "start", opening)
    blocked(run)
    thread = Thread(target=lambda: run.looks(50), daemon=True)
    thread.start()
    thread.join(SOON)
    assert thread.is_alive()
    assert run.limp == []
    reader = os.open(run.folder / "logs" / "actor.log", os.O_RDONLY | os.O_NONBLOCK)
    thread.join(LIMIT)
    os.close(reader)
    assert not thread.is_alive()


# ---- last words that the disk does not give ---------------------------------------------------


@pytest.fixture
def slow(monkeypatch):
    """A disk that gives nothing back until it is let go."""
    gives, read = Event(), Logbook._read
    monkeypatch.setattr(logbook, "PATIENCE", 0.1)
    monkeypatch.setattr(Logbook, "_read", lambda it: gives.wait(LIMIT) and read(it))
    yield gives
    gives.set()


def wept(tmp_path):
    """Tells of a process that wrote something, and ends; and what is said."""
    said = []
    log = Logbook(tmp_path / "logs" / "actor.log", "actor", said.append)
    os.write(log.handle, b"alas\n")

    def act():
        log.tell(1)
        log.close()

    return act, said, log


def test_last_words_are_said_when_the_disk_gives_them_and_nobody_waits(tmp_path, slow):
    act, said, log = wept(tmp_path)
    act()
    assert said == []
    slow.set()
    assert log._outlet.settle(LIMIT)
    assert said == ["the last words of actor: alas"]
    os.close(log.handle)  # its thread had it in hand


def test_one_who_reads_them_on_the_spot_would_wait(tmp_path, slow, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(logbook, "Outlet", Direct)
    act, said, _ = wept(tmp_path)
    thread = waiting(act)
    assert thread.is_alive()
    slow.set()
    thread.join(LIMIT)
    assert said == ["the last words of actor: alas"]


def test_only_what_a_process_wrote_itself_is_told_and_no_more_than_a_few_lines(tmp_path):
    path = tmp_path / "logs" / "actor.log"
    path.parent.mkdir()
    path.write_text("of a run before\n")
    said = []
    log = Logbook(path, "actor", said.append)
    log.tell(5)
    assert log._outlet.settle(LIMIT)
    assert said == []
    os.write(log.handle, b"".join(b"line %d\n" % each for each in range(9)) + b"x" * 400)
    log.tell(3)
    assert log._outlet.settle(LIMIT)
    log.close()
    assert said == [f"the end of {path}:\n  line 7\n  line 8\n  {'x' * 297}..."]


def test_a_log_that_cannot_be_written_is_refused_in_words(tmp_path):
    (tmp_path / "logs").write_text("no folder")
    with pytest.raises(logbook.UserError, match=r"actor\.log: .*; check the disk, and start again"):
        Logbook(tmp_path / "logs" / "actor.log", "actor", print)


# ---- beats ------------------------------------------------------------------------------------


def longest_silence(run, monkeypatch):
    """Seconds between two beats, at most, when all but the gate hang and do not go."""
    run.others = lambda: Held(run.time)
    when, beat = [], run.supervisor._pulse.beat
    monkeypatch.setattr(
        run.supervisor._pulse, "beat", lambda *it, **more: when.append(run.time.now) or beat(*it)
    )
    run.looks(2)
    run.time.sleep(300.0)  # no first sign of life
    when.clear()
    run.looks(3)
    assert run.supervisor.restarts >= 3
    return max(b - a for a, b in pairwise(when))


def test_also_if_three_killed_processes_do_not_go_a_gate_hears_of_its_supervisor(run, monkeypatch):
    """Each takes a second, and a fifth for where it hangs."""
    assert longest_silence(run, monkeypatch) <= STACKS_TIME + GONE_TIME + 2 * PAUSE < GATES


def test_one_that_waits_longer_for_each_would_be_silent_for_too_long(run, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(ward, "GONE_TIME", 5.0)
    assert longest_silence(run, monkeypatch) > GATES


def beats_at_the_end(run):
    """In two seconds in which an end waits for something."""
    before = run.beats
    run.supervisor._until(lambda: False, 2.0, rest=True)
    return run.beats - before


def test_a_supervisor_that_leads_to_an_end_still_beats(run):
    assert beats_at_the_end(run) >= 2.0 / PAUSE - 1


def test_one_that_does_not_would_seem_to_hang(run):
    """Sabotage."""
    run.supervisor._beat = lambda: None
    assert beats_at_the_end(run) == 0
