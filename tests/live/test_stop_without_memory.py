"""`ursa robot stop` where the memory of a run was removed: it never says that there is no robot.

Whoever looks after the gate is asked to end. Here that is the test itself, which hears the signal;
the memory of the computer is a folder of its own, so that no robot outside of it is found.
"""

import os
import shutil
import signal
import subprocess
import sys
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from live.stacked import until
from ursa.claim import Claim
from ursa.errors import UserError
from ursa.gate import drivers, handles, link, mailbox
from ursa.live import orphans, settings, stop_command, supervisor
from ursa.live.ready import LOCK
from ursa.live.settings import Live
from ursa.shared import place

ROBOT = ("127.0.0.1", 1)
BUTTON = "USE THE ROBOT'S REMOTE (R2) OR ITS POWER BUTTON"


@pytest.fixture
def memory(memory, tmp_path, monkeypatch):
    processes = tmp_path / "processes"
    processes.mkdir()
    monkeypatch.setattr(orphans, "PROCESSES", processes)
    return memory


@pytest.fixture
def ended():
    """The signals that ask this process to end."""
    heard = []
    before = signal.signal(signal.SIGTERM, lambda number, _: heard.append(number))
    yield heard
    signal.signal(signal.SIGTERM, before)


@pytest.fixture
def run(tmp_path, memory):
    """A run of this process."""
    folder = tmp_path / "run"
    folder.mkdir()
    settings.write(folder, Live())
    mailbox.create(folder)
    with ExitStack() as stack:
        for it in (Claim(folder / LOCK, folder), link.reserved(ROBOT, folder), link.claimed(ROBOT)):
            stack.enter_context(closing(it))
        yield folder


def swept(memory):
    """As systemd does it."""
    for each in memory.iterdir():
        if each.is_dir():
            shutil.rmtree(each)
        else:
            each.unlink()


def refused(*words, **more):
    with pytest.raises(UserError) as caught:
        stop_command.stop(*words, **more)
    return str(caught.value)


@pytest.mark.parametrize("more", [{}, {"end": True}])
def test_a_stop_of_a_run_without_memory_ends_it_and_points_to_the_button(run, memory, ended, more):
    swept(memory)
    told = refused(run, **more)
    assert ended == [signal.SIGTERM]
    assert f"Process {os.getpid()}, which drives it, was told to end" in told
    assert f"IF IT MUST STOP AT ONCE, {BUTTON}" in told
    assert "recorder" not in told
    assert list(memory.iterdir()) == []  # and makes no other


def test_also_if_somebody_made_an_empty_one_in_its_place(run, memory, ended):
    swept(memory)
    place.shared(run)
    assert f"IF IT MUST STOP AT ONCE, {BUTTON}" in refused(run)
    assert ended == [signal.SIGTERM]


def test_a_stop_of_all_finds_a_run_without_memory_and_names_process_and_folder(run, memory, ended):
    swept(memory)
    told = refused()
    assert ended == [signal.SIGTERM]
    assert str(run) in told
    assert f"Process {os.getpid()}, which drives it, was told to end" in told


def test_one_that_looks_for_locks_by_name_only_would_deny_the_robot(
    run, memory, ended, monkeypatch
):
    """Sabotage."""
    monkeypatch.setattr(handles, "every", lambda: ())
    swept(memory)
    assert refused() == "no robot is driven from this computer now"
    assert ended == []


def test_one_that_knows_no_way_but_by_memory_would_leave_the_robot_moving(
    run, memory, ended, monkeypatch
):
    """Sabotage."""
    monkeypatch.setattr(stop_command, "_told_to_end", stop_command._unheard)
    swept(memory)
    assert BUTTON not in refused(run)
    assert ended == []


def test_an_acknowledgement_ends_nothing(run, memory, ended):
    swept(memory)
    assert "End it, look at the robot, and start again" in refused(run, acknowledge=True)
    assert ended == []


def test_a_gate_whose_run_is_gone_is_told_itself(run, memory, ended):
    """Its supervisor was killed: nobody holds the folder any more."""
    (run / LOCK).unlink()
    swept(memory)
    assert f"Process {os.getpid()}, which drives it, was told to end" in refused(run)
    assert ended == [signal.SIGTERM]


def test_so_is_one_that_adapts_in_a_folder_below(tmp_path, memory, ended):
    folder = tmp_path / "run" / "adapt" / "robot-undamaged"
    folder.mkdir(parents=True)
    settings.write(folder, Live())
    with closing(link.claimed(ROBOT, folder)):
        swept(memory)
        assert str(folder) in refused(tmp_path / "run")
    assert ended == [signal.SIGTERM]


def test_who_uses_a_folder_and_drives_no_robot_is_left_alone(tmp_path, memory, ended):
    """As the learner of a robot on another machine."""
    settings.write(tmp_path, Live())
    place.shared(tmp_path)
    with closing(Claim(tmp_path / LOCK, tmp_path)):
        told = refused(tmp_path)
    assert f"process {os.getpid()} uses the folder and drives no robot, or not yet" in told
    assert ended == []


def test_one_that_goes_by_the_lock_of_the_folder_alone_would_end_it(
    tmp_path, memory, ended, monkeypatch
):
    """Sabotage."""
    monkeypatch.setattr(drivers, "drives", lambda pid: True)
    settings.write(tmp_path, Live())
    place.shared(tmp_path)
    with closing(Claim(tmp_path / LOCK, tmp_path)):
        refused(tmp_path)
    assert ended == [signal.SIGTERM]


def named(folder, memory):
    """A lock that names this process, and is held by another, which drives the robot."""
    said = f"process {os.getpid()} on here, since today\n"
    words = "import fcntl, os, sys; lock = open(sys.argv[1], 'r+'); "
    words += "fcntl.flock(lock, fcntl.LOCK_EX); print(1, flush=True); sys.stdin.read()"
    (folder / LOCK).write_text(said)
    return subprocess.Popen(
        [sys.executable, "-c", words, str(folder / LOCK)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def test_a_process_that_a_lock_names_and_that_does_not_hold_it_hears_nothing(
    tmp_path, memory, ended
):
    """Its number was given to another after a restart of the computer, or the file was copied."""
    settings.write(tmp_path, Live())
    place.shared(tmp_path)
    with closing(link.reserved(ROBOT)), named(tmp_path, memory) as other:
        other.stdout.readline()
        told = refused(tmp_path)
        other.stdin.close()
    assert f"{BUTTON} NOW" in told
    assert ended == []


def test_the_holder_of_a_lock_is_who_holds_it_by_the_kernel(tmp_path):
    lock = tmp_path / "lock"
    assert handles.holder(lock) is None
    with closing(Claim(lock)):
        assert handles.holder(lock) == os.getpid()
    assert lock.exists()
    assert handles.holder(lock) is None


def test_the_end_of_a_run_is_not_asked_of_memory_that_is_gone(run, memory):
    swept(memory)
    assert supervisor.pid_of(run) is None
    assert list(memory.iterdir()) == []


# ---- a gate that holds no lock that we can see -------------------------------------------------


@pytest.fixture
def gate(tmp_path, memory):
    """A process that was started as a gate, of which the kernel tells nothing but its words."""
    words = [sys.executable, "-c", "import sys; sys.stdin.read()", "ursa.live.gating", "outputs/a1"]
    found = subprocess.Popen(words, stdin=subprocess.PIPE)
    told = until(Path(f"/proc/{found.pid}/cmdline").read_bytes, "it is what it was started as")
    place_of = tmp_path / "processes" / str(found.pid)
    place_of.mkdir()
    (place_of / "cmdline").write_bytes(told)
    yield found
    found.communicate()


def test_a_gate_that_holds_no_lock_is_named_and_not_denied(gate):
    told = refused()
    assert f"process {gate.pid} is the gate of a robot, started for outputs/a1" in told
    assert f"{BUTTON} NOW; or say kill {gate.pid}" in told
    assert gate.poll() is None


def test_one_that_looks_at_locks_only_would_deny_it(gate, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(orphans, "gates", dict)
    assert refused() == "no robot is driven from this computer now"
