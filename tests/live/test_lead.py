"""A supervisor that hangs is found by its gate, which lays the robot down and ends.

Time is that of a computer of the test: it passes when somebody sleeps.
"""

import jaxtyping
import pytest

from gate.gated import LIMITS
from live.kernel import Gate, Kernel
from live.stacked import live_of
from ursa.gate.modes import Mode
from ursa.live import gating, lead
from ursa.live.lead import Lead
from ursa.shared import pulse

UNLED = "nobody looked after the gate for 3 s"


@pytest.fixture
def kernel():
    return Kernel()


@pytest.fixture
def folder(folder):
    lead.create(folder)
    return folder


def beating(folder, who="supervisor"):
    return pulse.Pulse(folder, who)


def noticed(found, kernel, seconds=20.0):
    """Seconds until the gate takes its supervisor for lost, looking in every cycle; or None."""
    begun = kernel.awake
    while kernel.awake < begun + seconds:
        if found.lost():
            return kernel.awake - begun
        kernel.sleep(0.002)
    return None


def test_on_a_wall_clock_three_seconds_without_a_beat_are_a_hang_and_a_minute_in_virtual_time(
    folder,
):
    assert lead.patience(live_of(folder, clock="wall")) == 3.0
    assert lead.patience(live_of(folder)) == 60.0


@pytest.mark.parametrize("who", ["supervisor", "vigil"])
def test_it_is_lost_three_seconds_after_its_last_beat(folder, kernel, who):
    beats, found = beating(folder, who), Lead(folder, 3.0, kernel.monotonic)
    kernel.passing = lambda: beats.beat(0)
    assert noticed(found, kernel, seconds=10.0) is None
    kernel.passing = lambda: None
    # It looks ten times a second, and sees the last beat up to a look later.
    assert 3.0 <= noticed(found, kernel) <= 3.25
    assert found.why == UNLED
    beats.beat(0)
    kernel.sleep(0.1)
    assert not found.lost()
    beats.close()
    found.close()


def test_one_that_never_beat_is_lost_three_seconds_after_the_gate_began(folder, kernel):
    found = Lead(folder, 3.0, kernel.monotonic)
    assert 3.0 <= noticed(found, kernel) <= 3.15
    found.close()


def stalled(folder, kernel):
    """Whether it is lost after the whole machine, gate and all, stood still for ten minutes."""
    found = Lead(folder, 3.0, kernel.monotonic)
    kernel.sleep(600.0)
    lost = found.lost()
    found.close()
    return lost


def test_a_machine_that_stood_still_as_a_whole_is_no_hang(folder, kernel):
    assert not stalled(folder, kernel)


def test_one_that_counts_what_it_did_not_see_would_take_it_for_one(folder, kernel, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(lead, "COUNTED", float("inf"))
    assert stalled(folder, kernel)


# ---- the gate of one that hangs ---------------------------------------------------------------


class Nobody:
    """An ending that nobody asks for."""

    asked = False


@pytest.fixture
def gate(folder, monkeypatch):
    jaxtyping.config.update("jaxtyping_disable", True)  # thousands of cycles; checked elsewhere
    yield Gate(monkeypatch, lambda kernel: Lead(folder, 3.0, kernel.monotonic))
    jaxtyping.config.update("jaxtyping_disable", False)


def test_a_gate_whose_supervisor_hangs_lays_a_running_robot_down_and_ends(gate, folder):
    beats = beating(folder)
    gate.kernel.passing = lambda: beats.beat(0)
    gate.runs()
    assert gate.lasts(4.0, Nobody) is None  # as long as it beats
    assert gate.told.mode is Mode.RUN
    begun, gate.kernel.passing = gate.told.cycle, lambda: None
    assert gate.lasts(10.0, Nobody) == UNLED
    assert gate.limp
    assert (gate.told.mode, gate.told.fault) == (Mode.DAMP, UNLED)
    # 3.0 to 3.25 s of 500 cycles each, a ramp of 1.5 s, and the last word.
    assert 1500 + 750 <= gate.told.cycle - begun <= 1625 + 750 + 5
    anew = gating.resumed(LIMITS, gate.told)
    assert (anew.mode, anew.fault) == (Mode.DAMP, UNLED)  # a person looks first
    beats.close()


def test_a_limp_robot_needs_nobody_and_its_gate_goes_on(gate):
    assert gate.lasts(6.0, Nobody) is None
    assert (gate.told.mode, gate.told.fault) == (Mode.DAMP, "")


def test_a_gate_that_only_looks_whether_its_supervisor_exists_would_run_on(monkeypatch, gate):
    """Sabotage."""
    monkeypatch.setattr(Lead, "lost", lambda self: False)
    gate.runs()
    assert gate.lasts(6.0, Nobody) is None
    assert gate.told.mode is Mode.RUN
    assert not gate.limp


# ---- a gate that was asked to end -------------------------------------------------------------


class Asked:
    """Somebody does."""

    asked = True


def stuck(gate, monkeypatch):
    """Seconds that a gate which was asked to end takes, though its robot never lies; or None."""
    gate.runs()
    monkeypatch.setattr(
        gating.gate, "step", lambda *given: (gate.wire.command, gate.loop.state, ())
    )
    begun = gate.kernel.awake
    return None if gate.lasts(8.0, Asked) is None else gate.kernel.awake - begun


def test_a_robot_that_does_not_get_to_the_floor_holds_its_gate_up_for_five_seconds(
    gate, monkeypatch
):
    assert 5.0 <= stuck(gate, monkeypatch) <= 5.01


def test_a_gate_of_more_patience_would_hold_it_for_longer(gate, monkeypatch):
    """Sabotage."""
    monkeypatch.setattr(gating, "PATIENCE", 500.0)
    assert stuck(gate, monkeypatch) is None
