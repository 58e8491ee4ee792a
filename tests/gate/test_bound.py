"""Whatever a policy wants, a motor is told something inside range, rate and torque; and no farther
from where it is than `reach`, unless something moved it faster than a target may follow."""

from dataclasses import replace

import jaxtyping
import numpy as np
import pytest

from gate.gated import LIMITS, LOWER, ROUNDING, TORQUE, UPPER
from sizes import SEED, patience, size
from ursa.gate import bound
from ursa.gate.bound import bounded
from ursa.gate.modes import Kind

ZERO = np.zeros(12)
SEEDS = 10
EACH = size("URSA_TARGETS") // SEEDS
AT_ONCE = 20_000  # in memory


def still(angle: float) -> np.ndarray:
    """Every joint of the A1 in the middle of its range, plus this."""
    return (LOWER + UPPER) / 2 + angle


def test_a_near_target_is_taken_with_full_gains():
    told = bounded(LIMITS, still(0.02), still(0.01), still(0.0), ZERO, step=0.024)
    np.testing.assert_array_equal(told.target, still(0.02))
    assert told.kp.tolist() == [80.0] * 12
    assert told.kd.tolist() == [1.0, 2.0, 2.0] * 4
    assert not any(where.any() for where in told.clamped.values())


def test_a_far_target_is_approached_at_the_rate():
    told = bounded(LIMITS, still(0.1), still(0.0), still(0.0), ZERO, step=0.024)
    np.testing.assert_allclose(told.target, still(0.024))
    assert told.clamped[Kind.CLAMPED_RATE].all()


def test_a_target_stays_within_reach_of_the_measured_angle():
    told = bounded(LIMITS, still(0.5), still(0.19), still(0.0), ZERO, step=0.024)
    np.testing.assert_allclose(told.target, still(0.2))
    assert told.clamped[Kind.CLAMPED_REACH].all()


def test_the_rate_goes_before_the_reach():
    """A leg that something moved by 1 rad: its target follows, as fast as it may and no faster."""
    told = bounded(LIMITS, still(0.0), still(0.0), still(1.0), ZERO, step=0.024)
    np.testing.assert_allclose(told.target, still(0.024))  # 0.976 from the robot: beyond reach
    assert told.clamped[Kind.CLAMPED_REACH].all()
    assert told.clamped[Kind.CLAMPED_RATE].all()
    assert np.abs(told.kp * (told.target - still(1.0))).max() <= TORQUE
    # 0.976 rad at 33.5 N m are 34.32 N m/rad, in whole steps of 1/32
    assert told.kp.tolist() == [34.3125] * 12


def test_a_target_beyond_the_range_is_its_end():
    told = bounded(LIMITS, UPPER + 3, UPPER - 0.01, UPPER - 0.01, ZERO, step=0.024)
    np.testing.assert_allclose(told.target, UPPER, atol=1e-6)
    assert told.clamped[Kind.CLAMPED_RANGE].all()


def test_who_starts_outside_the_range_may_only_come_in():
    start = LOWER - 0.04
    out = bounded(LIMITS, start - 1, start, start, ZERO, step=0.01)
    np.testing.assert_array_equal(out.target, start)
    come_in = bounded(LIMITS, LOWER, start, start, ZERO, step=0.01)
    np.testing.assert_allclose(come_in.target, start + 0.01)


def test_the_gains_give_way_to_the_torque():
    # 0.5 rad ahead at rest: 80 * 0.5 = 40 N m, so kp = 33.5 / 0.5 = 67, all of it kept.
    kp, kd = bound.gains(LIMITS, ZERO + 0.5, ZERO, 1.0)
    assert kp.tolist() == [67.0] * 12
    # 20 rad/s ahead of the target: kd 2 alone would brake with 40 N m; 33.5 / 20 = 1.675, cut to
    # 1.625, brakes with 32.5; the hip's kd 1 with 20. Nothing is left for kp but the rest, 1 / 0.5
    # and (33.5 - 20) / 0.5.
    kp, kd = bound.gains(LIMITS, ZERO - 0.5, ZERO + 20.0, 1.0)
    assert kd.tolist() == [1.0, 1.625, 1.625] * 4
    assert kp.tolist() == [27.0, 2.0, 2.0] * 4


def broken_rules(total: int, seed: int, told) -> int:
    """Adversarial targets through the bounds; how many joints break a rule."""
    chance = np.random.default_rng(seed)
    shape = (total, 12)
    huge = chance.standard_cauchy(shape) * 10.0 ** chance.integers(-3, 12, shape)
    last = chance.uniform(LOWER - 0.1, UPPER + 0.1, shape)
    angle = np.where(chance.random(shape) < 0.5, last, chance.uniform(-7, 7, shape))
    speed = chance.standard_cauchy(shape) * chance.choice([0.0, 1.0, 20.0], shape)
    speed = np.clip(speed, -60, 60)
    step = 12.0 * 0.002
    stiffness = float(chance.choice([1.0, 0.3]))
    found = told(LIMITS, huge, last, angle, speed, step, stiffness)
    target, kp, kd = found.target, found.kp, found.kd
    torque = kp * (target - angle) - kd * speed
    fine = np.isfinite(target) & np.isfinite(kp) & np.isfinite(kd)
    fine &= (target >= np.minimum(LOWER, last) - ROUNDING) & (
        target <= np.maximum(UPPER, last) + ROUNDING
    )
    fine &= np.abs(target - last) <= step + ROUNDING
    far = np.abs(target - angle) > LIMITS.reach + ROUNDING
    ends = (target <= np.minimum(LOWER, last) + ROUNDING) | (
        target >= np.maximum(UPPER, last) - ROUNDING
    )
    follows = np.abs(last - angle) - np.abs(target - angle) >= step - ROUNDING
    fine &= ~far | follows | ends  # beyond its reach it comes nearer as fast as it may
    fine &= np.abs(torque) <= TORQUE + ROUNDING
    fine &= (kp >= 0) & (kp <= 80 * stiffness) & (kd > 0) & (kd <= 2)
    return int((~fine).sum())


@pytest.mark.timeout(patience("URSA_TARGETS"))
@pytest.mark.parametrize("seed", range(SEEDS))
def test_200000_adversarial_targets_break_no_rule(seed):
    for first in range(0, EACH, AT_ONCE):
        number = min(AT_ONCE, EACH - first)
        assert broken_rules(number, SEED + seed + SEEDS * first // AT_ONCE, bounded) == 0


def torque_first(limits, wanted, last, angle, speed, step, stiffness):
    """The gains worked out before the target is limited."""
    told = bounded(limits, wanted, last, angle, speed, step, stiffness)
    kp, kd = bound.gains(limits, np.clip(wanted - angle, -0.2, 0.2), speed, stiffness)
    return bound.Bounded(target=told.target, kp=kp, kd=kd, clamped={})


def without_rate(limits, wanted, last, angle, speed, step, stiffness):
    return bounded(limits, wanted, last, angle, speed, 10.0, stiffness)


def without_reach(limits, wanted, last, angle, speed, step, stiffness):
    return bounded(replace(limits, reach=0.4), wanted, last, angle, speed, step, stiffness)


def reach_before_rate(limits, wanted, last, angle, speed, step, stiffness):
    """A target that jumps after a leg that something moved."""
    told = bounded(limits, wanted, last, angle, speed, step, stiffness)
    target = np.clip(told.target, angle - limits.reach, angle + limits.reach)
    kp, kd = bound.gains(limits, target - angle, speed, stiffness)
    return bound.Bounded(target=target, kp=kp, kd=kd, clamped={})


def range_first_only(limits, wanted, last, angle, speed, step, stiffness):
    """The range before reach and rate, and not again after them."""
    inside = np.clip(wanted, limits.lower, limits.upper)
    target = np.clip(np.clip(inside, angle - 0.2, angle + 0.2), last - step, last + step)
    kp, kd = bound.gains(limits, target - angle, speed, stiffness)
    return bound.Bounded(target=target, kp=kp, kd=kd, clamped={})


@pytest.mark.parametrize(
    "sabotage", [torque_first, without_rate, without_reach, reach_before_rate, range_first_only]
)
def test_a_bound_left_out_or_out_of_order_is_found(sabotage):
    assert broken_rules(20_000, 0, sabotage) > 0


def test_bounding_one_robot_or_many_is_the_same(monkeypatch):
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)
    chance = np.random.default_rng(5)
    wanted, last, angle, speed = chance.normal(size=(4, 50, 12))
    many = bounded(LIMITS, wanted, last, angle, speed, 0.024)
    for row in range(50):
        one = bounded(LIMITS, wanted[row], last[row], angle[row], speed[row], 0.024)
        assert (one.target == many.target[row]).all()
        assert (one.kp == many.kp[row]).all()
