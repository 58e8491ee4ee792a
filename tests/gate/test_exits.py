"""However the gate is left, also by its own mistake, the robot is limp; and what it tells."""

from dataclasses import replace

import jaxtyping
import numpy as np
import pytest

from gate.gated import STANDING, Bench, at, is_limp, said
from ursa.gate import gate, remote, seen
from ursa.gate.bound import bounded
from ursa.gate.modes import SERVO_MODES, Kind, Mode, Order
from ursa.gate.wire import Refused


@pytest.fixture
def fast(monkeypatch):
    """Without the shape checks of the suite, which cost five times what the gate costs."""
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def test_a_whole_day_with_every_shape_checked():
    bench = Bench().run(STANDING + 0.1)
    np.testing.assert_allclose(bench.angle, STANDING + 0.1, atol=1e-3)
    bench.cycle(orders=(Order.LIE_DOWN,))
    bench.until(Mode.DAMP)
    assert [mode for _, mode in bench.modes] == ["damp", "stand", "run", "lie down", "damp"]
    np.testing.assert_allclose(bench.angle, np.tile([0.0, 1.3, -2.6], 4), atol=0.02)
    assert bench.counts.named == {"mode": 4}


INNER = [
    (gate, "_punctual"),
    (gate, "look"),
    (gate, "examine"),
    (gate, "findings"),
    (gate, "next_mode"),
    (gate, "bounded"),
    (gate, "stop_pressed"),
    (gate, "_counted"),
    (gate.hearing, "listen"),
    (gate.hearing, "line"),
    (seen, "doubtful"),
    (seen, "newer"),
]


@pytest.mark.parametrize(
    ("where", "what"), INNER, ids=[f"{it[0].__name__}.{it[1]}" for it in INNER]
)
@pytest.mark.parametrize("error", [ValueError, ZeroDivisionError, RecursionError, MemoryError])
def test_an_error_anywhere_in_the_gate_leaves_the_robot_limp(where, what, error, fast, monkeypatch):
    bench = at(Mode.RUN)
    bench.wants()

    def fails(*arguments):
        raise error("for the test")

    monkeypatch.setattr(where, what, fails)
    bench.cycle()
    assert bench.mode is Mode.FAULT
    assert is_limp(bench.command)
    assert bench.counts[Kind.ERROR] == 1
    assert "for the test" in bench.state.fault
    monkeypatch.undo()
    bench.cycles(0.02)
    assert bench.mode is Mode.FAULT  # latched
    bench.cycle(orders=(Order.ACKNOWLEDGE,))
    assert bench.mode is Mode.DAMP


def test_without_the_net_an_error_gets_out(fast, monkeypatch):
    monkeypatch.setattr(gate, "step", gate._step)
    monkeypatch.setattr(gate, "look", lambda *arguments: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        at(Mode.RUN).cycle()


def test_a_command_that_is_no_number_after_all_is_not_told(fast, monkeypatch):
    def poisoned(*arguments):
        told = bounded(*arguments)
        return replace(told, target=told.target * np.nan)

    bench = at(Mode.RUN)
    monkeypatch.setattr(gate, "bounded", poisoned)
    bench.cycle()
    assert is_limp(bench.command)
    assert bench.mode is Mode.FAULT
    assert bench.counts[Kind.NOT_FINITE] == 1


@pytest.mark.parametrize("mode", list(SERVO_MODES))
def test_an_operator_can_make_it_limp_in_every_mode(mode, fast):
    bench = at(mode)
    bench.cycle(orders=(Order.DAMP,))
    assert bench.mode is Mode.DAMP
    assert is_limp(bench.command)


def test_the_wish_is_followed_in_a_straight_line_over_one_control_step(fast):
    bench = at(Mode.RUN)
    bench.wants(STANDING + 0.1)
    for count in range(1, 25):
        bench.cycle()
        np.testing.assert_allclose(
            bench.command.angle, STANDING + 0.1 * (count - 1) / 25, atol=1e-6
        )
    bench.cycles(0.01)
    np.testing.assert_allclose(bench.command.angle, STANDING + 0.1, atol=1e-6)


def test_every_intervention_is_counted_by_name(fast):
    bench = at(Mode.RUN)
    for angle in (STANDING + 9, STANDING, STANDING + 9):
        bench.wants(angle)
        bench.cycles(0.05)
    assert bench.counts["clamped to range"] == 2  # as often as it began, not once per cycle
    assert bench.counts[Kind.CLAMPED_RATE] > 0


def test_a_robot_that_was_restarted_counts_from_zero_and_is_believed_again(fast):
    bench = at(Mode.RUN)
    for _ in range(60):
        bench.cycle(None)
    assert bench.mode is Mode.FAULT
    bench.tick = 0
    bench.cycles(0.02)
    assert bench.counts[Kind.RESTARTED] == 1
    bench.cycle(orders=(Order.ACKNOWLEDGE,))
    assert bench.mode is Mode.DAMP


def test_an_order_that_cannot_be_followed_says_why(fast):
    bench = Bench()
    bench.cycle(None, (Order.STAND,))
    assert bench.events[-1].detail == "stand: no recent state of the robot"
    bench.cycle(orders=(Order.RUN,))
    assert bench.events[-1].detail == "run: stand first; now in damp"
    bench = at(Mode.STAND)
    bench.wish = None
    bench.cycles(0.2)
    bench.cycle(orders=(Order.RUN,))
    assert bench.events[-1].detail == "run: no recent wish of the policy"


def test_the_same_happens_at_any_hour(fast):
    """Times are differences: a clock that reads a year more gives the same commands."""
    told = []
    for start in (0.0, 100.0, 4096.0):  # exact in binary, so that differences are too
        bench = Bench(start=start)
        bench.stand()
        told.append(bench.command.angle)
        assert bench.mode is Mode.STAND
    np.testing.assert_allclose(told[0], told[1], atol=1e-9)
    np.testing.assert_allclose(told[0], told[2], atol=1e-9)


@pytest.mark.parametrize(
    ("buttons", "stops"),
    [(b"\0\0", False), (b"\x10\0", True), (b"\x20\0", False), (b"\0\2", False), (b"\x20\2", True)],
)
def test_these_buttons_stop(buttons, stops):
    assert remote.stop_pressed(b"\x55\x51" + buttons + bytes(36)) is stops


def test_a_state_of_the_helper_is_plausible():
    assert seen.doubtful(said(1)) is None


def test_the_first_reason_of_a_fault_stays_unless_a_person_stops_it(fast):
    bench = at(Mode.RUN)
    for _ in range(60):
        bench.cycle(None)
    bench.cycle(bench.says(tick=bench.tick + 1, temperature=np.full(12, 90.0)))
    assert bench.state.fault.startswith("stale state")
    bench.cycle(orders=(Order.STOP,))
    assert bench.state.fault == "stop by order"  # so that nothing but a person takes it back
    bench.cycles(0.02)
    bench.cycle(orders=(Order.ACKNOWLEDGE,))
    bench.cycle(orders=(Order.STOP,))
    assert bench.state.fault == "stop by order"


def test_a_fault_that_goes_on_cannot_be_acknowledged(fast):
    bench = at(Mode.RUN)
    for _ in range(60):
        bench.cycle(None)
    bench.cycle(None, (Order.ACKNOWLEDGE,))
    assert bench.mode is Mode.FAULT
    assert bench.events[-1].detail.startswith("acknowledge: still stale state")


def test_time_lost_is_not_caught_up_with(fast):
    bench = at(Mode.RUN)
    bench.wants(STANDING + 0.5)
    bench.cycle()
    last = bench.command.angle
    bench.cycle(elapsed=0.008)  # three cycles missed: two cycles' worth of way, 12 * 0.004
    assert 0.0 < np.abs(bench.command.angle - last).max() <= 0.048 + 1e-9


def test_getting_up_waits_while_something_is_wrong(fast):
    bench = at(Mode.DAMP)
    bench.cycle(orders=(Order.STAND,))
    bench.cycles(0.3)
    for _ in range(2):  # bridged
        bench.cycle(None)
    reached = bench.state.pose.done
    for _ in range(30):
        bench.cycle(Refused("checksum", "for the test"))
    assert bench.mode is Mode.STAND
    assert bench.state.pose.done - reached < 0.006
