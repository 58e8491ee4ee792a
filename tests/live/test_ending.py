"""Signals may come at any moment of an ending: each is heard or passed over, without a word."""

import contextlib
import os
import signal
import subprocess
import sys
import threading

import pytest

from gate.gated import is_limp
from live.silent import DEAD, Robot
from live.stacked import TESTS, free_port, live_of
from ursa.live import child, gating, settings
from ursa.live.child import SIGNALS, Ending
from ursa.live.settings import Restarts
from ursa.shared import place

NEVER = 10**6
ASKED, AT_ONCE = 130, 128 + signal.SIGINT  # SIGINT is the smaller number: Python hears it first
NOISE = ("race condition", "Traceback", "Exception ignored", "Error")


@pytest.fixture
def robot():
    found = Robot()
    yield found
    found.close()


def ended(folder, robot, call, how="sound"):
    """Exit code and output of a supervisor that has signals from that call of its ending on."""
    link = "udp://{}:{}".format(*robot.address)
    rule = Restarts(first=60.0, most=60.0, allowed=1000)
    settings.write(folder, live_of(folder, link=link, modules=DEAD, clock="wall", restarts=rule))
    try:
        done = subprocess.run(
            [sys.executable, "-m", "live.stub_ending", str(folder), str(call), how],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "PYTHONPATH": str(TESTS)},
        )
    finally:
        place.forget(folder)
    return done.returncode, done.stdout


def quiet(output):
    return all(line.startswith(("ursa: ", "  ")) for line in output.splitlines()) and not any(
        word in output for word in NOISE
    )


@pytest.mark.parametrize("call", [0, 1, 5, 20, 40, 70])
def test_signals_from_any_moment_of_an_ending_on_end_it_at_once_limp_and_quietly(
    tmp_path, robot, call
):
    code, output = ended(tmp_path, robot, call)
    assert quiet(output), output
    assert code == AT_ONCE
    assert "ended in disorder: the robot was laid down first" in output
    assert is_limp(robot.heard()[-1])


def test_signals_while_the_interpreter_leaves_change_nothing(tmp_path, robot):
    code, output = ended(tmp_path, robot, NEVER)
    assert quiet(output), output
    assert code == ASKED
    assert "in disorder" not in output
    assert is_limp(robot.heard()[-1])


def test_handlers_that_are_taken_away_would_make_python_complain(tmp_path, robot):
    """Sabotage."""
    _, output = ended(tmp_path, robot, 0, "deafened")
    assert not quiet(output)
    assert "ignored due to race condition" in output


def test_a_process_that_leaves_with_its_ears_open_would_complain(tmp_path, robot):
    """Sabotage."""
    _, output = ended(tmp_path, robot, NEVER, "open")
    assert not quiet(output)
    assert "Exception ignored" in output


# ---- a command that goes on after its run ------------------------------------------------------


def test_a_second_signal_ends_at_once_and_later_ones_do_nothing():
    ending = Ending()
    try:
        assert not ending.asked
        signal.raise_signal(signal.SIGTERM)
        assert ending.asked
        with pytest.raises(SystemExit) as caught:
            signal.raise_signal(signal.SIGTERM)
        assert caught.value.code == 128 + 15
        for number in SIGNALS:
            signal.raise_signal(number)
    finally:
        ending.close()


def given(monkeypatch, folder):
    """Seconds that a gate which is asked to end gives itself, by the kernel's alarm."""
    heard = []
    monkeypatch.setattr(signal, "alarm", heard.append)
    link = f"udp://127.0.0.1:{free_port()}"
    settings.write(folder, live := live_of(folder, link=link, clock="wall"))
    gating.create(folder, live)

    def asked(self, ending):
        signal.raise_signal(signal.SIGTERM)
        assert ending.asked
        return ""

    monkeypatch.setattr(gating.Loop, "run", asked)
    monkeypatch.setattr(gating, "_hurry", lambda: None)
    before = {number: signal.getsignal(number) for number in (*SIGNALS, signal.SIGALRM)}
    try:
        assert gating.main(folder) == 0
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return heard


def test_a_gate_that_is_asked_to_end_has_ten_seconds_whatever_becomes_of_its_clock(
    folder, monkeypatch
):
    assert given(monkeypatch, folder) == [10]


def test_without_the_alarm_it_would_have_as_long_as_its_clock_stands_still(folder, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(gating, "LONGEST_END", 0)  # seconds; for an alarm: never
    assert given(monkeypatch, folder) == [0]


def test_an_alarm_ends_at_once_and_once():
    ending = Ending(longest=10)
    try:
        with pytest.raises(SystemExit) as caught:
            signal.raise_signal(signal.SIGALRM)
        assert caught.value.code == 128 + 14
        signal.raise_signal(signal.SIGALRM)
    finally:
        ending.close()


def hung_up(times):
    """An ending of a process whose terminal is gone, as told so many times."""
    ending = Ending()
    try:
        for _ in range(times):
            signal.raise_signal(signal.SIGHUP)
        return ending.asked
    finally:
        ending.close()


def test_a_terminal_that_is_gone_asks_for_the_end_in_order_however_often_it_is_told():
    assert not hung_up(0)
    assert hung_up(1)
    assert hung_up(3)  # a kernel tells it, and a shell does, too


def test_one_that_takes_it_for_impatience_would_end_in_disorder(monkeypatch):
    """Sabotage."""
    real = Ending._ask
    monkeypatch.setattr(Ending, "_ask", lambda self, _, frame: real(self, signal.SIGTERM, frame))
    with pytest.raises(SystemExit):
        hung_up(2)


def test_one_that_was_started_to_outlive_its_terminal_goes_on():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` leaves it
    try:
        assert not hung_up(2)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def left_by(sabotage):
    """Exit code of a process that has lost its terminal: 7 if it ended in its own way."""
    words = f"import signal; from ursa.live import child; {sabotage}; ending = child.Ending(); "
    words += "signal.raise_signal(signal.SIGHUP); raise SystemExit(7 if ending.asked else 0)"
    return subprocess.run([sys.executable, "-c", words]).returncode


def test_a_process_that_lost_its_terminal_leaves_in_its_own_way():
    assert left_by("0") == 7


def test_without_an_ear_for_it_the_kernel_would_end_it_on_the_spot():
    """Sabotage."""
    assert left_by("child.SIGNALS = child.SIGNALS[:2]") == -signal.SIGHUP


def closed(monkeypatch):
    """Signals that the handlers from before hear, of one that comes as the first is put back."""
    heard, put, mine = [], signal.signal, threading.main_thread().ident
    before = {number: put(number, lambda it, _: heard.append(it)) for number in SIGNALS}

    def late(number, handler):
        if number == SIGNALS[0]:
            signal.pthread_kill(mine, number)
        return put(number, handler)

    ending = Ending()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(signal, "signal", late)
            ending.close()
    finally:
        for number, handler in before.items():
            put(number, handler)
    return heard


def test_handlers_are_put_back_and_a_signal_in_that_moment_is_theirs(monkeypatch):
    assert closed(monkeypatch) == [SIGNALS[0]]


def test_one_that_does_not_let_signals_wait_would_lose_it(monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(child, "deaf", contextlib.nullcontext)
    assert closed(monkeypatch) == []
