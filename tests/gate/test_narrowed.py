"""Limits that a user narrowed are kept as the usual ones are; of two that exclude each other, the
rate of a target goes before its reach, and the torque before both."""

from dataclasses import replace

import jaxtyping
import numpy as np
import pytest

from gate.gated import LYING, PERIOD, STANDING, TORQUE, Bench
from ursa.gate import gate
from ursa.gate.bound import bounded
from ursa.gate.limits import Limits, limits_of
from ursa.gate.modes import Kind, Mode, Order
from ursa.robot.a1 import A1

FIRST_DAY = limits_of(A1, {"reach": 0.05, "rate": 2.0, "torque_share": 0.3})


@pytest.fixture(autouse=True)
def fast(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)


def running() -> Bench:
    """A robot that follows its policy within the limits of a first day."""
    bench = Bench(LYING, FIRST_DAY).run()
    assert bench.mode is Mode.RUN
    return bench


def wild(bench: Bench, cycles: int) -> None:
    """A policy that throws its legs about; `Bench.cycle` fails at the first rule that is broken."""
    chance = np.random.default_rng(4)
    for count in range(cycles):
        if count % 25 == 0:
            bench.wants(STANDING + chance.uniform(-1, 1, 12))
        bench.cycle()


def test_a_wild_policy_moves_nothing_beyond_them():
    bench = running()
    wild(bench, 1000)
    assert bench.mode is Mode.RUN
    assert bench.counts[Kind.CLAMPED_RATE] > 0


def up_and_down(limits) -> Bench:
    """From the floor to a stance and back, by ramps."""
    bench = Bench(LYING, limits)
    bench.cycles(0.01)
    bench.cycle(orders=(Order.STAND,))
    # The knees go 0.85 rad: pi/2 x 0.85 / 0.5 = 2.67 s
    bench.cycles(2.6)
    assert np.abs(bench.command.angle - STANDING).max() > 1e-4
    bench.cycles(0.1)
    np.testing.assert_allclose(bench.command.angle, STANDING, atol=1e-6)
    bench.cycle(orders=(Order.LIE_DOWN,))
    bench.until(Mode.DAMP)
    return bench


def test_a_rate_below_that_of_the_ramps_slows_them_down_too():
    bench = up_and_down(limits_of(A1, {"rate": 0.5}))
    assert [mode for _, mode in bench.modes] == [Mode.DAMP, Mode.STAND, Mode.LIE_DOWN, Mode.DAMP]


def test_ramps_with_a_number_of_their_own_would_be_faster(monkeypatch):
    monkeypatch.setattr(Limits, "ramp_speed", Limits.ramp_rate)
    with pytest.raises(AssertionError, match=r"target moved 0\.001 rad in 2\.0 ms"):
        up_and_down(limits_of(A1, {"rate": 0.5}))


def blocked(bench: Bench, cycles: int) -> float:
    """How far the target of a leg goes that something holds fast."""
    held, farthest = bench.angle.copy(), 0.0
    for count in range(cycles):
        if count % 25 == 0:
            bench.wants(STANDING + 0.5)
        bench.angle, bench.speed = held, np.zeros(12)
        bench.cycle()
        farthest = max(farthest, float(np.abs(bench.command.angle - held).max()))
    return farthest


def test_the_target_of_a_leg_that_is_held_fast_stays_within_reach():
    assert blocked(running(), 100) == pytest.approx(0.05)


def shoved(bench: Bench, cycles: int) -> tuple[float, float]:
    """A leg that somebody moves by 10 rad/s: how far it gets from its target, and the most torque
    that the motor is told to answer with."""
    farthest = strongest = 0.0
    knee = np.eye(12)[1]
    bench.wants()
    for _ in range(cycles):
        bench.angle, bench.speed = bench.angle + 0.02 * knee, 10.0 * knee
        bench.cycle(bench.says(tick=bench.tick + 1), cut=True)
        far = bench.command.angle - bench.angle
        asked = bench.command.kp * far - bench.command.kd * bench.speed
        farthest = max(farthest, float(np.abs(far).max()))
        strongest = max(strongest, float(np.abs(asked).max()))
    return farthest, strongest


@pytest.mark.parametrize(
    ("name", "trial", "said"),
    [
        ("reach", blocked, r"target 0\.\d+ rad from the robot"),
        ("rate", wild, r"rad in 2\.0 ms"),
        ("torque_share", shoved, r"asks for 21\.60 N m"),  # 80 x 0.02 + 2 x 10, of 10.05
    ],
)
def test_a_gate_that_forgot_one_of_them_is_caught(name, trial, said, monkeypatch):
    """Sabotage: the bounds by the usual number."""
    usual = replace(FIRST_DAY, **{name: getattr(limits_of(A1), name)})
    bench = running()

    def forgetful(limits, wanted, last, angle, speed, step, stiffness):
        wide = 12.0 * PERIOD if name == "rate" else step
        return bounded(usual, wanted, last, angle, speed, wide, stiffness)

    monkeypatch.setattr(gate, "bounded", forgetful)
    with pytest.raises(AssertionError, match=said):
        trial(bench, 100)


def test_a_leg_that_is_moved_faster_than_its_target_may_follow_leaves_its_reach():
    """0.05 rad before the target sets out after it, then 0.02 a cycle against 0.004."""
    bench = running()
    farthest, strongest = shoved(bench, 12)
    assert bench.mode is Mode.RUN
    # within reach for two cycles; then ten of 0.02 against ten of 0.004
    assert farthest == pytest.approx(12 * 0.02 - 10 * 0.004, abs=0.002)
    assert farthest > 3 * FIRST_DAY.reach
    assert strongest <= 0.3 * TORQUE + 1e-9  # the torque stays inside, whatever it is asked to hold
    for _ in range(60):  # somebody lets go: it is within reach again, at 2 rad/s
        bench.speed = np.zeros(12)
        bench.wants()
        bench.cycle(bench.says(tick=bench.tick + 1), cut=True)
    assert np.abs(bench.command.angle - bench.angle).max() == pytest.approx(0.05)


def test_a_person_lays_a_shoved_robot_down_all_the_same():
    bench = running()
    shoved(bench, 12)
    bench.cycle(orders=(Order.LIE_DOWN,))
    bench.until(Mode.DAMP)
