"""Somebody in a hurry: Ctrl-C again and again while `ursa robot adapt` ends, and its gate hangs.

Time is virtual: it passes only while the end waits, and at each wait there is another signal.
"""

import signal

import pytest

from live.hanging import Stopped, Time
from live.stacked import live_of
from ursa.gate import farewell
from ursa.live import stander, ward
from ursa.live.leaving import Leaving
from ursa.live.settings import Patience
from ursa.shared import place, pulse


class Hurry(Time):
    """Whoever waits is interrupted, once `number` is set."""

    number, count = None, 0

    def sleep(self, seconds):
        super().sleep(seconds)
        if self.number is not None:
            self.count += 1
            signal.raise_signal(self.number)


class Scene:
    """A gate that beats once and hangs; processes and the way to the robot are stubs."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.time, self.gate, self.limp = folder, Hurry(), Stopped(), []
        self.begun = False
        self.live = live_of(folder, clock="wall", patience=Patience())
        monkeypatch.setattr(ward, "time", self.time)
        monkeypatch.setattr(ward.subprocess, "Popen", self.started)
        monkeypatch.setattr(farewell, "send", lambda *arguments: self.limp.append(1) or "limp")
        monkeypatch.setattr(stander.ready, "held", lambda *arguments: None)
        monkeypatch.setattr(stander, "heard", lambda engine: self.begun)

    def started(self, words, **more):
        beats = pulse.Pulse(self.folder, "gate")
        beats.beat(10)
        beats.close()
        self.begun = True
        return self.gate

    def leaves(self, first, then):
        """Use the robot, be told to end by a signal (None: it was over anyhow), and then again at
        every wait of the end."""
        with stander.gated(self.folder, self.live, lambda said: None):
            self.time.number = then
            if first is not None:
                signal.raise_signal(first)
                pytest.fail("goes on")

    @property
    def left(self):
        """Whether the gate was killed, and how often the robot was told to go limp."""
        return self.gate.returncode == -signal.SIGKILL, len(self.limp)


# What a shell gives a program in front; tests in the background may have been told to ignore them.
USUAL = {
    signal.SIGINT: signal.default_int_handler,
    signal.SIGTERM: signal.SIG_DFL,
    signal.SIGHUP: signal.SIG_DFL,
}


@pytest.fixture
def scene(tmp_path, monkeypatch):
    before = {number: signal.signal(number, handler) for number, handler in USUAL.items()}
    yield Scene(tmp_path, monkeypatch)
    for number, handler in before.items():
        signal.signal(number, handler)
    place.forget(tmp_path)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_hung_gate_is_killed_and_the_robot_limp_however_often_somebody_presses(scene, number):
    handler = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        scene.leaves(number, number)
    assert scene.left == (True, 1)
    assert scene.time.count >= 25  # half a second in looks of 20 ms: so often it was pressed
    assert signal.getsignal(number) is handler  # as before


def test_an_end_in_order_is_not_cut_short_either(scene):
    scene.leaves(None, signal.SIGINT)
    assert scene.left == (True, 1)
    assert scene.time.count >= 25


class Usual:
    """Sabotage: what Python does by itself."""

    def begin(self): ...

    def close(self): ...


@pytest.mark.parametrize("first", [signal.SIGINT, None])
def test_as_python_has_it_a_second_one_would_leave_a_hung_gate_and_a_stiff_robot(
    scene, monkeypatch, first
):
    monkeypatch.setattr(stander, "Leaving", Usual)
    with pytest.raises(KeyboardInterrupt):
        scene.leaves(first, signal.SIGINT)
    assert scene.left == (False, 0)


def test_without_its_beginning_the_end_itself_would_be_the_first_to_be_cut_short(
    scene, monkeypatch
):
    """Sabotage."""
    monkeypatch.setattr(Leaving, "begin", lambda self: None)
    with pytest.raises(KeyboardInterrupt):
        scene.leaves(None, signal.SIGINT)
    assert scene.left == (False, 0)
