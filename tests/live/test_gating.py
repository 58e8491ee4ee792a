"""The gate as a process: whatever way it ends the robot is limp, and a stop works within 50 ms.

The test is the robot, and it keeps the clock: no time passes that it did not let pass.
"""

import os
import signal
from dataclasses import replace

import jaxtyping
import numpy as np
import pytest

from gate.gated import LIMITS, STANDING, is_limp
from live.hanging import Stopped, Time
from live.scenes import Scene
from live.stacked import live_of, spawn
from ursa.claim import Claim
from ursa.errors import UserError
from ursa.gate import blackbox, farewell, mailbox
from ursa.gate.modes import Mode, Order
from ursa.live import gating, settings, ward
from ursa.live.settings import Live, Patience
from ursa.live.supervisor import LOCK, PAUSE, Supervisor
from ursa.shared import place, pulse

UNSAFE = ["curt", "hasty"]


@pytest.fixture
def scene(tmp_path):
    jaxtyping.config.update("jaxtyping_disable", True)  # thousands of cycles; checked elsewhere
    found = Scene(tmp_path)
    yield found
    found.close()
    jaxtyping.config.update("jaxtyping_disable", False)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lays_the_robot_down_and_leaves_it_limp(scene, number):
    scene.start()
    scene.desk.order(Order.STAND)
    begun = scene.told.cycle
    scene.lets(lambda: scene.told.cycle > begun + 300)  # on its way up
    assert not is_limp(scene.robot.command)
    scene.gate.send_signal(number)
    assert scene.ends() == 0, scene.said()
    assert scene.told.mode is Mode.DAMP
    assert np.abs(scene.robot.angle - np.tile([0.0, 1.3, -2.6], 4)).max() < 0.1  # folded
    assert is_limp(scene.robot.command)


def test_a_gate_that_takes_too_long_to_end_leaves_the_robot_limp(scene):
    scene.start()
    scene.runs()
    scene.gate.send_signal(signal.SIGTERM)
    scene.gate.send_signal(signal.SIGALRM)  # as the kernel does after ten seconds; time stands
    assert scene.gate.wait() == 128 + signal.SIGALRM
    scene.hears()
    assert is_limp(scene.robot.command)


@pytest.mark.parametrize("how", ["breaks", "killed twice"])
def test_a_gate_that_breaks_or_is_told_twice_leaves_the_robot_limp(scene, how):
    scene.start(how if how == "breaks" else "")
    scene.runs()
    if how == "breaks":
        scene.lets(lambda: False, cycles=4_000)
        assert "the mouth is full" in scene.said()
    else:
        while scene.gate.poll() is None:  # while it sleeps: no time passes any more
            scene.gate.send_signal(signal.SIGTERM)
        scene.hears()
    assert scene.gate.wait() != 0
    assert is_limp(scene.robot.command)


def test_a_gate_whose_supervisor_is_gone_lays_the_robot_down(scene, monkeypatch):
    monkeypatch.setenv("URSA_SUPERVISOR", "1")  # not its parent: as if that had died
    scene.start()
    assert scene.ends() == 0
    assert is_limp(scene.robot.command)


class Orphan:
    """A process that is nobody's child here, as `Scene` wants to see it."""

    def __init__(self, pid):
        self.pid, self.code = pid, None

    def poll(self):
        try:
            with open(f"/proc/{self.pid}/stat") as file:
                gone = file.read().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            gone = True
        return 0 if gone else None

    def kill(self):
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def wait(self):
        return self.poll()


def abandoned(scene, known):
    """A robot that runs, and a supervisor that is killed; for 4 s of the clock at most."""
    parent = spawn(scene.folder / "gate.log", "live.stub_parent", scene.folder, known)
    scene.begins(parent)
    scene.runs()
    scene.gate = Orphan(pulse.last(scene.folder, "gate").pid)
    parent.kill()
    parent.wait()
    begun = scene.told.cycle
    scene.lets(lambda: scene.told.cycle > begun + 2000)
    return begun


def test_a_gate_whose_supervisor_was_killed_lays_a_running_robot_down_and_leaves_it_limp(scene):
    begun = abandoned(scene, "known")
    assert scene.gate.poll() == 0
    assert scene.told.mode is Mode.DAMP
    assert is_limp(scene.robot.command)
    # 0.6 rad to the folded pose: a ramp of 1.5 s, 750 cycles, and the few until it noticed.
    assert 750 <= scene.told.cycle - begun < 900


def test_a_gate_that_does_not_know_its_supervisor_would_run_on(scene):
    """Sabotage."""
    abandoned(scene, "unknown")
    assert scene.gate.poll() is None
    assert not is_limp(scene.robot.command)


@pytest.mark.parametrize("how", UNSAFE)
def test_without_the_farewell_the_robot_would_be_left_standing(scene, how):
    scene.start(f"{how}+breaks" if how == "curt" else how)
    scene.runs()
    if how == "hasty":
        scene.gate.send_signal(signal.SIGTERM)
    scene.ends()
    assert not is_limp(scene.robot.command)


def test_a_stop_makes_the_robot_limp_within_50_ms_of_the_clock(scene):
    scene.start()
    scene.runs()
    hand = mailbox.Orderer(scene.folder, "operator")
    for _ in range(2):
        before = scene.keeper.now()
        number = hand.order(Order.STOP)
        scene.lets(
            lambda number=number: hand.done(number) and is_limp(scene.robot.command), every=1
        )
        assert scene.keeper.now() - before <= 0.050
        assert scene.told.mode is Mode.FAULT
        hand.order(Order.ACKNOWLEDGE)
        scene.lets(lambda: scene.told.mode is Mode.DAMP)
        scene.runs()
    hand.close()


def test_a_fault_stays_latched_when_another_gate_takes_over(scene):
    latched(scene, "")
    assert scene.told.mode is Mode.FAULT
    assert scene.told.fault == "stop by order"
    scene.desk.order(Order.STAND)
    scene.lets(lambda: scene.desk.done(2))
    assert scene.told.mode is Mode.FAULT


def test_a_gate_that_forgets_the_fault_is_caught(scene):
    latched(scene, "forgets")
    assert scene.told.mode is Mode.DAMP


def latched(scene, how):
    """A fault, a killed gate and a new one; counts go on."""
    scene.start()
    number = scene.desk.order(Order.STOP)
    scene.lets(lambda: scene.desk.done(number))
    before = scene.told
    scene.gate.kill()
    scene.gate.wait()
    scene.start(how)
    scene.lets(lambda: scene.told.cycle > before.cycle + 5)
    return before


def test_counts_go_on_and_the_robot_stands_up_again_after_the_gate_was_killed(scene):
    scene.start()
    scene.runs()
    before = scene.told
    scene.gate.kill()
    scene.gate.wait()
    scene.start()
    assert scene.told.mode is Mode.DAMP
    scene.hears()
    assert is_limp(scene.robot.command)
    assert sum(scene.told.counts.of) >= sum(before.counts.of) > 0
    scene.runs()
    first = blackbox.lines(scene.folder)
    jumps = np.abs(np.diff(first["told_angle"], axis=0)).max(axis=1)
    both = (first["told_kp"][1:].max(axis=1) > 0) & (first["told_kp"][:-1].max(axis=1) > 0)
    assert jumps[both].max() <= 12.0 * 0.002 + 1e-6  # the rate limit, also across the gap


def test_the_black_box_holds_what_was_said_and_told(scene):
    scene.start()
    before = sorted(os.listdir(f"/proc/{scene.gate.pid}/fd"))
    scene.runs()
    assert sorted(os.listdir(f"/proc/{scene.gate.pid}/fd")) == before  # no file opened on the way
    path = blackbox.dump(scene.folder, "a test")
    lines = np.load(path, allow_pickle=False)
    assert len(lines) > 750  # a ramp of 1.5 s at 500 Hz
    assert np.abs(lines["told_angle"][-1] - STANDING).max() < 1e-3
    assert (np.diff(lines["now"]) > 0).all()
    assert lines["arrived"][-1] == blackbox.GOOD
    assert (lines["tick"][1:] >= lines["tick"][:-1]).all()
    assert '"why": "a test"' in path.with_suffix(".json").read_text()


def hung(folder, monkeypatch, clock):
    """Seconds from the last beat of a gate that hangs to the limp command in its place, if any."""
    time, heard, process = Time(), [], Stopped()
    monkeypatch.setattr(ward, "time", time)
    monkeypatch.setattr(ward.subprocess, "Popen", lambda *words, **more: process)
    monkeypatch.setattr(farewell, "send", lambda *words: heard.append(time.now) or "limp")
    live = live_of(folder, clock=clock, patience=Patience())
    run = Supervisor(folder, live, Claim(folder / LOCK, folder), print)
    run.look()  # starts it
    beats = pulse.Pulse(folder, "gate")
    beats.beat(10)
    run.look()
    begun = time.now
    while not heard and time.now < begun + 10.0:
        time.sleep(PAUSE)
        run.look()
    beats.close()
    run.close()
    place.forget(folder)
    return heard[0] - begun if heard else None


def test_a_gate_that_hangs_is_killed_after_half_a_second_and_the_robot_limp(tmp_path, monkeypatch):
    assert 0.5 <= hung(tmp_path, monkeypatch, "wall") <= 0.5 + 2 * PAUSE


def test_in_virtual_time_a_busy_machine_is_no_hang_for_five_seconds(tmp_path, monkeypatch):
    found = hung(tmp_path, monkeypatch, f"shared:{tmp_path / 'clock'}")
    assert 5.0 <= found <= 5.0 + 2 * PAUSE


def test_without_that_patience_it_would_hold_its_last_target(tmp_path, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(settings, "HUNG", {"wall": 3600.0})
    assert hung(tmp_path, monkeypatch, "wall") is None


@pytest.mark.parametrize(
    ("mode", "fault", "becomes", "why"),
    [
        (Mode.DAMP, "", Mode.DAMP, "the gate was started anew"),
        (Mode.DAMP, "joint too fast", Mode.DAMP, "joint too fast"),
        (Mode.RUN, "", Mode.DAMP, "the gate died in run"),
        (Mode.LIE_DOWN, "", Mode.DAMP, "the gate died in lie down"),
        (Mode.FAULT, "stop by order", Mode.FAULT, "stop by order"),
    ],
)
def test_a_gate_that_takes_over_knows_what_waits_for_a_person(mode, fault, becomes, why):
    last = mailbox.Told(cycle=7, now=1.0, mode=mode, since=0.5, fault=fault)
    state = gating.resumed(LIMITS, last)
    assert (state.mode, state.fault) == (becomes, why)
    assert gating.resumed(LIMITS, None).fault == ""


def test_the_process_of_a_gate_reads_in_the_settings_that_its_run_was_resumed(scene):
    settings.write(scene.folder, replace(scene.live, start="resumed"))
    scene.start()
    scene.lets(lambda: scene.told.cycle > 5)
    assert (scene.told.mode, scene.told.fault) == (Mode.DAMP, "the run was resumed")


def test_how_a_run_was_started_and_the_least_patience_are_checked():
    with pytest.raises(UserError, match='start = "again": want new or resumed'):
        settings.check(Live(start="again"))
    with pytest.raises(UserError, match=r"patience\.gate = 0\.1: want at least 0\.5 s, or 0"):
        settings.check(Live(patience=Patience(gate=0.1)))
